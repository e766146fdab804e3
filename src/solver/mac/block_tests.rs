//! Tests of the dense block: still water, two densities, moving borders, wrong fields.

use super::*;

const OPTIONS: BlockOptions =
    BlockOptions { scheme: Scheme::Area, dt: 0.02, tolerance: 1e-13, expansion: 0.0 };

/// A block with a ball in it, a tilted floor, and still water under a tilted gravity.
fn still(cells: [usize; 3]) -> (Block, Vec3) {
    let h = 1.0 / cells[0] as f64;
    let mut block = Block::new(cells, Vec3::new(-0.3, 0.2, 0.1), h).unwrap();
    let flat = block.axes() == 2;
    let g = Vec3::new(1.5, -9.0, if flat { 0.0 } else { 2.5 });
    let up = -g.normalize();
    let through = Vec3::new(0.2, 0.62, if flat { 0.1 + 0.5 * h } else { 0.45 });
    let surface: Vec<f64> =
        block.positions(Place::Centre).unwrap().iter().map(|x| (x - through).dot(&up)).collect();
    let floor = Vec3::new(0.3, 1.0, 0.0).normalize();
    let solid = |x: &Vec3| {
        let ball = (x - Vec3::new(0.3, 0.5, through.z)).norm() - 0.13;
        ball.min((x - Vec3::new(0.2, 0.3, 0.1)).dot(&floor))
    };
    let solid = block.positions(Place::Node).unwrap().iter().map(solid).collect();
    block.set(BlockField::LiquidDistance, surface, "liquid").unwrap();
    block.set(BlockField::SolidDistance, solid, "solid").unwrap();
    block.set(BlockField::Density, vec![800.0], "density").unwrap();
    for axis in 0..block.axes() {
        let u = vec![g[axis] * OPTIONS.dt; block.count(Place::Face(axis))];
        block.set(BlockField::Velocity(axis), u, "velocity").unwrap();
    }
    (block, g)
}

#[test]
fn still_water_stays_still_in_any_container_under_any_gravity() {
    for cells in [[16, 16, 1], [10, 12, 9]] {
        let (mut block, g) = still(cells);
        let (done, unknowns) = block.project(&OPTIONS, &Cancel::new()).unwrap();
        assert!(done.solve.unwrap().converged() && unknowns > 50 && done.closed_regions == 0);
        let weight = 800.0 * g.norm();
        for (cell, p) in block.get(BlockField::Pressure).iter().enumerate() {
            let depth = -block.get(BlockField::LiquidDistance)[cell];
            // Cells without a number have pressure 0. The rest is the tolerance times the condition
            // of the system, some hundreds.
            assert!(*p == 0.0 || (p - weight * depth).abs() < 1e-9 * weight, "{p} {}", weight * depth);
        }
        for axis in 0..block.axes() {
            let known = block.known(axis).iter().zip(block.get(BlockField::Velocity(axis)));
            let fastest = known.filter(|(k, _)| **k == 1).map(|(_, u)| u.abs()).fold(0.0, f64::max);
            assert!(fastest < 1e-9 * g.norm() * OPTIONS.dt, "{fastest}");
        }
    }
}

#[test]
fn an_interface_of_two_densities_stands_still() {
    // Light above heavy in a closed column; the face between accelerates as their mean.
    let mut block = Block::new([1, 8, 1], Vec3::zeros(), 0.1).unwrap();
    block.set(BlockField::LiquidDistance, vec![-1.0; 8], "liquid").unwrap();
    let rho: Vec<f64> = (0..8).map(|j| if j < 4 { 1000.0 } else { 1.0 }).collect();
    block.set(BlockField::Density, rho, "density").unwrap();
    block.set(BlockField::Velocity(1), vec![-9.81 * OPTIONS.dt; 9], "velocity").unwrap();
    // Coefficients that differ a thousandfold cost three digits of the residual.
    let options = BlockOptions { tolerance: 1e-11, ..OPTIONS };
    let (done, _) = block.project(&options, &Cancel::new()).unwrap();
    assert_eq!(done.closed_regions, 1);
    let p = block.get(BlockField::Pressure);
    for j in 0..7 {
        let rho = [1000.0, 1000.0, 1000.0, 500.5, 1.0, 1.0, 1.0][j];
        // Relative to the whole column, which is what the residual is measured by.
        assert!((p[j] - p[j + 1] - rho * 0.981).abs() < 1e-8 * 4000.0, "{j}");
    }
}

