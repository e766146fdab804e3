//! Pressure on the graded lattice: still water, moving walls, and convergence at curved boundaries.

use super::support::box_of_one_metre;
use meniscus::Cancel;
use meniscus::geometry::fraction;
use meniscus::math::Vec3;
use meniscus::mesh::bcc::{Lattice, OctreeCell};
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

/// The pressure that the convergence tests look for, its gradient and its Laplacian.
fn exact(x: &Vec3) -> (f64, Vec3, f64) {
    let (s, c) = (2.0 * x.x + x.y).sin_cos();
    let (sz, cz) = (1.5 * x.z).sin_cos();
    let gradient = Vec3::new(2.0 * c * cz, c * cz + 2.0 * x.y * x.z, -1.5 * s * sz + x.y * x.y);
    (s * cz + x.y * x.y * x.z, gradient, -7.25 * s * cz + 2.0 * x.z)
}

const MIDDLE: [f64; 3] = [0.5, 0.48, 0.52];
const RADIUS: f64 = 0.43;

/// A ball is the container: positive inside.
fn container(x: &Vec3) -> f64 {
    RADIUS - (x - Vec3::from(MIDDLE)).norm()
}

/// The liquid lies outside a large ball of air that dips into the container, or fills it.
fn surface(x: &Vec3, with_surface: bool) -> f64 {
    if with_surface { 0.9 - (x - Vec3::new(0.45, 1.43, 0.5)).norm() } else { -1.0 }
}

/// Errors of p: root mean square and largest.
struct Errors {
    mean: f64,
    most: f64,
}

/// Errors at the circumcentres inside the container, by volume; without a surface the constant is open.
fn errors(l: &Lattice, cells: &[u32], found: &[f64], with_surface: bool) -> Errors {
    let weight = l.cell_volumes();
    let inside = |&&c: &&u32| container(&l.circumcentre(c)) > 0.0;
    let cells: Vec<u32> = cells.iter().filter(inside).copied().collect();
    let mean = |f: &dyn Fn(u32) -> f64| {
        let total: f64 = cells.iter().map(|&c| weight[c as usize]).sum();
        cells.iter().map(|&c| weight[c as usize] * f(c)).sum::<f64>() / total
    };
    let error = |c: u32| found[c as usize] - exact(&l.circumcentre(c)).0;
    let shift = if with_surface { 0.0 } else { mean(&error) };
    let square = mean(&|c| (error(c) - shift).powi(2));
    Errors { mean: square.sqrt(), most: cells.iter().fold(0.0, |m, &c| m.max((error(c) - shift).abs())) }
}

/// Solve for the pressure that turns U + ∇p into U, with walls that move with U.
fn projection_error(l: &Lattice, with_surface: bool) -> Errors {
    // Free of divergence, and neither zero nor linear at the walls.
    let flow = |x: &Vec3| Vec3::new(x.y * x.y - x.z, x.z * x.x + 0.5 * x.y, x.x * x.x - 0.5 * x.z);
    let open = open_shares(l, &at_vertices(l, container)).unwrap();
    let liquid = at_cells(l, |x| surface(x, with_surface));
    let velocity = at_faces(l, |x| flow(x) + exact(x).1);
    let cut = Cut { lattice: l, open: &open, liquid: &liquid, velocity: &velocity };
    let mut embedded = Embedded::new(&cut, |x| exact(x).0, flow).unwrap();
    let mut found = vec![0.0; l.cells()];
    embedded.project(1.0, &mut found, 1e-10, &Cancel::new()).unwrap();
    errors(l, &embedded.cells, &found, with_surface)
}

/// Solve −Δp = f with ∂p/∂n given on the curved wall and p on the curved surface.
fn poisson_error(l: &Lattice, with_surface: bool) -> Errors {
    let solid = at_vertices(l, container);
    let open = open_shares(l, &solid).unwrap();
    let liquid = at_cells(l, |x| surface(x, with_surface));
    let velocity = vec![0.0; open.len()];
    let cut = Cut { lattice: l, open: &open, liquid: &liquid, velocity: &velocity };
    let mut embedded = Embedded::new(&cut, |x| exact(x).0, |_| Vec3::zeros()).unwrap();
    // The source over the open part of each cell, tet by tet.
    let mut source = vec![0.0; l.cells()];
    for (t, v) in l.tets.vertices.iter().enumerate() {
        let share = fraction::tet(v.map(|v| -solid[v as usize]));
        let middle = v.iter().map(|&v| l.vertex(v)).sum::<Vec3>() / 4.0;
        source[l.tets.cell[t] as usize] -= share * l.tet_volume(t) * exact(&middle).2;
    }
    // The area of the wall in a cell is what its open faces lack to be closed; its flow is taken on the wall.
    let mut wall = vec![Vec3::zeros(); l.cells()];
    for (f, open) in open.iter().enumerate() {
        let closed = l.area_vector(f) * (1.0 - open);
        let [a, b] = l.faces.cells[f].map(|c| c as usize);
        wall[a] += closed;
        wall[b] -= closed;
    }
    for (i, &c) in embedded.cells.iter().enumerate() {
        let outward = l.circumcentre(c) - Vec3::from(MIDDLE);
        let on_wall = Vec3::from(MIDDLE) + outward * (RADIUS / outward.norm());
        embedded.graph.source[i] = source[c as usize];
        embedded.graph.solid_outflow[i] = -exact(&on_wall).1.dot(&wall[c as usize]);
    }
    let mut found = vec![0.0; l.cells()];
    embedded.project(1.0, &mut found, 1e-10, &Cancel::new()).unwrap();
    errors(l, &embedded.cells, &found, with_surface)
}

type Experiment = fn(&Lattice, bool) -> Errors;

/// The orders of convergence of the mean and the largest error between the two finest lattices.
fn orders(make: fn(u32) -> Lattice, error: Experiment, with_surface: bool) -> [f64; 2] {
    let [coarse, fine] = [3, 4].map(|depth| error(&make(depth), with_surface));
    [(coarse.mean / fine.mean).log2(), (coarse.most / fine.most).log2()]
}

#[test]
fn pressure_error_halves_twice_when_cells_halve() {
    for (name, error) in [("projection", projection_error as Experiment), ("poisson", poisson_error)] {
        for with_surface in [false, true] {
            let [mean, most] = orders(uniform, error, with_surface);
            // Second order, up to how the boundary happens to fall on two lattices.
            assert!(mean > 1.9 && most > 1.7, "{name}, surface {with_surface}: {mean} {most}");
        }
    }
}

#[test]
fn pressure_error_falls_as_fast_where_the_lattice_is_graded() {
    for (name, error) in [("projection", projection_error as Experiment), ("poisson", poisson_error)] {
        for with_surface in [false, true] {
            let [mean, most] = orders(graded, error, with_surface);
            assert!(mean >= 1.7 && most > 1.4, "{name}, surface {with_surface}: {mean} {most}");
        }
    }
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
