//! Failed solves, kept to be repeated alone.
//!
//! [`record`] does some work and keeps the last solve in it that did not converge, as the Krylov method saw it. Solves
//! within a solve, which a preconditioner makes, are its own matter and are not kept. A solve runs on the thread that
//! called it, so the record belongs to that thread and no solver has to hand it on.
//!
//! A dump is a folder: `matrix.mtx`, `rhs.mtx` and `start.mtx` in Matrix Market form; where there are null vectors
//! `labels.mtx` with the label of each row (−1 for none) and `null.mtx` with its entry; and `solve.json` with what was
//! asked and what came of it. The preconditioner of a simulator is not written down: a repeated solve builds its own
//! from the matrix. Callers add files (weights, scene, state) beside them; whoever writes them decides how.

use super::matrix_market::{format_matrix, format_vector, read_matrix, read_vector};
use super::operator::LinearOperator;
use super::recipe::{Method, PreconditionerKind, Recipe};
use super::{Csr, KrylovParams, NullSpace, SolveInfo, krylov};
use crate::cancel::Cancel;
use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};
use std::cell::RefCell;
use std::io::{self, Write};
use std::path::Path;

const VERSION: u32 = 1;

/// What is in `solve.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Meta {
    pub version: u32,
    /// The stage that failed, as in `pressure`.
    pub stage: String,
    /// How the solve is repeated.
    pub recipe: Recipe,
    pub tolerance: f64,
    pub max_iterations: usize,
    pub stall_iterations: usize,
    pub restart: usize,
    pub iterations: usize,
    /// None if it was not finite.
    pub residual: Option<f64>,
    /// The outcome or the error, as text.
    pub outcome: String,
    /// Whether the matrix was at hand.
    pub matrix: bool,
    /// Whether there are null vectors.
    pub singular: bool,
}

/// A solve as it was given to the solver, and what came of it.
#[derive(Clone, Debug)]
pub struct FailedSolve {
    pub meta: Meta,
    /// None if the matrix is only known by its action, and large.
    pub matrix: Option<Csr>,
    pub rhs: Vec<f64>,
    /// The vector the solve started from.
    pub start: Vec<f64>,
    pub null_space: Option<NullSpace>,
}

