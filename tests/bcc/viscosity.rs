//! Viscosity on the graded lattice: what it leaves alone, what it keeps, how fast it damps, and what that costs.

use super::support::box_of_one_metre;
use meniscus::Cancel;
use meniscus::linalg::{SolveInfo, cases::random_vector};
use meniscus::math::{Mat3, Vec3};
use meniscus::mesh::bcc::{Lattice, Octree, OctreeDomain};
use meniscus::solver::bcc::{
    Coupling, Cut, Embedded, FaceViscosity, FacesToNodes, Hold, Moving, NodalViscosity, Thick, ThickOptions,
    open_shares, thicken,
};

/// A box of 1 m, cells of 1/16 m in one part and of 1/8 m in the other.
fn graded() -> Lattice {
    box_of_one_metre(Vec3::repeat(-0.5), 2, |c| c.level == 0 || c.centre.x + 0.4 * c.centre.y < 0.05)
}

/// A box of 1 m that repeats, with 4·2^depth cells along each side.
fn repeating(depth: u32) -> Lattice {
    let (origin, roots) = (Vec3::zeros(), [4; 3]);
    let domain = OctreeDomain { origin, roots, root_width: 0.25, depth, periodic: true, max_leaves: 1 << 22 };
    Lattice::new(Octree::new(domain, |_| true).unwrap()).unwrap()
}

fn at_vertices(l: &Lattice, f: impl Fn(&Vec3) -> f64) -> Vec<f64> {
    (0..l.vertices.len()).map(|v| f(&l.vertex(v as u32))).collect()
}

/// The step that has this μΔt/ρ, m².
fn options(spread: f64) -> ThickOptions {
    ThickOptions { dt: spread, density: 1.0, tolerance: 1e-10, draft: false }
}

/// Liquid with the given distance, nothing solid, a viscosity of one, and a step.
struct Drop {
    lattice: Lattice,
    liquid: Vec<f64>,
    solid: Vec<f64>,
    viscosity: Vec<f64>,
}

impl Drop {
    fn new(lattice: Lattice, liquid: impl Fn(&Vec3) -> f64) -> Self {
        let liquid = at_vertices(&lattice, liquid);
        let solid = vec![f64::INFINITY; liquid.len()];
        let viscosity = vec![1.0; lattice.tets.vertices.len()];
        Self { lattice, liquid, solid, viscosity }
    }

    fn thick(&self) -> Thick<'_> {
        Thick {
            lattice: &self.lattice,
            liquid: &self.liquid,
            solid: &self.solid,
            viscosity: &self.viscosity,
            given: None,
        }
    }

    fn system(&self, options: &ThickOptions) -> NodalViscosity<'_> {
        NodalViscosity::new(&self.thick(), options, |_| Hold::free()).unwrap()
    }
}

/// An egg of liquid across both sizes of cells.
fn egg() -> Drop {
    Drop::new(graded(), |x| x.component_mul(&Vec3::new(1.0, 1.3, 1.1)).norm() - 0.3)
}

fn any_vectors(n: usize, seed: u64) -> Vec<Vec3> {
    random_vector(3 * n, seed).chunks_exact(3).map(|c| Vec3::new(c[0], c[1], c[2])).collect()
}

/// Momentum and angular momentum over the density.
fn momenta(s: &NodalViscosity, v: &[Vec3]) -> [Vec3; 2] {
    let sum = |f: &dyn Fn(usize) -> Vec3| (0..v.len()).map(|i| f(i) * s.mass[i]).sum::<Vec3>();
    [sum(&|i| v[i]), sum(&|i| s.position(i).cross(&v[i]))]
}

