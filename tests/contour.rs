//! Surfaces of fields on tiles and on tets are closed, oriented, manifold, and where they should be.

use meniscus::geometry::{MeshReport, Shape, TriMesh, check};
use meniscus::grid::{NONE, Tiles, contour, contour_tets};
use meniscus::math::Vec3;

/// Numbers in [0,1) from a fixed sequence.
struct Dice(u64);
impl Dice {
    fn roll(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }
}

fn sample(tiles: &Tiles, f: impl Fn(Vec3) -> f64) -> Vec<f64> {
    (0..tiles.cells()).map(|p| f(tiles.centre(tiles.cell(p)))).collect()
}

fn block(lo: i32, hi: i32) -> Vec<[i32; 3]> {
    let span = || lo..=hi;
    span().flat_map(|z| span().flat_map(move |y| span().map(move |x| [x, y, z]))).collect()
}

fn euler_of(mesh: &TriMesh) -> MeshReport {
    let report = check(mesh);
    assert!(report.is_clean(), "{report:?}");
    report
}

#[test]
fn random_fields_give_closed_oriented_manifold_surfaces() {
    let mut dice = Dice(7);
    for round in 0..20 {
        // Some tiles are left out, so that the surface meets tiles that do not exist.
        let mut coords = block(-1, 1);
        coords.retain(|_| dice.roll() < 0.7);
        let tiles = Tiles::new(0.1, Vec3::new(0.3, -0.2, 0.1), false, coords);
        // From checkerboard noise with exact zeros to nearly all liquid.
        let level = 0.1 * (round % 10) as f64;
        let field: Vec<f64> = (0..tiles.cells())
            .map(|_| match dice.roll() {
                x if x < 0.02 => 0.0,
                x => (x - level) * 1e-3f64.powf(dice.roll()),
            })
            .collect();
        let surface = contour(&tiles, &field).unwrap();
        let report = check(&surface.mesh);
        assert!(report.is_clean(), "round {round}: {report:?}");
    }
}

#[test]
fn random_flat_fields_give_closed_slabs() {
    let mut dice = Dice(8);
    let tiles = Tiles::new(0.1, Vec3::zeros(), true, vec![[0, 0, 0], [1, 0, 0], [-1, -1, 0]]);
    for _ in 0..10 {
        let field: Vec<f64> = (0..tiles.cells()).map(|_| dice.roll() - 0.5).collect();
        let surface = contour(&tiles, &field).unwrap();
        assert!(check(&surface.mesh).is_clean());
        assert!(surface.places.iter().all(|p| *p != [NONE, NONE]));
    }
}

#[test]
fn a_pool_of_one_layer_is_a_slab_one_cell_thick() {
    let tiles = Tiles::new(0.1, Vec3::zeros(), true, vec![[0, 0, 0], [0, 1, 0], [1, 0, 0], [1, 1, 0]]);
    let disc = |x: Vec3| ((x.x - 0.8).powi(2) + (x.y - 0.8).powi(2)).sqrt() - 0.5;
    let mesh = contour(&tiles, &sample(&tiles, disc)).unwrap().mesh;
    euler_of(&mesh);
    let bounds = mesh.bounds();
    assert!((bounds.lo.z - 0.0).abs() < 1e-12 && (bounds.hi.z - 0.1).abs() < 1e-12);
    // The rim is bevelled over half a cell, so a little less than area times thickness.
    let full = std::f64::consts::PI * 0.25 * 0.1;
    assert!(mesh.volume() > 0.85 * full && mesh.volume() < full, "{} {full}", mesh.volume());
}

#[test]
fn the_volume_of_a_ball_and_a_ring_is_second_order() {
    let ring = Shape::torus(0.6, 0.25).unwrap();
    let ball = Shape::sphere(0.8).unwrap();
    for (shape, euler) in [(&ball, 2), (&ring, 0)] {
        let error = |cells: i32| {
            let n = cells / 8;
            let tiles = Tiles::new(2.0 / cells as f64, Vec3::repeat(0.013), false, block(-n / 2, n / 2));
            let mesh = contour(&tiles, &sample(&tiles, |x| shape.distance(&x))).unwrap().mesh;
            assert_eq!((euler_of(&mesh).euler, euler_of(&mesh).components), (euler, 1));
            (mesh.volume() / shape.volume() - 1.0).abs()
        };
        let (coarse, fine) = (error(32), error(64));
        assert!(fine < 0.01 && fine < 0.3 * coarse, "{coarse} {fine}");
    }
}

