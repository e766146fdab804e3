//! Times of the multigrid pressure solver, with algebraic multigrid on the same matrix in the same run.
//!
//! ```text
//! cargo bench --bench multigrid -- [case] [n] [threads] [repeats]     case: poisson, splash
//! cargo bench --bench multigrid -- flat                               iterations at 64³, 128³ and 256³
//! cargo bench --bench multigrid -- alone [case] [n] [threads] [repeats]   without algebraic multigrid
//! ```
//! Times are the best of several runs, the relative residual is 10⁻⁶. On one thread they are those of the
//! processor, which other programs on the machine disturb least.

#[path = "common/clock.rs"]
mod clock;

use clock::now;
use meniscus::Cancel;
use meniscus::grid::Tiles;
use meniscus::linalg::{Amg, AmgParams, KrylovParams, cases::random_vector, cg};
use meniscus::solver::mac::{Multigrid, Stencil, cases};

fn main() {
    let mut arguments: Vec<String> = std::env::args().skip(1).filter(|a| a != "--bench").collect();
    let alone = arguments.first().is_some_and(|a| a == "alone");
    if alone {
        arguments.remove(0);
    }
    let number = |k: usize, default: usize| arguments.get(k).and_then(|a| a.parse().ok()).unwrap_or(default);
    let case = arguments.first().map_or("poisson", String::as_str);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(number(2, 1)).build().unwrap();
    pool.install(|| match case {
        "flat" => [64, 128, 256].into_iter().for_each(|n| run("poisson", n, 3, true)),
        case => run(case, number(1, 128), number(3, 5), alone),
    });
}

fn run(case: &str, n: usize, repeats: usize, alone: bool) {
    let (tiles, stencil) = match case {
        "splash" => cases::splash(n).unwrap(),
        _ => cases::poisson(n).unwrap(),
    };
    let threads = rayon::current_num_threads();
    println!("{case} {n}, {threads} threads, {} tiles", tiles.len());
    let random = random_vector(tiles.cells(), 1);
    let rhs: Vec<f64> =
        random.iter().zip(&stencil.diagonal).map(|(b, d)| if *d > 0.0 { *b } else { 0.0 }).collect();
    let ones: Vec<f64> = stencil.diagonal.iter().map(|d| (*d > 0.0) as u32 as f64).collect();
    multigrid("random", &tiles, &stencil, &rhs, repeats);
    multigrid("smooth", &tiles, &stencil, &ones, repeats);
    if !alone {
        algebraic(&tiles, &stencil, &rhs, repeats.min(3));
    }
}

fn multigrid(name: &str, tiles: &Tiles, stencil: &Stencil, rhs: &[f64], repeats: usize) {
    let params = KrylovParams { tolerance: 1e-6, ..Default::default() };
    let start = now();
    let mut solver = Multigrid::new(tiles, stencil).unwrap();
    let first = now() - start;
    let (mut setup, mut solve, mut p) = (f64::INFINITY, f64::INFINITY, tiles.field(0.0));
    let mut first_solve = 0.0;
    let mut info = None;
    for k in 0..repeats {
        let start = now();
        solver.rebuild(tiles, stencil).unwrap();
        setup = setup.min(now() - start);
        p.fill(0.0);
        let start = now();
        info = Some(solver.solve(tiles, stencil, rhs, &mut p, &params, &Cancel::new()).unwrap());
        let t = now() - start;
        solve = solve.min(t);
        if k == 0 {
            first_solve = t;
        }
    }
    let done = info.unwrap();
    println!(
        "  multigrid {name:8} unknowns {:8} set-up {setup:.4} (first {first:.4}) solve {solve:.4} (first {first_solve:.4}) sum {:.4} iterations {:3} residual {:.1e} levels {} fell back {} {:.0} MB",
        solver.unknowns(),
        setup + solve,
        done.info.iterations,
        done.info.residual,
        solver.levels(),
        done.fell_back,
        solver.bytes() as f64 * 1e-6
    );
}

fn algebraic(tiles: &Tiles, stencil: &Stencil, rhs: &[f64], repeats: usize) {
    let (matrix, places) = stencil.assemble(tiles).unwrap();
    let b: Vec<f64> = places.iter().map(|&p| rhs[p as usize]).collect();
    let params = KrylovParams { tolerance: 1e-6, ..Default::default() };
    let (mut setup, mut solve, mut iterations) = (f64::INFINITY, f64::INFINITY, 0);
    for _ in 0..repeats {
        let start = now();
        let mut amg = Amg::new(&matrix, &AmgParams::default()).unwrap();
        setup = setup.min(now() - start);
        let mut x = vec![0.0; b.len()];
        let start = now();
        iterations = cg(&matrix, &mut amg, &b, &mut x, &params, &Cancel::new()).unwrap().iterations;
        solve = solve.min(now() - start);
    }
    println!(
        "  algebraic random   unknowns {:8} set-up {setup:.4} solve {solve:.4} sum {:.4} iterations {iterations:3}",
        matrix.rows(),
        setup + solve
    );
}