#[test]
fn only_rigid_motions_feel_no_viscosity() {
    let mut drop = Drop::new(graded(), |x| (x - Vec3::new(0.05, 0.02, 0.0)).norm() - 0.17);
    // Any viscosity that is nowhere zero.
    let varied = random_vector(drop.viscosity.len(), 3);
    drop.viscosity.iter_mut().zip(varied).for_each(|(m, r)| *m = 1.0 + 0.9 * r);
    let s = drop.system(&options(1.0));
    let n = 3 * s.nodes.len();
    let mut k = nalgebra::DMatrix::<f64>::zeros(n, n);
    for column in 0..n {
        let mut v = vec![Vec3::zeros(); s.nodes.len()];
        v[column / 3][column % 3] = 1.0;
        let forces = s.forces(&v);
        (0..n).for_each(|row| k[(row, column)] = forces[row / 3][row % 3]);
    }
    let asymmetry = (&k - k.transpose()).amax();
    assert!(asymmetry < 1e-15 * k.amax() * 10.0, "{asymmetry}");
    // Scaled to a diagonal of one, since cut tets are light.
    let scale: Vec<f64> = (0..n).map(|i| 1.0 / k[(i, i)].sqrt()).collect();
    let scaled = nalgebra::DMatrix::from_fn(n, n, |i, j| k[(i, j)] * scale[i] * scale[j]);
    let mut values: Vec<f64> = scaled.symmetric_eigenvalues().iter().copied().collect();
    values.sort_by(f64::total_cmp);
    assert!(values[0] > -1e-12 && values[5] < 1e-12, "{:?}", &values[..7]);
    assert!(values[6] > 1e-4, "{:?}", &values[..8]);
}

#[test]
fn a_free_drop_keeps_its_momentum_and_its_spin() {
    let drop = egg();
    for spread in [1e-3, 1.0, 1e4] {
        let s = drop.system(&options(spread));
        let before = any_vectors(s.nodes.len(), 5);
        let (after, info) = s.solve(&before, 1e-12, &Cancel::new()).unwrap();
        assert!(info.converged(), "{info:?}");
        let [[p, l], [q, m]] = [momenta(&s, &before), momenta(&s, &after)];
        let size: f64 = s.mass.iter().sum();
        // The residual is what is lost; forces that cancel leave rounding times μΔt/ρh².
        let most = (1e-10 + 1e-13 * spread / 0.0625f64.powi(2)) * size;
        assert!((p - q).norm() < most && (l - m).norm() < most, "{spread}: {p} {q} {l} {m}");
    }
}

#[test]
fn the_thickest_drop_moves_like_a_rigid_body_after_one_step() {
    let drop = egg();
    let s = drop.system(&options(1e3));
    let before = any_vectors(s.nodes.len(), 7);
    let (after, info) = s.solve(&before, 1e-9, &Cancel::new()).unwrap();
    assert!(info.converged(), "{info:?}");
    // The rigid motion with the same momentum and angular momentum.
    let [p, l] = momenta(&s, &before);
    let total: f64 = s.mass.iter().sum();
    let middle: Vec3 = (0..s.nodes.len()).map(|i| s.position(i) * s.mass[i]).sum::<Vec3>() / total;
    let inertia: Mat3 = (0..s.nodes.len())
        .map(|i| {
            let x = s.position(i) - middle;
            (Mat3::identity() * x.norm_squared() - x * x.transpose()) * s.mass[i]
        })
        .sum();
    let spin = inertia.try_inverse().unwrap() * (l - middle.cross(&p));
    let worst = (0..s.nodes.len())
        .map(|i| (after[i] - p / total - spin.cross(&(s.position(i) - middle))).norm())
        .fold(0.0, f64::max);
    // What is left of other motions is of the order of ρL²/(μΔt).
    assert!(worst < 1e-4, "{worst}");
    // A step a million times longer still, about the thickest lava: it ends, and no motion has grown.
    let s = drop.system(&options(1e9));
    let (after, info) = s.solve(&before, 1e-6, &Cancel::new()).unwrap();
    let energy = |v: &[Vec3]| (0..v.len()).map(|i| s.mass[i] * v[i].norm_squared()).sum::<f64>();
    assert!(info.converged() && energy(&after) < energy(&before), "{info:?}");
}