#[test]
fn a_moving_border_pushes_liquid_through_the_surface() {
    let mut block = Block::new([4, 4, 1], Vec3::zeros(), 1.0).unwrap();
    let y: Vec<f64> = block.positions(Place::Node).unwrap().iter().map(|x| x.y - 3.0).collect();
    block.set_liquid_at_nodes(&y, "liquid").unwrap();
    // The floor rises at 2 m/s, so everything does.
    let floor = (0..20).map(|f| if f < 4 { 2.0 } else { 0.0 }).collect();
    block.set(BlockField::SolidVelocity(1), floor, "solid velocity").unwrap();
    block.project(&OPTIONS, &Cancel::new()).unwrap();
    let v = block.get(BlockField::Velocity(1));
    assert!(v[..16].iter().all(|v| (v - 2.0).abs() < 1e-10), "{v:?}");
    assert_eq!(block.known(1)[..16], [1; 16]);
    assert_eq!(block.known(1)[16..], [0; 4]);
}

#[test]
fn wrong_fields_are_refused_by_name() {
    let mut block = Block::new([4, 4, 1], Vec3::zeros(), 1.0).unwrap();
    assert!(block.project(&OPTIONS, &Cancel::new()).unwrap_err().to_string().contains("liquid_distance"));
    let short = block.set(BlockField::SolidDistance, vec![0.0; 16], "solid_distance").unwrap_err();
    assert!(short.to_string().contains("25"), "{short}");
    assert!(block.set(BlockField::Velocity(2), vec![0.0; 32], "velocity_z").is_err());
    assert!(block.set(BlockField::Density, vec![0.0], "density").is_err());
    assert!(block.set(BlockField::Density, vec![f64::NAN], "density").is_err());
    assert!(Block::new([usize::MAX, 2, 1], Vec3::zeros(), 1.0).is_err());
    assert!(Block::new([1, 0, 1], Vec3::zeros(), 1.0).is_err());
    assert!(Block::new([4, 4, 1], Vec3::zeros(), 1e300).is_err());
}

#[test]
fn still_water_stays_still_by_volume_under_gravity_along_an_axis() {
    let options = BlockOptions { scheme: Scheme::Volume, ..OPTIONS };
    for (cells, level) in [([12, 12, 1], 0.53), ([12, 12, 1], 0.56), ([8, 10, 7], 0.61)] {
        let (mut block, _) = still(cells);
        let surface: Vec<f64> =
            block.positions(Place::Centre).unwrap().iter().map(|x| x.y - 0.2 - level).collect();
        block.set(BlockField::LiquidDistance, surface.clone(), "liquid").unwrap();
        for axis in 0..block.axes() {
            let g = if axis == 1 { -9.81 } else { 0.0 };
            let u = vec![g * options.dt; block.count(Place::Face(axis))];
            block.set(BlockField::Velocity(axis), u, "velocity").unwrap();
        }
        block.set(BlockField::SurfacePressure, vec![1e5], "surface").unwrap();
        let (done, unknowns) = block.project(&options, &Cancel::new()).unwrap();
        assert!(done.solve.unwrap().converged() && unknowns > 50);
        let h = 1.0 / cells[0] as f64;
        for (phi, p) in surface.iter().zip(block.get(BlockField::Pressure)) {
            // Cells that the surface cuts hold a mean; the bound on weights is a billionth of a cell.
            let exact = 1e5 - 800.0 * 9.81 * phi;
            assert!(*p == 0.0 || *phi > -0.5 * h - 1e-9 || (p - exact).abs() < 1e-7 * exact, "{p} {exact}");
        }
        for axis in 0..block.axes() {
            let known = block.known(axis).iter().zip(block.get(BlockField::Velocity(axis)));
            let fastest = known.filter(|(k, _)| **k == 1).map(|(_, u)| u.abs()).fold(0.0, f64::max);
            assert!(fastest < 1e-8 * 9.81 * options.dt, "{cells:?} {level}: {fastest}");
        }
    }
}

#[test]
fn both_schemes_agree_where_no_cell_is_cut() {
    // A column that is full to the top of its fourth cell, stirred.
    let solve = |scheme: Scheme| {
        let mut block = Block::new([6, 6, 1], Vec3::zeros(), 0.5).unwrap();
        // Closed on all sides and full: no surface, no solid, hence no cut.
        block.set(BlockField::LiquidDistance, vec![-1.0; 36], "liquid").unwrap();
        for axis in 0..2 {
            let u = (0..42).map(|i| ((7 * i + 3 * axis) % 11) as f64 - 5.0).collect();
            block.set(BlockField::Velocity(axis), u, "velocity").unwrap();
        }
        block.project(&BlockOptions { scheme, ..OPTIONS }, &Cancel::new()).unwrap();
        block.get(BlockField::Velocity(0)).to_vec()
    };
    let (area, volume) = (solve(Scheme::Area), solve(Scheme::Volume));
    // The numbers of both systems are the same; the sums that make the fractions may round.
    assert!(area.iter().zip(&volume).all(|(a, v)| (a - v).abs() < 1e-10));
}
