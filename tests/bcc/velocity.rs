//! Velocity on the graded lattice: reconstruction, interpolation, paths, and what interpolation loses.

use super::support::box_of_one_metre;
use meniscus::Cancel;
use meniscus::math::Vec3;
use meniscus::mesh::bcc::{Edges, Lattice, OctreeCell};
use meniscus::solver::bcc::{Carrier, Cut, Embedded, LatticeVelocity, held_by, open_shares, reconstruct};

fn lattice(depth: u32, wants: impl Fn(&OctreeCell) -> bool + Sync) -> Lattice {
    box_of_one_metre(Vec3::repeat(-0.5), depth, wants)
}

/// Fine within a ball off the middle, coarse outside.
fn graded() -> Lattice {
    lattice(3, |c| c.level == 0 || (c.centre - Vec3::new(0.1, -0.05, 0.15)).norm() < 0.2 + c.width)
}

/// The normal velocity of each face where the dual edge meets it.
fn at_crossings(l: &Lattice, u: impl Fn(&Vec3) -> Vec3) -> Vec<f64> {
    let along = |f: usize| u(&l.face_crossing(f)).dot(&l.area_vector(f).normalize());
    (0..l.faces.cells.len()).map(along).collect()
}

/// Points spread over the box, none of them special.
fn points(count: usize) -> Vec<Vec3> {
    let part = |i: usize, step: f64| (i as f64 * step).fract() - 0.5;
    (1..=count).map(|i| Vec3::new(part(i, 0.8191725), part(i, 0.6710436), part(i, 0.5497004))).collect()
}

/// Whether a point keeps away from the walls, where the ring round a vertex is not whole.
fn is_inner(x: &Vec3) -> bool {
    x.amax() < 0.3
}

#[test]
fn every_point_is_found_in_the_tet_that_holds_it() {
    let l = graded();
    for x in points(20_000) {
        let shares = l.barycentric(l.locate(&x), &x);
        assert!(shares.iter().all(|s| *s > -1e-12), "{x:?} {shares:?}");
        assert!((shares.iter().sum::<f64>() - 1.0).abs() < 1e-12);
    }
    // What lies outside or is no number ends somewhere.
    assert!(l.locate(&Vec3::repeat(7.0)) < l.tets.vertices.len());
    assert!(l.locate(&Vec3::repeat(f64::NAN)) < l.tets.vertices.len());
}

#[test]
fn rigid_motion_is_reconstructed_exactly() {
    let motion = |x: &Vec3| Vec3::new(0.3, -0.2, 0.5) + Vec3::new(1.0, 2.0, -0.7).cross(x);
    let l = graded();
    let known = vec![true; l.faces.cells.len()];
    let found = reconstruct(&l, &at_crossings(&l, motion), &known, 0).unwrap();
    for (c, v) in found.iter().enumerate() {
        assert!((v - motion(&l.circumcentre(c as u32))).norm() < 1e-13);
    }
}

#[test]
fn a_rotation_is_interpolated_exactly_where_cells_are_equal() {
    let motion = |x: &Vec3| Vec3::new(0.3, -0.2, 0.5) + Vec3::new(1.0, 2.0, -0.7).cross(x);
    let l = lattice(2, |_| true);
    let edges = Edges::new(&l);
    let cells = (0..l.cells()).map(|c| motion(&l.circumcentre(c as u32))).collect();
    let field = LatticeVelocity::new(&l, &edges, cells).unwrap();
    for x in points(5000).iter().filter(|x| is_inner(x)) {
        assert!((field.sample(x) - motion(x)).norm() < 1e-13);
    }
}

#[test]
fn the_field_is_continuous_and_meets_the_circumcentres() {
    let l = graded();
    let edges = Edges::new(&l);
    let wild = |c: usize| Vec3::new((c % 7) as f64, (c % 11) as f64, (c % 13) as f64) / 13.0;
    let field = LatticeVelocity::new(&l, &edges, (0..l.cells()).map(wild).collect()).unwrap();
    for c in 0..l.cells() {
        let x = l.circumcentre(c as u32);
        // The nearest pieces have the value of the cell at this corner; 1e-9 is the tolerance of a piece.
        assert!((field.sample(&x) - wild(c)).norm() < 1e-6, "{c} at {x:?}");
    }
    // Values differ by at most 1 over a quarter of the finest width: no step may be steeper than a few of that.
    let (step, steepest) = (1e-6, 10.0 * 1.8 * 4.0 * 32.0);
    for x in points(5000) {
        for a in 0..3 {
            let mut y = x;
            y[a] += step;
            let change = (field.sample(&y) - field.sample(&x)).norm();
            assert!(change < step * steepest, "{x:?} axis {a}: {change}");
        }
    }
}