#[test]
fn a_plane_stays_a_plane_and_carries_linear_values_exactly() {
    let tiles = Tiles::new(0.1, Vec3::zeros(), false, block(0, 2));
    let normal = Vec3::new(0.3, 0.8, -0.5).normalize();
    let surface = contour(&tiles, &sample(&tiles, |x| normal.dot(&(x - Vec3::repeat(1.17))))).unwrap();
    let linear = |x: Vec3| Vec3::new(2.0 * x.x - x.y, x.z + 1.0, 3.0 - x.x);
    let field: Vec<Vec3> = (0..tiles.cells()).map(|p| linear(tiles.centre(tiles.cell(p)))).collect();
    let carried = surface.carry(&field);
    for (v, x) in surface.mesh.positions.iter().enumerate() {
        if surface.places[v].contains(&NONE) {
            continue;
        }
        // A crossing may be moved by the margin where the plane touches a cell centre.
        assert!(normal.dot(&(x - Vec3::repeat(1.17))).abs() < 1.1e-5);
        assert!((carried[v] - linear(*x)).norm() < 1e-13);
    }
    assert!(check(&surface.mesh).is_clean());
}

#[test]
fn one_thread_and_three_give_the_same_surface() {
    let tiles = Tiles::new(0.05, Vec3::zeros(), false, block(-2, 1));
    let field = sample(&tiles, |x| (7.0 * x.x).sin() + (9.0 * x.y).sin() + (8.0 * x.z).sin() - 0.3);
    let run = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| contour(&tiles, &field).unwrap())
    };
    assert!(run(1) == run(3));
}

#[test]
fn a_field_that_is_not_a_number_is_an_error() {
    let tiles = Tiles::new(1.0, Vec3::zeros(), false, vec![[0, 0, 0]]);
    let mut field = tiles.field(1.0);
    assert!(contour(&tiles, &field).unwrap().mesh.is_empty());
    field[73] = -1.0;
    field[74] = f64::NAN;
    assert!(contour(&tiles, &field).is_err());
    assert!(contour(&tiles, &field[1..]).is_err());
}

/// Six tets round the diagonal of each cube of an n³ lattice, every other one turned inside out.
fn lattice_tets(n: u32) -> (Vec<Vec3>, Vec<[u32; 4]>) {
    let at = |x: u32, y: u32, z: u32| (z * (n + 1) + y) * (n + 1) + x;
    let m = n + 1;
    let nodes =
        (0..m * m * m).map(|i| Vec3::new((i % m) as f64, (i / m % m) as f64, (i / m / m) as f64) / n as f64);
    let mut tets = Vec::new();
    for z in 0..n {
        for y in 0..n {
            for x in 0..n {
                for axes in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
                    let mut corner = [x, y, z];
                    let mut tet = [at(x, y, z); 4];
                    for (k, a) in axes.into_iter().enumerate() {
                        corner[a] += 1;
                        tet[k + 1] = at(corner[0], corner[1], corner[2]);
                    }
                    if (x + y) % 2 == 0 {
                        tet.swap(0, 1);
                    }
                    tets.push(tet);
                }
            }
        }
    }
    (nodes.collect(), tets)
}

#[test]
fn marching_tets_are_closed_and_face_outwards() {
    let (nodes, tets) = lattice_tets(16);
    let ball = |x: &Vec3| (x - Vec3::repeat(0.5)).norm() - 0.4;
    let phi: Vec<f64> = nodes.iter().map(ball).collect();
    let surface = contour_tets(&nodes, &tets, &phi).unwrap();
    assert_eq!(euler_of(&surface.mesh).euler, 2);
    let exact = 4.0 / 3.0 * std::f64::consts::PI * 0.064;
    assert!((surface.mesh.volume() / exact - 1.0).abs() < 0.02);
    // Random values inside, positive on the hull: as rough as it gets, still closed.
    let mut dice = Dice(9);
    let on_hull = |x: &Vec3| x.iter().any(|c| *c == 0.0 || *c == 1.0);
    let phi: Vec<f64> = nodes.iter().map(|x| if on_hull(x) { 1.0 } else { dice.roll() - 0.5 }).collect();
    assert!(check(&contour_tets(&nodes, &tets, &phi).unwrap().mesh).is_clean());
    assert!(contour_tets(&nodes, &[[0, 1, 2, 99_999]], &phi).is_err());
}