/// The factor by which one step damps a shear wave of wave number 2π in a box that repeats.
fn damping(depth: u32, spread: f64) -> f64 {
    let lattice = repeating(depth);
    let drop = Drop::new(lattice, |_| -1.0);
    let s = drop.system(&options(spread));
    let wave = |i: usize| (std::f64::consts::TAU * s.position(i).y).sin();
    let before: Vec<Vec3> = (0..s.nodes.len()).map(|i| Vec3::new(wave(i), 0.0, 0.0)).collect();
    let (after, _) = s.solve(&before, 1e-11, &Cancel::new()).unwrap();
    let sum = |v: &[Vec3]| (0..v.len()).map(|i| v[i].x * wave(i)).sum::<f64>();
    sum(&after) / sum(&before)
}

#[test]
fn a_shear_wave_decays_at_its_rate_to_second_order() {
    // Ten steps of 1/(1 + νk²Δt) are the discrete e^(−νk²t): the rate is read off a step.
    let (k2, spread) = (std::f64::consts::TAU.powi(2), 0.01);
    let exact = 1.0 / (1.0 + k2 * spread);
    let errors = [1, 2, 3].map(|depth| (damping(depth, spread) - exact).abs() / exact);
    assert!(errors[2] < 2e-3, "{errors:?}");
    assert!(errors[0] / errors[1] > 3.4 && errors[1] / errors[2] > 3.4, "{errors:?}");
}

/// A layer between a tilted wall and a free surface parallel to it, neither on the lattice: half a wave across.
fn film_error(depth: u32) -> f64 {
    let lattice = box_of_one_metre(Vec3::repeat(-0.5), depth, |_| true);
    let up = Vec3::new(0.3, 1.0, -0.2).normalize();
    let (floor, height) = (-0.163, 0.35);
    let mut drop = Drop::new(lattice, |x| x.dot(&up) - floor - height);
    drop.solid = at_vertices(&drop.lattice, |x| x.dot(&up) - floor);
    let along = up.cross(&Vec3::x()).normalize();
    let q = 0.5 * std::f64::consts::PI / height;
    let spread = 0.5 / (q * q);
    let wave = |x: &Vec3| along * (q * (x.dot(&up) - floor)).sin();
    // Sides of the box move as the film should, so that only floor and surface are judged.
    let factor = 1.0 / (1.0 + q * q * spread);
    let side = |x: &Vec3| x.amax() > 0.499;
    (0..drop.solid.len()).filter(|v| side(&drop.lattice.vertex(*v as u32))).for_each(|v| {
        drop.solid[v] = drop.solid[v].min(0.0);
    });
    let hold = |v: u32| {
        let x = drop.lattice.vertex(v);
        Hold::stick(if x.dot(&up) > floor { wave(&x) * factor } else { Vec3::zeros() })
    };
    let s = NodalViscosity::new(&drop.thick(), &options(spread), hold).unwrap();
    let before: Vec<Vec3> = (0..s.nodes.len()).map(|i| wave(&s.position(i))).collect();
    let (after, _) = s.solve(&before, 1e-10, &Cancel::new()).unwrap();
    let inner = |i: &usize| {
        let (x, d) = (s.position(*i), s.position(*i).dot(&up) - floor);
        x.amax() < 0.3 && d > 0.0 && d < height
    };
    (0..after.len()).filter(inner).map(|i| (after[i] - before[i] * factor).norm()).fold(0.0, f64::max)
}

#[test]
fn a_film_on_a_tilted_wall_slows_down_as_it_should() {
    let errors = [2, 3].map(film_error);
    assert!(errors[1] < 0.03, "{errors:?}");
    assert!(errors[1] < 0.7 * errors[0], "{errors:?}");
}

#[test]
fn liquid_that_slides_along_a_wall_is_not_slowed_down_and_does_not_enter_it() {
    let lattice = graded();
    let normal = Vec3::new(0.2, 1.0, 0.1).normalize();
    let mut drop = Drop::new(lattice, |x| x.norm() - 0.35);
    drop.solid = at_vertices(&drop.lattice, |x| x.dot(&normal) + 0.1);
    let wall = Vec3::new(0.1, 0.3, -0.2);
    let s = NodalViscosity::new(&drop.thick(), &options(1e3), |_| Hold::slide(&[normal], wall)).unwrap();
    // Sliding over the wall while moving with it is a rigid motion.
    let motion = wall + normal.cross(&Vec3::z()) * 2.0;
    let (after, _) = s.solve(&vec![motion; s.nodes.len()], 1e-12, &Cancel::new()).unwrap();
    assert!(after.iter().all(|v| (v - motion).norm() < 1e-9));
    // Whatever comes in, liquid in the wall has the wall's velocity along the normal.
    let (after, _) = s.solve(&any_vectors(s.nodes.len(), 2), 1e-10, &Cancel::new()).unwrap();
    let held = |i: &usize| s.holds[*i] != Hold::free();
    assert!((0..after.len()).filter(held).count() > 100);
    assert!((0..after.len()).filter(held).all(|i| ((after[i] - wall).dot(&normal)).abs() < 1e-12));
}