#[test]
fn a_point_in_a_spinning_liquid_goes_round() {
    let motion = |x: &Vec3| Vec3::new(-x.y, x.x, 0.0);
    let l = lattice(2, |_| true);
    let edges = Edges::new(&l);
    let cells = (0..l.cells()).map(|c| motion(&l.circumcentre(c as u32))).collect();
    let field = LatticeVelocity::new(&l, &edges, cells).unwrap();
    let (dt, x) = (0.1f64, Vec3::new(0.2, 0.1, 0.05));
    let (s, c) = dt.sin_cos();
    let exact = Vec3::new(x.x * c - x.y * s, x.x * s + x.y * c, x.z);
    // The local error of a third-order rule on a rotation is |x| dt⁴/24.
    let error = (field.trace(&x, dt) - exact).norm();
    let expected = x.xy().norm() * dt.powi(4) / 24.0;
    assert!((error / expected - 1.0).abs() < 0.05, "{error} {expected}");
}

/// Kinetic energy of the liquid that is left after reading the faces off the field again and again.
fn energy_left(l: &Lattice, rounds: usize, from_vertices: bool) -> f64 {
    let wave = std::f64::consts::TAU * 2.0;
    let flow = |x: &Vec3| {
        let (sx, cx) = (wave * x.x).sin_cos();
        let (sy, cy) = (wave * x.y).sin_cos();
        Vec3::new(sx * cy, -cx * sy, 0.0)
    };
    let edges = Edges::new(l);
    let mut u = at_crossings(l, flow);
    let known = vec![true; u.len()];
    // A face answers for the volume of its diamond.
    let energy = |u: &[f64]| -> f64 {
        (0..u.len()).map(|f| l.area_vector(f).dot(&l.dual_edge(f)) * u[f] * u[f]).sum()
    };
    let before = energy(&u);
    for _ in 0..rounds {
        let field = LatticeVelocity::new(l, &edges, reconstruct(l, &u, &known, 0).unwrap()).unwrap();
        u = at_crossings(l, |x| if from_vertices { field.sample_from_vertices(x) } else { field.sample(x) });
    }
    energy(&u) / before
}

#[test]
fn interpolation_from_vertices_damps_far_more() {
    // Two waves across 16 cells: eight cells a wave.
    let l = lattice(2, |_| true);
    let (ours, plain) = (energy_left(&l, 5, false), energy_left(&l, 5, true));
    // Measured: 0.9985 against 0.3116.
    assert!(ours > 0.99 && plain < 0.5, "{ours} {plain}");
}

#[test]
fn liquid_slides_along_a_wall_that_cuts_the_lattice() {
    // A uniform flow parallel to an oblique wall passes the projection unchanged, and the cells at the wall see it
    // whole because closed faces are left out.
    let l = graded();
    let normal = Vec3::new(0.4, 0.8, 0.3).normalize();
    let flow = Vec3::new(0.8, -0.4, 0.0).normalize();
    assert!(flow.dot(&normal).abs() < 1e-15);
    // Keep away from the walls of the box, where this flow is not tangential: air is there.
    let solid: Vec<f64> = (0..l.vertices.len()).map(|v| l.vertex(v as u32).dot(&normal) + 0.05).collect();
    let liquid: Vec<f64> = (0..l.cells()).map(|c| l.circumcentre(c as u32).norm() - 0.35).collect();
    let open = open_shares(&l, &solid).unwrap();
    let mut velocity = at_crossings(&l, |_| flow);
    let cut = Cut { lattice: &l, open: &open, liquid: &liquid, velocity: &velocity };
    let mut embedded = Embedded::new(&cut, |_| 0.0, |_| Vec3::zeros()).unwrap();
    embedded.project(1.0, &mut vec![0.0; l.cells()], 1e-11, &Cancel::new()).unwrap();
    embedded.store(&mut velocity);
    let mut known = vec![false; velocity.len()];
    embedded.faces.iter().for_each(|&f| known[f as usize] = true);
    let found = reconstruct(&l, &velocity, &known, 2).unwrap();
    for &c in &embedded.cells {
        assert!((found[c as usize] - flow).norm() < 1e-6, "{:?}", found[c as usize]);
    }
}

