//! Walls of the lattice that push and do not pull.

use super::support::{advance, box_of_one_metre, simulation};
use meniscus::cancel::Cancel;
use meniscus::math::Vec3;
use meniscus::mesh::bcc::Lattice;
use meniscus::simulation::Simulation;
use meniscus::solver::bcc::{Cut, Embedded, open_shares, touches_wall};
use serde_json::{Value, json};

const G: f64 = 9.81;
const WATER: f64 = 1000.0;
const DT: f64 = 0.01;

/// Liquid in a box of 1 m among solids, and how it moves before the pressure acts.
struct Tank {
    lattice: Lattice,
    open: Vec<f64>,
    liquid: Vec<f64>,
    velocity: Vec<f64>,
}

impl Tank {
    fn new(
        solid: impl Fn(&Vec3) -> f64 + Sync,
        liquid: impl Fn(&Vec3) -> f64 + Sync,
        velocity: impl Fn(&Vec3) -> Vec3,
    ) -> Self {
        let near = |c: &meniscus::mesh::bcc::OctreeCell| {
            liquid(&c.centre).abs() < c.width || solid(&c.centre).abs() < c.width
        };
        let lattice = box_of_one_metre(Vec3::zeros(), 3, near);
        let solid: Vec<f64> = (0..lattice.vertices.len() as u32).map(|v| solid(&lattice.vertex(v))).collect();
        let open = open_shares(&lattice, &solid).unwrap();
        let faces = 0..lattice.faces.cells.len();
        let along = |f| velocity(&lattice.face_crossing(f)).dot(&lattice.dual_edge(f).normalize());
        let velocity = faces.map(along).collect();
        let liquid = (0..lattice.cells() as u32).map(|c| liquid(&lattice.circumcentre(c))).collect();
        Self { lattice, open, liquid, velocity }
    }

    /// Let gravity and pressure act; walls bound the sum with a pressure that acts already.
    fn fall(&self, peels: bool, acting: &[f64], guess: &[f64]) -> Fallen {
        let down = |f: usize| -G * DT * self.lattice.dual_edge(f).normalize().y;
        let velocity: Vec<f64> = self.velocity.iter().enumerate().map(|(f, u)| u + down(f)).collect();
        let mut pressure = match guess {
            [] => vec![0.0; self.lattice.cells()],
            guess => guess.to_vec(),
        };
        let cut = Cut { lattice: &self.lattice, open: &self.open, liquid: &self.liquid, velocity: &velocity };
        let mut embedded = Embedded::new(&cut, |_| 0.0, |_| Vec3::zeros()).unwrap();
        if peels {
            embedded = embedded.peel(&cut, acting, |_| true);
        }
        let done = embedded.project(DT / WATER, &mut pressure, 1e-10, &Cancel::new()).unwrap();
        let mut after = velocity;
        embedded.store(&mut after);
        let iterations = done.solve.unwrap().iterations;
        Fallen { embedded, pressure, velocity: after, iterations, closed: done.closed_regions }
    }

    /// What a cell loses through its open faces, m³/s, and the area of these.
    fn outflow(&self, velocity: &[f64], cell: u32) -> (f64, f64) {
        let flow = |f: usize| {
            let area = self.open[f] * self.lattice.area_vector(f).norm();
            let out = if self.lattice.faces.cells[f][0] == cell { velocity[f] } else { -velocity[f] };
            (area * out, area)
        };
        let faces = self.lattice.faces_of(cell as usize).iter().map(|&f| flow(f as usize));
        faces.fold((0.0, 0.0), |sum, f| (sum.0 + f.0, sum.1 + f.1))
    }
}

/// What a solve left.
struct Fallen {
    embedded: Embedded,
    pressure: Vec<f64>,
    velocity: Vec<f64>,
    iterations: usize,
    closed: usize,
}

/// Liquid thrown at the ceiling and the walls, with a ball hanging in it.
fn thrown() -> Tank {
    Tank::new(
        |x| (x - Vec3::new(0.7, 0.9, 0.6)).norm() - 0.25,
        |x| 0.7 + 0.08 * (4.0 * x.x).sin() - x.y,
        |x| {
            let up = 1.5 * (8.0 * x.x + 4.0 * x.z).sin() - 0.3;
            Vec3::new((6.0 * x.y).cos(), up, 0.5 * (6.0 * x.x).sin())
        },
    )
}