#[test]
fn iterations_at_most_double_from_thin_to_thick() {
    let drop = egg();
    let count = |ratio: f64| {
        // μΔt/(ρh²) with the finest cell h.
        let s = drop.system(&options(ratio / 256.0));
        let (_, info): (_, SolveInfo) =
            s.solve(&any_vectors(s.nodes.len(), 1), 1e-6, &Cancel::new()).unwrap();
        assert!(info.converged(), "{info:?}");
        info.iterations
    };
    let counts = [1.0, 1e1, 1e2, 1e3, 1e4, 1e5].map(count);
    assert!(counts.iter().all(|&c| c <= 2 * counts[0]), "{counts:?}");
}

/// The faces of a drop that are known, and what the pressure takes as their masses.
fn faces_of(drop: &Drop) -> (Vec<bool>, Vec<f64>) {
    let l = &drop.lattice;
    let solid: Vec<f64> = drop.solid.iter().map(|s| s.min(1.0)).collect();
    let open = open_shares(l, &solid).unwrap();
    let faces = l.faces.cells.len();
    // The distance at a circumcentre from the tet that holds it.
    let of_cell = |c: u32| {
        let x = l.circumcentre(c);
        let tet = l.locate(&x);
        let shares = l.barycentric(tet, &x);
        (0..4).map(|k| shares[k] * drop.liquid[l.tets.vertices[tet][k] as usize]).sum()
    };
    let liquid: Vec<f64> = (0..l.cells() as u32).map(of_cell).collect();
    let velocity = vec![0.0; faces];
    let cut = Cut { lattice: l, open: &open, liquid: &liquid, velocity: &velocity };
    let embedded = Embedded::new(&cut, |_| 0.0, |_| Vec3::zeros()).unwrap();
    let (mut known, mut mass) = (vec![false; faces], vec![1.0; faces]);
    for (g, &f) in embedded.faces.iter().enumerate() {
        known[f as usize] = true;
        mass[f as usize] = embedded.graph.area[g] * embedded.graph.length[g];
    }
    (known, mass)
}

fn along_faces(l: &Lattice, known: &[bool], u: impl Fn(&Vec3) -> Vec3) -> Vec<f64> {
    let along = |f: usize| u(&l.face_crossing(f)).dot(&l.dual_edge(f).normalize());
    (0..known.len()).map(|f| if known[f] { along(f) } else { 0.0 }).collect()
}

#[test]
fn rigid_motion_passes_through_every_coupling() {
    let drop = egg();
    let (known, mass) = faces_of(&drop);
    let motion = |x: &Vec3| Vec3::new(0.3, -0.2, 0.5) + Vec3::new(1.0, 2.0, -0.7).cross(x);
    let before = along_faces(&drop.lattice, &known, motion);
    let s = drop.system(&options(1.0));
    let at_nodes = FacesToNodes::new(&drop.lattice, &known, &s).apply(&before);
    let worst =
        (0..at_nodes.len()).map(|i| (at_nodes[i] - motion(&s.position(i))).norm()).fold(0.0, f64::max);
    assert!(worst < 1e-12, "{worst}");
    for coupling in [Coupling::Blend, Coupling::Flip, Coupling::Pic, Coupling::Faces] {
        let mut after = before.clone();
        let moving = Moving { velocity: &mut after, known: &known, mass: &mass };
        let done = thicken(&drop.thick(), moving, |_| Hold::free(), coupling, &options(1.0), &Cancel::new())
            .unwrap();
        let change = after.iter().zip(&before).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        assert!(done.is_some() && change < 1e-8, "{coupling:?} {change} {done:?}");
    }
}