#[test]
fn a_flow_moves_to_a_new_lattice() {
    // In a steady rotation every point takes over the velocity of the place it came from, turned back by ω Δt.
    let motion = |x: &Vec3| Vec3::new(-x.y, x.x, 0.0);
    let old = lattice(3, |c| c.level < 2 || c.centre.x < 0.0);
    let edges = Edges::new(&old);
    let cells = (0..old.cells()).map(|c| motion(&old.circumcentre(c as u32))).collect();
    let field = LatticeVelocity::new(&old, &edges, cells).unwrap();
    let new = graded();
    let dt = 0.05f64;
    let carried = field.carry(&new, dt);
    let (s, c) = dt.sin_cos();
    let mut most = 0.0f64;
    for f in (0..carried.len()).filter(|&f| is_inner(&new.face_crossing(f))) {
        let x = new.face_crossing(f);
        let from = Vec3::new(x.x * c + x.y * s, x.y * c - x.x * s, x.z);
        most = most.max((carried[f] - motion(&from).dot(&new.area_vector(f).normalize())).abs());
    }
    // Means round vertices and edges are off by a part of a cell where sizes meet: 1/16 m times 1/s, at most.
    assert!(most < 0.02, "{most}");
}

#[test]
fn still_water_is_still_after_many_steps() {
    // Advection, gravity and pressure on a lattice whose steps cross the surface and a tilted floor.
    let l = graded();
    let edges = Edges::new(&l);
    let (dt, density, gravity) = (0.02, 1000.0, Vec3::new(0.0, -9.81, 0.0));
    let floor = Vec3::new(0.3, 1.0, 0.2).normalize();
    let solid: Vec<f64> = (0..l.vertices.len()).map(|v| l.vertex(v as u32).dot(&floor) + 0.3).collect();
    let liquid: Vec<f64> = (0..l.cells()).map(|c| l.circumcentre(c as u32).y - 0.0712).collect();
    let open = open_shares(&l, &solid).unwrap();
    let mut velocity = vec![0.0; l.faces.cells.len()];
    let mut pressure = vec![0.0; l.cells()];
    let mut known = vec![false; velocity.len()];
    for _ in 0..20 {
        let cells = reconstruct(&l, &velocity, &known, 2).unwrap();
        velocity = LatticeVelocity::new(&l, &edges, cells).unwrap().carry(&l, dt);
        let fall = |f: usize| dt * gravity.dot(&l.area_vector(f).normalize());
        velocity.iter_mut().enumerate().for_each(|(f, u)| *u += fall(f));
        let cut = Cut { lattice: &l, open: &open, liquid: &liquid, velocity: &velocity };
        let mut embedded = Embedded::new(&cut, |_| 0.0, |_| Vec3::zeros()).unwrap();
        // What a step leaves is what its solve tolerates, so that is kept below the gate.
        embedded.project(dt / density, &mut pressure, 2e-13, &Cancel::new()).unwrap();
        embedded.store(&mut velocity);
        embedded.faces.iter().for_each(|&f| known[f as usize] = true);
        let left = embedded.graph.velocity.iter().fold(0.0f64, |m, u| m.max(u.abs()));
        assert!(left < 1e-12 * gravity.norm().sqrt(), "{left}");
    }
}

#[test]
fn every_face_between_equal_cells_is_found_again() {
    let (old, new) = (graded(), graded());
    let edges = Edges::new(&old);
    let known = vec![true; old.faces.cells.len()];
    let faces = meniscus::linalg::cases::random_vector(known.len(), 6);
    let cells = reconstruct(&old, &faces, &known, 0).unwrap();
    let field = LatticeVelocity::new(&old, &edges, cells).unwrap();
    let from = held_by(&old, &new, |_| true);
    let carrier =
        Carrier { lattice: &old, field: &field, faces: &faces, known: &known, blend: 1.0, from: &from };
    let carried = carrier.carry(&new, 0.0, |_| true);
    // Where cells of two sizes meet the field alone counts.
    let regular: Vec<usize> = (0..faces.len()).filter(|f| new.is_regular(*f)).collect();
    let lost = regular.iter().filter(|f| (carried[**f] - faces[**f]).abs() > 1e-12).count();
    assert_eq!(lost, 0, "of {}", regular.len());
    assert!(2 * regular.len() > faces.len(), "{} of {}", regular.len(), faces.len());
}

