//! Solvers by name: a Krylov method with a preconditioner, for dumps, benchmarks and scenes.

use super::{Amg, AmgParams, Csr, Ic0, Ic0Params, Identity, Jacobi, Preconditioner, SymmetricGaussSeidel};
use crate::error::Result;
use serde::{Deserialize, Serialize};

/// A Krylov method.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Method {
    Cg,
    Minres,
    Fgmres,
}

impl Method {
    /// As in reports and messages.
    pub fn name(self) -> &'static str {
        match self {
            Self::Cg => "cg",
            Self::Minres => "minres",
            Self::Fgmres => "fgmres",
        }
    }
}

/// A preconditioner that can be built from the matrix alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PreconditionerKind {
    None,
    Jacobi,
    GaussSeidel,
    Ic0,
    Mic0,
    Amg,
}

impl PreconditionerKind {
    /// Build it for a matrix.
    pub fn build(self, a: &Csr) -> Result<Box<dyn Preconditioner>> {
        Ok(match self {
            Self::None => Box::new(Identity),
            Self::Jacobi => Box::new(Jacobi::new(&a.diagonal())?),
            Self::GaussSeidel => Box::new(SymmetricGaussSeidel::new(a)?),
            Self::Ic0 => Box::new(Ic0::new(a, &Ic0Params::ic0())?),
            Self::Mic0 => Box::new(Ic0::new(a, &Ic0Params::mic0())?),
            Self::Amg => Box::new(Amg::new(a, &AmgParams::default())?),
        })
    }
}

/// A method with its preconditioner.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Recipe {
    pub method: Method,
    pub preconditioner: PreconditionerKind,
}