#[test]
fn forces_are_handed_back_to_faces_by_the_transpose() {
    let drop = egg();
    let (known, mass) = faces_of(&drop);
    let s = drop.system(&options(1.0));
    let to_nodes = FacesToNodes::new(&drop.lattice, &known, &s);
    let faces: Vec<f64> =
        random_vector(known.len(), 4).iter().zip(&known).map(|(r, k)| if *k { *r } else { 0.0 }).collect();
    let nodes = any_vectors(s.nodes.len(), 9);
    let there: f64 = to_nodes.apply(&faces).iter().zip(&nodes).map(|(a, b)| a.dot(b)).sum();
    let back: f64 = to_nodes.transpose(&nodes).iter().zip(&faces).map(|(a, b)| a * b).sum();
    assert!((there - back).abs() < 1e-10 * there.abs().max(1.0), "{there} {back}");
    // The kernel of H: patterns of faces that no vertex sees.
    let count = known.iter().filter(|k| **k).count();
    assert!(count > 3 * s.nodes.len(), "{count} faces, {} nodes", s.nodes.len());
    assert!(mass.iter().all(|m| *m > 0.0));
    let _ = FaceViscosity { system: &s, to_nodes: &to_nodes, mass: &mass };
}

#[test]
fn faces_can_move_vertices_any_way_and_otherwise_unseen() {
    let drop = Drop::new(graded(), |x| (x - Vec3::new(0.05, 0.02, 0.0)).norm() - 0.17);
    let (known, _) = faces_of(&drop);
    let s = drop.system(&options(1.0));
    let to_nodes = FacesToNodes::new(&drop.lattice, &known, &s);
    let n = 3 * s.nodes.len();
    // H Hᵀ has the rank of H and is as small as the vertices are few.
    let mut both = nalgebra::DMatrix::<f64>::zeros(n, n);
    for column in 0..n {
        let mut v = vec![Vec3::zeros(); s.nodes.len()];
        v[column / 3][column % 3] = 1.0;
        let back = to_nodes.apply(&to_nodes.transpose(&v));
        (0..n).for_each(|row| both[(row, column)] = back[row / 3][row % 3]);
    }
    let values = both.symmetric_eigenvalues();
    let rank = values.iter().filter(|v| **v > 1e-10 * values.amax()).count();
    let faces = known.iter().filter(|k| **k).count();
    // So the kernel of H, which viscosity leaves alone, is what faces have more than vertices: 455 of 1205 here.
    println!("{faces} faces, {n} numbers at vertices, rank {rank}, kernel {}", faces - rank);
    assert!(rank == n && faces > n, "{faces} faces, rank {rank} of {n}");
}

#[test]
fn all_couplings_damp_a_smooth_wave_alike() {
    let (k, spread) = (std::f64::consts::TAU, 0.01);
    let drop = Drop::new(repeating(2), |_| -1.0);
    let l = &drop.lattice;
    let (known, mass) = (vec![true; l.faces.cells.len()], {
        let of = |f: usize| l.area_vector(f).norm() * l.dual_edge(f).norm();
        (0..l.faces.cells.len()).map(of).collect::<Vec<_>>()
    });
    let before = along_faces(l, &known, |x| Vec3::new((k * x.y).sin(), 0.0, 0.0));
    let exact = 1.0 / (1.0 + k * k * spread);
    for coupling in [Coupling::Blend, Coupling::Flip, Coupling::Pic, Coupling::Faces] {
        let mut after = before.clone();
        let moving = Moving { velocity: &mut after, known: &known, mass: &mass };
        let done =
            thicken(&drop.thick(), moving, |_| Hold::free(), coupling, &options(spread), &Cancel::new());
        let sum = |u: &[f64]| (0..u.len()).map(|f| mass[f] * u[f] * before[f]).sum::<f64>();
        let found = sum(&after) / sum(&before);
        println!("{coupling:?} {found} of {exact}: {done:?}");
        assert!((found / exact - 1.0).abs() < 0.05, "{coupling:?} {found} {exact}");
    }
}