#[test]
fn liquid_under_a_ceiling_that_peels_falls_freely_at_once() {
    // The ceiling is that of the lattice, and one that cuts its cells.
    for height in [2.0, 0.93] {
        let tank = Tank::new(|x| height - x.y, |x| 0.6 - x.y, |_| Vec3::zeros());
        let fallen = tank.fall(true, &[], &[]);
        let most = fallen.pressure.iter().fold(0.0f64, |m, p| m.max(p.abs()));
        // A column of .33 m has 3237 Pa; the solve stops at 1e-10 of what is missing.
        assert!(most <= 1e-6, "{most} Pa");
        for &f in &fallen.embedded.faces {
            let falls = -G * DT * tank.lattice.dual_edge(f as usize).normalize().y;
            let error = (fallen.velocity[f as usize] - falls).abs();
            assert!(error <= 1e-9 * G * DT, "{error} m/s");
        }
        assert!(!fallen.embedded.off.is_empty());
        let held = tank.fall(false, &[], &[]);
        let least = held.pressure.iter().fold(0.0f64, |m, p| m.min(*p));
        assert!(least < -2000.0, "a wall that holds must suck: {least} Pa");
    }
}

#[test]
fn thrown_liquid_leaves_its_walls_or_presses_on_them() {
    let tank = thrown();
    let fallen = tank.fall(true, &[], &[]);
    let (mut off, mut on) = (0, 0);
    for &cell in &fallen.embedded.cells {
        let p = fallen.pressure[cell as usize];
        let (leaves, area) = tank.outflow(&fallen.velocity, cell);
        // Velocities are of order one; the solve stops at 1e-10 of what is missing over all cells.
        let rounding = 1e-6 * area.max(1e-4);
        let at_wall = touches_wall(&tank.lattice, &tank.open, cell);
        if at_wall && p <= 0.0 {
            assert!(p == 0.0 && leaves > -rounding, "{leaves:e} m³/s at {p} Pa");
            off += 1;
        } else {
            assert!(leaves.abs() < rounding, "{leaves:e} m³/s at {p} Pa");
            on += usize::from(at_wall);
        }
    }
    assert!(off > 100 && on > 100, "{off} cells come off, {on} stay");
    let noted = fallen.embedded.off.iter().filter(|c| fallen.pressure[**c as usize] == 0.0).count();
    assert_eq!(noted, fallen.embedded.off.len());
    // From the pressures that are saved the same set is found at once.
    let warm = tank.fall(true, &[], &fallen.pressure);
    let plain = tank.fall(false, &[], &[]);
    println!(
        "iterations: held {}, peeling {}, warm {}",
        plain.iterations, fallen.iterations, warm.iterations
    );
    assert!(fallen.iterations <= 4 * plain.iterations && warm.iterations <= plain.iterations);
}

#[test]
fn a_wall_of_the_lattice_bounds_the_sum_of_two_pressures() {
    let tank = thrown();
    let once = tank.fall(true, &[], &[]);
    // What a first pressure pushed too much a second may take back, and no more.
    let cut = |velocity| Cut { lattice: &tank.lattice, open: &tank.open, liquid: &tank.liquid, velocity };
    let mut pushed = Embedded::new(&cut(&tank.velocity), |_| 0.0, |_| Vec3::zeros()).unwrap();
    let given: Vec<f64> = pushed.cells.iter().map(|c| 1.3 * once.pressure[*c as usize]).collect();
    meniscus::solver::pressure::accelerate(&mut pushed.graph, DT / WATER, &given);
    let mut velocity = tank.velocity.clone();
    pushed.store(&mut velocity);
    let second = Tank { velocity, ..thrown() };
    let first: Vec<f64> = once.pressure.iter().map(|p| 1.3 * p).collect();
    let rest = second.fall(true, &first, &[]);
    let top = first.iter().fold(0.0f64, |m, p| m.max(*p));
    for (p, (f, r)) in once.pressure.iter().zip(first.iter().zip(&rest.pressure)) {
        assert!((f + r - p).abs() < 1e-6 * top, "{f} and {r} instead of {p} Pa");
    }
}

#[test]
fn a_full_bottle_on_the_lattice_does_not_let_go() {
    let tank = Tank::new(|x| 0.4 - (x - Vec3::repeat(0.5)).norm(), |_| -1.0, |_| Vec3::zeros());
    let fallen = tank.fall(true, &[], &[]);
    assert!(fallen.closed >= 1 && fallen.embedded.off.is_empty());
    let fastest = fallen.embedded.faces.iter().map(|f| fallen.velocity[*f as usize].abs());
    let fastest = fastest.fold(0.0, f64::max);
    assert!(fastest < 1e-7 * G * DT, "{fastest:e} m/s");
}

