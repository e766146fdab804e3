//! Pressure on the graded lattice: still water, moving walls, and convergence at curved boundaries.

use super::support::box_of_one_metre;
use meniscus::Cancel;
use meniscus::math::Vec3;
use meniscus::mesh::bcc::{Lattice, OctreeCell};
use meniscus::simulation::validation::{Effort, run};
use meniscus::solver::bcc::{Cut, Embedded, open_shares};

fn lattice(depth: u32, wants: impl Fn(&OctreeCell) -> bool + Sync) -> Lattice {
    box_of_one_metre(Vec3::zeros(), depth, wants)
}

/// Three sizes of cells side by side, the steps between them oblique and across every surface. The size goes
/// by root cell, so that it stays in place when `depth` grows.
fn graded(depth: u32) -> Lattice {
    lattice(depth, |c| {
        let root = c.index.map(|i| (i >> c.level) as f64 + 0.5);
        let from = root[0] + 0.3 * root[1] - 0.2 * root[2];
        let coarser = [1.6, 2.8].iter().filter(|&&step| from > step).count();
        c.level + coarser < depth as usize
    })
}

fn uniform(depth: u32) -> Lattice {
    lattice(depth, |_| true)
}

fn at_vertices(l: &Lattice, f: impl Fn(&Vec3) -> f64) -> Vec<f64> {
    (0..l.vertices.len()).map(|v| f(&l.vertex(v as u32))).collect()
}

fn at_cells(l: &Lattice, f: impl Fn(&Vec3) -> f64) -> Vec<f64> {
    (0..l.cells()).map(|c| f(&l.circumcentre(c as u32))).collect()
}

/// The component of a velocity field along the normal of each face, at its middle.
fn at_faces(l: &Lattice, u: impl Fn(&Vec3) -> Vec3) -> Vec<f64> {
    let along = |f: usize| u(&l.face_middle(f)).dot(&l.area_vector(f).normalize());
    (0..l.faces.cells.len()).map(along).collect()
}

/// Largest speed left after one step of gravity and one projection, over √(gL).
fn disturbance(
    l: &Lattice,
    solid: impl Fn(&Vec3) -> f64,
    liquid: impl Fn(&Vec3) -> f64,
    gravity: Vec3,
) -> f64 {
    let (dt, density) = (0.02, 1000.0);
    let open = open_shares(l, &at_vertices(l, solid)).unwrap();
    let (liquid, velocity) = (at_cells(l, liquid), at_faces(l, |_| gravity * dt));
    let cut = Cut { lattice: l, open: &open, liquid: &liquid, velocity: &velocity };
    let mut embedded = Embedded::new(&cut, |_| 0.0, |_| Vec3::zeros()).unwrap();
    let mut pressure = vec![0.0; l.cells()];
    let done = embedded.project(dt / density, &mut pressure, 1e-12, &Cancel::new()).unwrap();
    assert!(done.solve.unwrap().converged() && embedded.cells.len() > 1000);
    let left = embedded.graph.velocity.iter().fold(0.0f64, |m, u| m.max(u.abs()));
    left / gravity.norm().sqrt()
}

/// A container with tilted walls: the distance to the nearest of five planes, negative in the walls.
fn tilted_box(x: &Vec3) -> f64 {
    let plane =
        |point: [f64; 3], normal: [f64; 3]| (x - Vec3::from(point)).dot(&Vec3::from(normal).normalize());
    let walls = [
        plane([0.17, 0.0, 0.0], [1.0, 0.3, 0.1]),
        plane([0.89, 0.0, 0.0], [-1.0, 0.2, -0.1]),
        plane([0.0, 0.12, 0.0], [0.15, 1.0, 0.05]),
        plane([0.0, 0.0, 0.21], [0.1, 0.2, 1.0]),
        plane([0.0, 0.0, 0.93], [0.0, 0.25, -1.0]),
    ];
    walls.into_iter().fold(f64::INFINITY, f64::min)
}

#[test]
fn still_water_in_tilted_walls_stays_still_on_a_graded_lattice() {
    let down = Vec3::new(0.0, -9.81, 0.0);
    for level in [0.43, 0.5, 0.6180339887] {
        let left = disturbance(&graded(4), tilted_box, |x| x.y - level, down);
        assert!(left <= 1e-12, "{left}");
    }
}

#[test]
fn still_water_under_tilted_gravity_stays_still() {
    // The surface is perpendicular to gravity and crosses three sizes of cells.
    let gravity = Vec3::new(2.3, -8.7, 1.1);
    let up = -gravity.normalize();
    let left = disturbance(&graded(4), tilted_box, |x| (x - Vec3::repeat(0.5)).dot(&up), gravity);
    assert!(left <= 1e-12, "{left}");
}

#[test]
fn water_in_a_closed_container_stays_still() {
    let left = disturbance(&graded(4), tilted_box, |_| -1.0, Vec3::new(0.0, -9.81, 0.0));
    assert!(left <= 1e-12, "{left}");
}

