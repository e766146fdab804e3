//! Failed solves on disk, to be repeated alone.
//!
//! A dump is a folder: `matrix.mtx`, `rhs.mtx` and `start.mtx` in Matrix Market form, `labels.mtx` with the
//! null-space label of each row (−1 for none) where there are null vectors, and `solve.json` with what was
//! asked and what came of it. Callers add their own files (weights, scene, state) beside them.

use super::matrix_market::{read_matrix, read_vector, write_matrix, write_vector};
use super::recipe::Recipe;
use super::{Csr, KrylovParams, NullSpace, SolveInfo};
use crate::cancel::Cancel;
use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};
use std::path::Path;

const VERSION: u32 = 1;

/// What is in `solve.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Meta {
    pub version: u32,
    /// The stage that failed, as in `pressure`.
    pub stage: String,
    pub recipe: Recipe,
    pub tolerance: f64,
    pub max_iterations: usize,
    pub iterations: usize,
    /// None if it was not finite.
    pub residual: Option<f64>,
    /// The outcome or the error, as text.
    pub outcome: String,
}

/// A solve as it was given to the solver.
pub struct Solve<'a> {
    pub stage: &'a str,
    pub recipe: Recipe,
    pub matrix: &'a Csr,
    pub rhs: &'a [f64],
    /// The vector the solve started from.
    pub start: &'a [f64],
    /// The null-space label of each row, u32::MAX for none.
    pub labels: Option<&'a [u32]>,
    pub params: KrylovParams<'a>,
}

/// Write a dump into `folder`, which is made if it is missing.
pub fn write(folder: &Path, solve: &Solve, result: &Result<SolveInfo>) -> Result<()> {
    std::fs::create_dir_all(folder).map_err(|e| Error::io(folder, &e))?;
    write_matrix(&folder.join("matrix.mtx"), solve.matrix)?;
    write_vector(&folder.join("rhs.mtx"), solve.rhs)?;
    write_vector(&folder.join("start.mtx"), solve.start)?;
    if let Some(labels) = solve.labels {
        let numbers: Vec<f64> = labels.iter().map(|&l| if l == u32::MAX { -1.0 } else { l as f64 }).collect();
        write_vector(&folder.join("labels.mtx"), &numbers)?;
    }
    let (iterations, residual, outcome) = match result {
        Ok(info) => (info.iterations, Some(info.residual), format!("{:?}", info.outcome)),
        Err(error) => (0, None, error.to_string()),
    };
    let meta = Meta {
        version: VERSION,
        stage: solve.stage.to_string(),
        recipe: solve.recipe,
        tolerance: solve.params.tolerance,
        max_iterations: solve.params.max_iterations,
        iterations,
        residual: residual.filter(|r| r.is_finite()),
        outcome,
    };
    let path = folder.join("solve.json");
    let text =
        serde_json::to_string_pretty(&meta).map_err(|e| Error::invalid("solve.json", e.to_string()))?;
    std::fs::write(&path, text).map_err(|e| Error::io(&path, &e))
}

/// Repeat the solve of a dump, with another recipe if one is given. Returns what was recorded and what came now.
pub fn replay(folder: &Path, recipe: Option<Recipe>, cancel: &Cancel) -> Result<(Meta, SolveInfo)> {
    let meta = read_meta(folder)?;
    let matrix = read_matrix(&folder.join("matrix.mtx"))?;
    let rhs = read_vector(&folder.join("rhs.mtx"))?;
    let mut x = read_vector(&folder.join("start.mtx"))?;
    let labels = folder.join("labels.mtx");
    let space = if labels.exists() { Some(read_null_space(&labels)?) } else { None };
    let params = KrylovParams {
        tolerance: meta.tolerance,
        max_iterations: meta.max_iterations,
        null_space: space.as_ref(),
        ..Default::default()
    };
    let recipe = recipe.unwrap_or(meta.recipe);
    let mut m = recipe.preconditioner.build(&matrix)?;
    let info = recipe.run(&matrix, m.as_mut(), &rhs, &mut x, &params, cancel)?;
    Ok((meta, info))
}

fn read_meta(folder: &Path) -> Result<Meta> {
    let path = folder.join("solve.json");
    let text = std::fs::read_to_string(&path).map_err(|e| Error::io(&path, &e))?;
    let meta: Meta = serde_json::from_str(&text).map_err(|e| Error::Format {
        file: path.display().to_string(),
        place: format!("line {}", e.line()),
        message: e.to_string(),
    })?;
    if meta.version != VERSION {
        return Err(Error::Version { what: "solve dump".into(), found: meta.version, supported: VERSION });
    }
    Ok(meta)
}

fn read_null_space(path: &Path) -> Result<NullSpace> {
    let numbers = read_vector(path)?;
    let label = |v: &f64| if *v >= 0.0 && *v < u32::MAX as f64 { *v as u32 } else { u32::MAX };
    NullSpace::constants(&numbers.iter().map(label).collect::<Vec<u32>>())
}

#[cfg(test)]
mod tests {
    use super::super::{Method, PreconditionerKind, cases};
    use super::*;

    #[test]
    fn a_dumped_solve_is_repeated_with_the_same_result() {
        let folder = std::env::temp_dir().join(format!("meniscus-dump-{}", std::process::id()));
        let a = cases::splash(10).unwrap();
        let (b, start) = (cases::random_vector(a.rows(), 1), vec![0.0; a.rows()]);
        let recipe = Recipe { method: Method::Cg, preconditioner: PreconditionerKind::Mic0 };
        let params = KrylovParams { tolerance: 1e-8, max_iterations: 3, ..Default::default() };
        let mut m = recipe.preconditioner.build(&a).unwrap();
        let result = recipe.run(&a, m.as_mut(), &b, &mut start.clone(), &params, &Cancel::new());
        let solve =
            Solve { stage: "pressure", recipe, matrix: &a, rhs: &b, start: &start, labels: None, params };
        write(&folder, &solve, &result).unwrap();
        let (meta, again) = replay(&folder, None, &Cancel::new()).unwrap();
        assert_eq!((meta.outcome.as_str(), meta.residual), ("MaxIterations", Some(again.residual)));
        let _ = std::fs::remove_dir_all(&folder);
        assert!(replay(&folder, None, &Cancel::new()).is_err());
    }
}