#[test]
fn what_the_field_misses_does_not_grow_where_cells_of_two_sizes_meet() {
    // A uniform wind with noise on it. Every step may only damp the noise.
    let l = lattice(2, |c| c.level == 0 || c.centre.y > 0.0);
    let (edges, faces) = (Edges::new(&l), l.faces.cells.len());
    let known = vec![true; faces];
    let wind = Vec3::new(1.0, 0.0, 0.0);
    let noise = |f: usize| 0.01 * ((f as f64 * 0.7548776).fract() - 0.5);
    let along = |f: usize| wind.dot(&l.area_vector(f).normalize());
    let mut u: Vec<f64> = (0..faces).map(|f| along(f) + noise(f)).collect();
    let inner = |f: usize| is_inner(&l.face_crossing(f));
    let energy = |u: &[f64]| (0..faces).filter(|f| inner(*f)).map(|f| (u[f] - along(f)).powi(2)).sum::<f64>();
    let first = energy(&u);
    for _ in 0..60 {
        let cells = reconstruct(&l, &u, &known, 0).unwrap();
        let field = LatticeVelocity::new(&l, &edges, cells).unwrap();
        let carrier = Carrier { lattice: &l, field: &field, faces: &u, known: &known, blend: 1.0, from: &[] };
        // A tenth of the width of the finest cells a step.
        u = carrier.carry(&l, 0.1 * 0.0625, |_| true);
        // What blows in from the walls is no part of this.
        (0..faces).filter(|f| !inner(*f)).for_each(|f| u[f] = along(f));
    }
    assert!(energy(&u) < first, "{} of {first}", energy(&u));
}

/// How much of a standing wave's vertical velocity its surface reads if faces below it have that of the wave, 1 if all:
/// cells of 1/(4·2^depth) m about the surface, wider ones below.
fn read_at_surface(depth: u32, level: f64) -> f64 {
    let (k, width) = (std::f64::consts::PI, 0.25 / f64::from(1u32 << depth));
    let wave = |x: &Vec3| {
        let (sinh, cosh) = ((k * x.y).sinh(), (k * x.y).cosh());
        Vec3::new(cosh * (k * x.x).sin(), -sinh * (k * x.x).cos(), 0.0)
    };
    let l = box_of_one_metre(Vec3::zeros(), depth, |c| (c.centre.y - level).abs() < 3.0 * width + c.width);
    let wet = |c: u32| l.circumcentre(c).y < level;
    let known: Vec<bool> = l.faces.cells.iter().map(|c| wet(c[0]) || wet(c[1])).collect();
    let edges = Edges::new(&l);
    let at_cells = reconstruct(&l, &at_crossings(&l, wave), &known, 20).unwrap();
    let field = LatticeVelocity::new(&l, &edges, at_cells).unwrap();
    let sums = points(20_000).iter().fold([0.0; 2], |s, p| {
        let x = Vec3::new(p.x + 0.5, level, p.z + 0.5);
        let mode = (k * x.x).cos();
        [s[0] + mode * field.sample(&x).y, s[1] + mode * wave(&x).y]
    });
    sums[0] / sums[1]
}

#[test]
fn the_surface_of_a_wave_moves_as_the_wave_does() {
    // Water moves like e^{ky}. A constant continuation reads it off a good tenth of a cell of width w below and misses
    // more than kw/10; the surface lies at the same place between the planes of both lattices.
    for (depth, part) in [(3, 0.0), (3, 0.3), (3, 0.6), (4, 0.0), (4, 0.3), (4, 0.6)] {
        let width = 0.25 / f64::from(1u32 << depth);
        let missed = (1.0 - read_at_surface(depth, 0.5 + part * width)) / (std::f64::consts::PI * width);
        println!("cells of 1/{:.0} m, {part} of one up: {missed:.3} kw are missed", 1.0 / width);
        assert!(missed.abs() < 0.08, "{depth} {part}: {missed}");
    }
}

#[test]
fn a_drop_too_thin_for_a_gradient_is_continued_by_means() {
    // One cell across: whatever its faces have, nothing outside is faster than what is known inside.
    let l = lattice(2, |_| true);
    let wet = |c: u32| l.circumcentre(c).norm() < 0.05;
    let known: Vec<bool> = l.faces.cells.iter().map(|c| wet(c[0]) || wet(c[1])).collect();
    let velocity = at_crossings(&l, |x| Vec3::new(1.0 + 4.0 * x.y, 2.0 * x.z, -3.0 * x.x));
    let found = reconstruct(&l, &velocity, &known, 20).unwrap();
    let fastest = |inside: bool| {
        let of = |c: &usize| wet(*c as u32) == inside;
        (0..l.cells()).filter(of).map(|c| found[c].norm()).fold(0.0, f64::max)
    };
    assert!(fastest(false) < 1.25 * fastest(true), "{} {}", fastest(false), fastest(true));
}