#[test]
fn a_wall_that_moves_with_the_liquid_does_not_disturb_it() {
    // Any rigid motion: its velocity is linear, and the middle of a face gives its mean.
    let motion = |x: &Vec3| Vec3::new(0.3, -0.2, 0.5) + Vec3::new(1.0, 2.0, -0.7).cross(x);
    let l = graded(4);
    let open = open_shares(&l, &at_vertices(&l, |x| (x - Vec3::repeat(0.5)).norm() - 0.3)).unwrap();
    let velocity = at_faces(&l, motion);
    // Air surrounds a liquid ball that surrounds a solid one, so that nothing touches the walls at rest.
    let liquid = at_cells(&l, |x| (x - Vec3::repeat(0.5)).norm() - 0.42);
    let cut = Cut { lattice: &l, open: &open, liquid: &liquid, velocity: &velocity };
    let mut embedded = Embedded::new(&cut, |_| 0.0, motion).unwrap();
    let before = embedded.graph.velocity.clone();
    let most = embedded.graph.imbalance().into_iter().fold(0.0f64, |m, b| m.max(b.abs()));
    assert!(most < 1e-15, "{most}");
    let mut pressure = vec![0.0; l.cells()];
    embedded.project(1e-3, &mut pressure, 1e-10, &Cancel::new()).unwrap();
    // What changes is rounding of fluxes; through the sliver of a face it looks like more.
    let flux = |f: usize| embedded.graph.area[f] * (embedded.graph.velocity[f] - before[f]).abs();
    let change = (0..before.len()).map(flux).fold(0.0, f64::max);
    assert!(change < 1e-15, "{change}");
}

#[test]
fn a_block_that_leaves_through_a_wall_drives_no_jets_through_slivers() {
    // Its slope meets the wall just below a row of vertices: the cells there are open by a thousandth of their width.
    let (l, speed) = (uniform(2), 1.0);
    let below = 0.5 - 0.0625e-3;
    let solid = at_vertices(&l, |x| 0.8 * (x.y - below) - 0.6 * (x.x - 1.0));
    let open = open_shares(&l, &solid).unwrap();
    let (liquid, velocity) = (at_cells(&l, |x| x.y - 0.83), vec![0.0; open.len()]);
    let cut = Cut { lattice: &l, open: &open, liquid: &liquid, velocity: &velocity };
    let embedded = Embedded::new(&cut, |_| 0.0, |_| Vec3::x() * speed).unwrap();
    let fastest = |mut embedded: Embedded| {
        let mut pressure = vec![0.0; l.cells()];
        embedded.project(1e-3, &mut pressure, 1e-10, &Cancel::new()).unwrap();
        embedded.graph.velocity.iter().fold(0.0f64, |m, u| m.max(u.abs()))
    };
    // What each face asks for is bounded by the speed of the block; all that it pushes into the wall is not.
    let mut all = embedded.clone();
    for (outflow, &cell) in all.graph.solid_outflow.iter_mut().zip(&embedded.cells) {
        let pushed = |&f: &u32| {
            let out = if l.faces.cells[f as usize][0] == cell { 1.0 } else { -1.0 };
            out * (1.0 - open[f as usize]) * l.area_vector(f as usize).x * speed
        };
        *outflow = l.faces_of(cell as usize).iter().map(pushed).sum();
    }
    let [found, without] = [fastest(embedded), fastest(all)];
    println!("{found} m/s, {without} with all that is pushed into the wall");
    assert!(found <= 11.0 * speed && without > 1e3 * speed, "{found}, {without}");
}

#[test]
fn pressure_converges_at_curved_walls_and_surfaces_on_equal_and_graded_cells() {
    let figures = run("bcc", "convergence", Effort::Quick, &Cancel::new()).unwrap();
    assert_eq!(figures.len(), 16);
    assert!(figures.iter().all(|f| f.pass), "{figures:#?}");
}

#[test]
fn wrong_numbers_are_refused_by_name() {
    let l = uniform(0);
    let (open, liquid) = (vec![1.0; l.faces.cells.len()], vec![-1.0; l.cells()]);
    let velocity = vec![0.0; open.len()];
    let refuse = |open: &[f64], liquid: &[f64], velocity: &[f64]| {
        let cut = Cut { lattice: &l, open, liquid, velocity };
        Embedded::new(&cut, |_| 0.0, |_| Vec3::zeros()).err().map(|e| e.to_string()).unwrap_or_default()
    };
    assert!(refuse(&open[1..], &liquid, &velocity).contains("open share"));
    let mut broken = liquid.clone();
    broken[3] = f64::NAN;
    assert!(refuse(&open, &broken, &velocity).contains("liquid distance: number 3"));
    assert!(open_shares(&l, &[]).is_err());
    assert!(refuse(&open, &liquid, &velocity).is_empty());
}

#[test]
fn one_thread_and_three_find_the_same_pressure() {
    let l = graded(3);
    let solve = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let open = open_shares(&l, &at_vertices(&l, tilted_box)).unwrap();
            let (liquid, velocity) = (at_cells(&l, |x| x.y - 0.5 - 0.1 * x.x), at_faces(&l, |x| *x));
            let cut = Cut { lattice: &l, open: &open, liquid: &liquid, velocity: &velocity };
            let mut embedded = Embedded::new(&cut, |_| 0.0, |_| Vec3::y()).unwrap();
            let mut pressure = vec![0.0; l.cells()];
            embedded.project(1.0, &mut pressure, 1e-8, &Cancel::new()).unwrap();
            pressure
        })
    };
    assert!(solve(1) == solve(3));
}