/// What was kept of some work.
#[derive(Clone, Debug, Default)]
pub struct Record {
    pub solve: Option<FailedSolve>,
    /// Named numbers that go with it.
    pub notes: Vec<(&'static str, Vec<f64>)>,
}

/// Takes a file by its name and what fills it.
pub type Put<'a> = dyn FnMut(&str, &dyn Fn(&mut dyn Write) -> io::Result<()>) -> Result<()> + 'a;

impl Record {
    /// Say which stage it was.
    pub fn name(&mut self, stage: &str) {
        self.solve.iter_mut().for_each(|s| s.meta.stage = stage.to_string());
    }
}

/// What a thread keeps.
#[derive(Default)]
struct Keeper {
    record: Record,
    /// Within a solve.
    solving: bool,
}

thread_local! {
    static KEEPER: RefCell<Option<Keeper>> = const { RefCell::new(None) };
}

/// Do some work and keep its last solve if that failed.
pub fn record<T>(work: impl FnOnce() -> T) -> (T, Record) {
    /// Takes the keeper away, also after a panic.
    struct Ends;
    impl Drop for Ends {
        fn drop(&mut self) {
            KEEPER.with(|k| k.take());
        }
    }
    KEEPER.with(|k| k.replace(Some(Keeper::default())));
    let ends = Ends;
    let done = work();
    let keeper = KEEPER.with(|k| k.take());
    drop(ends);
    (done, keeper.map(|k| k.record).unwrap_or_default())
}

/// Keep numbers beside the solve, instead of those of an earlier try; they are asked for only if somebody keeps them.
pub fn note(notes: impl FnOnce() -> Vec<(&'static str, Vec<f64>)>) {
    if KEEPER.with(|k| k.borrow().is_none()) {
        return;
    }
    let notes = notes();
    KEEPER.with(|k| {
        if let Some(k) = k.borrow_mut().as_mut() {
            k.record.notes = notes;
        }
    });
}

/// Run a solve, and keep it if it fails and somebody asked for that.
pub(super) fn watched<A: LinearOperator + ?Sized>(
    method: Method,
    a: &A,
    b: &[f64],
    x: &mut [f64],
    params: &KrylovParams,
    solve: impl FnOnce(&mut [f64]) -> Result<SolveInfo>,
) -> Result<SolveInfo> {
    let outermost = |k: &mut Keeper| !std::mem::replace(&mut k.solving, true);
    if !KEEPER.with(|k| k.borrow_mut().as_mut().is_some_and(outermost)) {
        return solve(x);
    }
    let start = x.to_vec();
    let result = solve(x);
    let failed = match &result {
        Ok(info) => !info.converged(),
        Err(error) => *error != Error::Cancelled,
    };
    let kept = failed.then(|| FailedSolve::new(method, a.assembled(), b, start, params, &result));
    KEEPER.with(|k| {
        if let Some(k) = k.borrow_mut().as_mut() {
            (k.solving, k.record.solve) = (false, kept);
        }
    });
    result
}

impl FailedSolve {
    fn new(
        method: Method,
        matrix: Option<Csr>,
        rhs: &[f64],
        start: Vec<f64>,
        params: &KrylovParams,
        result: &Result<SolveInfo>,
    ) -> Self {
        let (iterations, residual, outcome) = match result {
            Ok(info) => (info.iterations, Some(info.residual), format!("{:?}", info.outcome)),
            Err(error) => (0, None, error.to_string()),
        };
        // The others are for matrices that no preconditioner made from entries alone suits.
        let preconditioner = match method {
            Method::Cg => PreconditionerKind::Amg,
            Method::Minres | Method::Fgmres => PreconditionerKind::None,
        };
        let meta = Meta {
            version: VERSION,
            stage: String::new(),
            recipe: Recipe { method, preconditioner },
            tolerance: params.tolerance,
            max_iterations: params.max_iterations,
            stall_iterations: params.stall_iterations,
            restart: params.restart,
            iterations,
            residual: residual.filter(|r| r.is_finite()),
            outcome,
            matrix: matrix.is_some(),
            singular: params.null_space.is_some_and(|s| s.count() > 0),
        };
        let null_space = params.null_space.filter(|_| meta.singular).cloned();
        Self { meta, matrix, rhs: rhs.to_vec(), start, null_space }
    }

    /// Hand over every file of the dump by its name, and what fills it; the list that names the others comes last.
    pub fn files(&self, put: &mut Put) -> Result<()> {
        if let Some(matrix) = &self.matrix {
            put("matrix.mtx", &|out| format_matrix(out, matrix))?;
        }
        put("rhs.mtx", &|out| format_vector(out, &self.rhs))?;
        put("start.mtx", &|out| format_vector(out, &self.start))?;
        if let Some(space) = &self.null_space {
            let (labels, entries) = space.by_row();
            let number = |l: &u32| if *l == u32::MAX { -1.0 } else { f64::from(*l) };
            let labels: Vec<f64> = labels.iter().map(number).collect();
            put("labels.mtx", &|out| format_vector(out, &labels))?;
            put("null.mtx", &|out| format_vector(out, entries))?;
        }
        let text = serde_json::to_string_pretty(&self.meta);
        let text = text.map_err(|e| Error::invalid("solve.json", e.to_string()))?;
        put("solve.json", &|out| out.write_all(text.as_bytes()))
    }
}

/// Repeat the solve of a dump, with another recipe if one is given. Returns what was recorded and what came now.
pub fn replay(folder: &Path, recipe: Option<Recipe>, cancel: &Cancel) -> Result<(Meta, SolveInfo)> {
    let meta = read_meta(folder)?;
    if !meta.matrix {
        let message = "the matrix of this solve is known by its action only and was not written";
        return Err(Error::invalid(folder.display().to_string(), message));
    }
    let matrix = read_matrix(&folder.join("matrix.mtx"))?;
    if matrix.column_count() != matrix.rows() {
        let message = format!("{} rows, {} columns", matrix.rows(), matrix.column_count());
        return Err(Error::invalid("solve", message));
    }
    let rhs = read_vector(&folder.join("rhs.mtx"))?;
    let mut x = read_vector(&folder.join("start.mtx"))?;
    let space = if meta.singular { Some(read_null_space(folder)?) } else { None };
    let params = KrylovParams {
        tolerance: meta.tolerance,
        max_iterations: meta.max_iterations,
        stall_iterations: meta.stall_iterations,
        restart: meta.restart,
        null_space: space.as_ref(),
    };
    let recipe = recipe.unwrap_or(meta.recipe);
    let mut m = recipe.preconditioner.build(&matrix)?;
    let info = krylov(recipe.method, &matrix, m.as_mut(), &rhs, &mut x, &params, cancel)?;
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

fn read_null_space(folder: &Path) -> Result<NullSpace> {
    let numbers = read_vector(&folder.join("labels.mtx"))?;
    let label = |v: &f64| if *v >= 0.0 && *v < u32::MAX as f64 { *v as u32 } else { u32::MAX };
    let labels: Vec<u32> = numbers.iter().map(label).collect();
    let entries = read_vector(&folder.join("null.mtx"))?;
    if entries.len() != labels.len() {
        let message = format!("{} labels and {} entries", labels.len(), entries.len());
        return Err(Error::invalid("null.mtx", message));
    }
    NullSpace::weighted(&labels, |row| entries[row])
}

#[cfg(test)]
mod tests {
    use super::super::{Outcome, cases, cg};
    use super::*;

    /// A solve that is kept if it fails. A vector that is projected out although the matrix is regular ends in a stall.
    fn keep(max_iterations: usize, projected: bool) -> (Result<SolveInfo>, Record) {
        let a = cases::splash(10).unwrap();
        let b = cases::random_vector(a.rows(), 1);
        let labels: Vec<u32> = (0..a.rows()).map(|i| if i < 9 { 0 } else { u32::MAX }).collect();
        let space = NullSpace::weighted(&labels, |i| 1.0 + i as f64).unwrap();
        let null_space = projected.then_some(&space);
        let params = KrylovParams { tolerance: 1e-8, max_iterations, null_space, ..Default::default() };
        record(|| {
            let mut m = PreconditionerKind::Amg.build(&a).unwrap();
            cg(&a, m.as_mut(), &b, &mut vec![0.0; a.rows()], &params, &Cancel::new())
        })
    }

    #[test]
    fn a_failed_solve_is_repeated_with_the_same_result() {
        let folder = std::env::temp_dir().join(format!("meniscus-dump-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let (result, kept) = keep(3, true);
        assert_eq!(result.clone().unwrap().outcome, Outcome::MaxIterations);
        let mut put = |name: &str, fill: &dyn Fn(&mut dyn Write) -> io::Result<()>| {
            let mut bytes = Vec::new();
            fill(&mut bytes).unwrap();
            std::fs::write(folder.join(name), bytes).unwrap();
            Ok(())
        };
        kept.solve.unwrap().files(&mut put).unwrap();
        let (meta, again) = replay(&folder, None, &Cancel::new()).unwrap();
        assert_eq!((meta.outcome.as_str(), meta.iterations), ("MaxIterations", 3));
        // Entries of null vectors are normalised again.
        assert!((again.residual / result.unwrap().residual - 1.0).abs() < 1e-12);
        let _ = std::fs::remove_dir_all(&folder);
        assert!(replay(&folder, None, &Cancel::new()).is_err());
    }

    #[test]
    fn solves_that_converge_leave_nothing() {
        assert!(keep(500, false).1.solve.is_none());
        // Without anybody who keeps, nothing is kept for whoever comes later.
        let outside = keep(3, false).1;
        assert!(outside.solve.is_some() && record(|| ()).1.solve.is_none());
    }

    #[test]
    fn an_operator_without_entries_is_found_column_by_column() {
        struct Free(Csr);
        impl LinearOperator for Free {
            fn size(&self) -> usize {
                self.0.rows()
            }
            fn apply(&self, x: &[f64], y: &mut [f64]) {
                self.0.multiply(x, y);
            }
        }
        let a = cases::splash(8).unwrap();
        assert_eq!(Free(a.clone()).assembled(), Some(a));
    }
}
