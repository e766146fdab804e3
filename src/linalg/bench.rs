//! The named set of benchmark solves behind `meniscus bench solvers`.

use super::recipe::PreconditionerKind;
use super::{Amg, AmgParams, Csr, KrylovParams, Preconditioner, cases, cg};
use crate::cancel::Cancel;
use crate::error::{Error, Result};
use serde::Serialize;
use std::time::Instant;

/// The result of one case.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Line {
    pub case: String,
    pub rows: usize,
    pub entries: usize,
    /// Seconds.
    pub setup: f64,
    pub solve: f64,
    pub iterations: usize,
    pub residual: f64,
    pub outcome: String,
}

/// The cases, as `matrix-size-method`.
pub const CASES: [&str; 9] = [
    "poisson-64-amg",
    "poisson-64-mic0",
    "poisson-64-jacobi",
    "poisson-128-amg",
    "splash-64-amg",
    "splash-128-amg",
    "splash-128-mic0",
    "viscosity-32-amg",
    "viscosity-32-jacobi",
];

/// Run a case, or any other `matrix-size-method` of the same kinds.
pub fn run(case: &str, cancel: &Cancel) -> Result<Line> {
    let unknown = || Error::invalid("bench", format!("no case \"{case}\"; known are {}", CASES.join(", ")));
    let mut words = case.split('-');
    let (matrix, size, method) =
        (words.next().unwrap_or_default(), words.next().and_then(|w| w.parse::<usize>().ok()), words.next());
    let size = size.filter(|s| (2..=400).contains(s)).ok_or_else(unknown)?;
    let preconditioner = match method {
        Some("amg") => PreconditionerKind::Amg,
        Some("mic0") => PreconditionerKind::Mic0,
        Some("ic0") => PreconditionerKind::Ic0,
        Some("jacobi") => PreconditionerKind::Jacobi,
        _ => return Err(unknown()),
    };
    let (a, near) = match matrix {
        "poisson" => (cases::poisson(size)?, None),
        "splash" => (cases::splash(size)?, None),
        "viscosity" => {
            let case = cases::viscosity(size, 100.0)?;
            (case.matrix, Some(case.rigid_motions))
        }
        _ => return Err(unknown()),
    };
    let b = cases::random_vector(a.rows(), 1);
    measure(case, &a, &b, preconditioner, near.as_deref(), cancel)
}

fn measure(
    case: &str,
    a: &Csr,
    b: &[f64],
    preconditioner: PreconditionerKind,
    near: Option<&[f64]>,
    cancel: &Cancel,
) -> Result<Line> {
    let start = Instant::now();
    let mut m: Box<dyn Preconditioner> = match (preconditioner, near) {
        (PreconditionerKind::Amg, Some(near)) => {
            Box::new(Amg::with_near_null(a, 6, near, &AmgParams::default())?)
        }
        _ => preconditioner.build(a)?,
    };
    let setup = start.elapsed().as_secs_f64();
    let mut x = vec![0.0; a.rows()];
    let params = KrylovParams { tolerance: 1e-6, ..Default::default() };
    let start = Instant::now();
    let info = cg(a, m.as_mut(), b, &mut x, &params, cancel)?;
    Ok(Line {
        case: case.to_string(),
        rows: a.rows(),
        entries: a.entries(),
        setup,
        solve: start.elapsed().as_secs_f64(),
        iterations: info.iterations,
        residual: info.residual,
        outcome: format!("{:?}", info.outcome),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_named_case_runs_and_an_unknown_one_is_refused() {
        let line = run("splash-12-amg", &Cancel::new()).unwrap();
        assert_eq!(line.outcome, "Converged");
        assert!(
            ["", "splash", "splash-0-amg", "splash-9999-amg", "splash-12-magic", "tea-12-amg"]
                .iter()
                .all(|c| run(c, &Cancel::new()).is_err())
        );
    }
}