/// Water that hangs from the ceiling of a closed box.
fn hanging(wall: &str) -> Value {
    json!({"meniscus": 1, "frames": [0, 100], "fps": 100, "simulator": {"type": "bcc", "detail": 4},
        "domain": {"min": [0, 0, 0], "max": [0.4, 0.8, 0.4], "wall": wall}, "resolution": {"cell": 0.025},
        "initial": [{"shape": {"box": {"min": [-1, 0.6, -1], "max": [1, 1, 1]}}}]})
}

/// The lowest point of the upper side of the liquid in the middle of the box, and the highest anywhere, m.
fn tops(sim: &Simulation) -> [f64; 2] {
    let surface = sim.surface().unwrap();
    let middle = |x: &&Vec3| (x.x - 0.2).abs() < 0.1 && (x.z - 0.2).abs() < 0.1;
    let highest = surface.positions.iter().map(|x| x.y).fold(f64::NEG_INFINITY, f64::max);
    let upper = surface.positions.iter().filter(middle).map(|x| x.y).filter(|y| *y > highest - 0.1);
    [upper.fold(f64::INFINITY, f64::min), highest]
}

#[test]
fn liquid_falls_from_a_ceiling_that_peels() {
    let (mut sim, dt, cell) = (simulation(&hanging("peel"), 2), 0.01, 0.025);
    for frame in 1..=20 {
        advance(&mut sim, 1);
        let t = f64::from(frame) * dt;
        let cells = sim.cells().unwrap();
        let wet = || (0..cells.liquid.len()).filter(|&c| cells.liquid[c] < 0.0);
        let pressure = wet().map(|c| cells.pressure[c].abs()).fold(0.0, f64::max);
        let error = wet().map(|c| (cells.velocity[c] + Vec3::y() * (G * t)).norm()).fold(0.0, f64::max);
        assert!(pressure <= 1e-9, "frame {frame}: {pressure} Pa");
        assert!(error <= 1e-9 * G * t, "frame {frame}: {error} m/s");
        let [middle, highest] = tops(&sim);
        // Surfaces are carried by the velocity before each step. The lock of volume moves both sides of the layer by what
        // its rim has lost, at most a tenth of a cell.
        let fallen = 0.5 * G * t * (t - dt);
        if frame > 1 {
            let off = (0.8 - middle - fallen) / cell;
            assert!(off.abs() <= 0.1, "frame {frame}: {off} cells from where it should be");
        }
        // At the sides it lags by less than a cell, and nothing stays at the ceiling.
        assert!(highest <= 0.8 - fallen + cell, "frame {frame}: {highest}");
    }
}

#[test]
fn liquid_hangs_from_a_ceiling_that_does_not_peel() {
    let mut sim = simulation(&hanging("slide"), 2);
    advance(&mut sim, 5);
    let speed = sim.report().max_speed;
    assert!(speed <= 1e-6 * (G * 0.2).sqrt(), "{speed} m/s");
    assert!(tops(&sim)[0] >= 0.8);
}

/// A ball of water that is thrown at a round post and a wall.
fn thrown_ball() -> Value {
    json!({"meniscus": 1, "frames": [0, 100], "fps": 50, "simulator": {"type": "bcc", "detail": 4},
        "domain": {"min": [0, 0, 0], "max": [0.4, 0.4, 0.3], "wall": "peel"}, "resolution": {"cell": 0.02},
        "initial": [{"shape": {"sphere": {"center": [0.14, 0.25, 0.15], "radius": 0.09}}, "velocity": [-2.5, 1.5, 0]}],
        "colliders": [{"shape": {"sphere": {"center": [0.1, 0.1, 0.15], "radius": 0.06}}, "wall": "peel"}]})
}

#[test]
fn a_run_with_walls_that_peel_continues_byte_for_byte_on_any_threads() {
    let mut whole = simulation(&thrown_ball(), 1);
    advance(&mut whole, 3);
    let saved = whole.save();
    advance(&mut whole, 2);
    let mut resumed = simulation(&thrown_ball(), 2);
    resumed.load(&saved).unwrap();
    assert!(resumed.save() == saved);
    advance(&mut resumed, 2);
    assert!(resumed.save() == whole.save());
}
