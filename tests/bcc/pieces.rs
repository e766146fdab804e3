//! The pieces without a scene: one lattice, fields, one solve.

use meniscus::Cancel;
use meniscus::math::Vec3;
use meniscus::mesh::bcc::OctreeDomain;
use meniscus::solver::bcc::{Coupling, LatticeBlock, LatticeField, LatticeSolve, Seat};

/// A box of 1 m, its cells of three sizes; fine along a diagonal.
fn block() -> LatticeBlock {
    let domain = OctreeDomain {
        origin: Vec3::zeros(),
        roots: [4; 3],
        root_width: 0.25,
        depth: 2,
        periodic: false,
        max_leaves: 1 << 20,
    };
    let points: Vec<(Vec3, f64)> = (0..40).map(|i| (Vec3::repeat(f64::from(i) / 40.0), 0.0625)).collect();
    LatticeBlock::new(domain, Some(&points)).unwrap()
}

fn at(b: &LatticeBlock, seat: Seat, f: impl Fn(&Vec3) -> f64) -> Vec<f64> {
    b.positions(seat).iter().map(f).collect()
}

#[test]
fn still_water_between_tilted_walls_carries_its_weight() {
    let mut b = block();
    let (gravity, solve) =
        (Vec3::new(1.0, -9.0, 2.0), LatticeSolve { dt: 0.01, density: 1000.0, tolerance: 1e-13 });
    let up = -gravity.normalize();
    let depth = |x: &Vec3| (x - Vec3::repeat(0.52)).dot(&up);
    let wall = |x: &Vec3| (x - Vec3::new(0.21, 0.5, 0.5)).dot(&Vec3::new(1.0, 0.2, -0.3).normalize());
    b.set(LatticeField::LiquidDistance, at(&b, Seat::Vertex, depth), "liquid").unwrap();
    b.set(LatticeField::SolidDistance, at(&b, Seat::Vertex, wall), "solid").unwrap();
    let falls = b.normals().iter().map(|n| n.dot(&gravity) * solve.dt).collect();
    b.set(LatticeField::Velocity, falls, "velocity").unwrap();
    let (info, closed, unknowns) = b.project(&solve, &Cancel::new()).unwrap();
    assert!(info.unwrap().converged() && closed == 0 && unknowns > 500, "{closed} {unknowns}");
    let left = b.get(LatticeField::Velocity).iter().zip(b.known()).filter(|(_, k)| **k == 1);
    let most = left.map(|(u, _)| u.abs()).fold(0.0, f64::max);
    assert!(most <= 1e-12 * gravity.norm().sqrt(), "{most}");
    for (x, p) in b.positions(Seat::Cell).iter().zip(b.get(LatticeField::Pressure)) {
        let exact = -solve.density * gravity.norm() * depth(x);
        assert!(*p == 0.0 || (p - exact).abs() < 1e-6 * exact.abs().max(1.0), "{p} {exact}");
    }
}

#[test]
fn honey_that_turns_as_a_whole_goes_on_turning() {
    let mut b = block();
    let motion = |x: &Vec3| Vec3::new(0.1, 0.2, -0.1) + Vec3::new(0.5, -1.0, 0.8).cross(x);
    let drop = |x: &Vec3| (x - Vec3::repeat(0.5)).norm() - 0.3;
    b.set(LatticeField::LiquidDistance, at(&b, Seat::Vertex, drop), "liquid").unwrap();
    let turning: Vec<f64> =
        b.positions(Seat::Face).iter().zip(b.normals()).map(|(x, n)| motion(x).dot(&n)).collect();
    b.set(LatticeField::Velocity, turning.clone(), "velocity").unwrap();
    b.set(LatticeField::Viscosity, vec![1e4], "viscosity").unwrap();
    let solve = LatticeSolve { dt: 0.01, density: 1000.0, tolerance: 1e-12 };
    for coupling in [Coupling::Blend, Coupling::Flip, Coupling::Pic, Coupling::Faces] {
        let (info, unknowns) = b.thicken(&solve, coupling, false, &Cancel::new()).unwrap();
        assert!(info.is_some() && unknowns > 100);
        let change = b.get(LatticeField::Velocity).iter().zip(&turning).zip(b.known());
        let most = change.filter(|(_, k)| **k == 1).map(|((a, b), _)| (a - b).abs()).fold(0.0, f64::max);
        assert!(most < 1e-8, "{coupling:?}: {most}");
    }
}
