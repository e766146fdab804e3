//! Meshes as solids: still, thin, turning, tipping, deforming.

use meniscus::Cancel;
use meniscus::field::{Container, MovingMesh, Solid, SolidShape, Solids, Wall};
use meniscus::geometry::TriMesh;
use meniscus::grid::{DistanceParams, Kind, MeshDistance};
use meniscus::io::mesh;
use meniscus::math::elementary::{cos, sin};
use meniscus::math::{Aabb, Motion, Pose, Vec3};
use std::f64::consts::{FRAC_PI_2, TAU};
use std::sync::Arc;

fn params(cell: f64) -> DistanceParams {
    DistanceParams { cell, ..Default::default() }
}

fn moving(samples: Vec<(f64, TriMesh)>, cell: f64) -> MovingMesh {
    MovingMesh::from_samples("it", samples, &params(cell), &Cancel::new()).unwrap()
}

fn turned(mesh: &TriMesh, pose: &Pose) -> TriMesh {
    // Hosts give single precision.
    let place = |p: &Vec3| pose.to_world(p).map(|c| c as f32 as f64);
    TriMesh::new(mesh.positions.iter().map(place).collect(), mesh.triangles.clone())
}

fn about_y(angle: f64, translation: Vec3) -> Pose {
    Pose { rotation: Pose::from_euler_xyz(&Vec3::new(0.0, angle, 0.0)), translation }
}

/// A cup without thickness: bottom and wall of a cylinder, 70 mm wide and 90 mm high.
fn cup() -> TriMesh {
    const SIDES: u32 = 48;
    let mut mesh = TriMesh::new(vec![Vec3::zeros()], Vec::new());
    for i in 0..SIDES {
        let angle = TAU * i as f64 / SIDES as f64;
        let (x, z) = (0.035 * cos(angle), 0.035 * sin(angle));
        mesh.positions.extend([Vec3::new(x, 0.0, z), Vec3::new(x, 0.09, z)]);
        let [a, b] = [1 + 2 * i, 1 + 2 * ((i + 1) % SIDES)];
        mesh.triangles.extend([[0, a, b], [a, a + 1, b], [b, a + 1, b + 1]]);
    }
    mesh
}

#[test]
fn the_bunny_is_a_body() {
    let bunny = mesh::parse("bunny.obj", include_bytes!("../examples/scenes/models/bunny.obj")).unwrap();
    let size = bunny.bounds().size().max();
    let field = MeshDistance::new(&bunny, "bunny", &params(size / 64.0), &Cancel::new()).unwrap();
    assert!(!field.is_thin());
    assert!(field.field().iter().all(|d| d.is_finite()));
    // The volume by nodes inside agrees with that by the divergence theorem; the surface passes through
    // one node in ten, half of which fall on either side.
    let h = field.tiles().h();
    let lo = bunny.bounds().lo;
    let mut inside = 0usize;
    for k in 0..70 {
        for j in 0..70 {
            for i in 0..70 {
                let x = lo + Vec3::new(i as f64, j as f64, k as f64) * h;
                inside += (field.distance(&x) < 0.0) as usize;
            }
        }
    }
    let volume = inside as f64 * h * h * h;
    assert!((volume / bunny.volume().abs() - 1.0).abs() < 0.02, "{volume} {}", bunny.volume());
}

#[test]
fn models_of_many_sizes_have_the_distances_of_their_nearest_points() {
    // The bunny, and at more sizes whatever meshes a folder holds: MENISCUS_MODELS=FOLDER.
    let mut models =
        vec![("bunny".to_string(), include_bytes!("../examples/scenes/models/bunny.obj").to_vec())];
    let folder = std::env::var("MENISCUS_MODELS").ok();
    let sizes: &[f64] = if folder.is_some() { &[64.0, 128.0, 256.0, 512.0] } else { &[64.0, 160.0] };
    for entry in folder.iter().flat_map(|f| std::fs::read_dir(f).expect("a folder of models")) {
        let path = entry.unwrap().path();
        models.push((path.display().to_string(), std::fs::read(&path).unwrap()));
    }
    for (name, bytes) in &models {
        let kind = if bytes.starts_with(b"ply") { "model.ply" } else { "model.obj" };
        let model = mesh::parse(kind, bytes).unwrap();
        for across in sizes {
            let cell = model.bounds().size().max() / across;
            let start = std::time::Instant::now();
            let field = MeshDistance::new(&model, name, &params(cell), &Cancel::new()).unwrap();
            let taken = start.elapsed().as_secs_f64();
            assert!(!field.is_thin() && field.field().iter().all(|d| d.is_finite()));
            // The tree and the winding number know the distance of any point without the grid. Near a hole the
            // inside is a matter of degree, so that one node in a thousand may be on another side.
            let (mut next, mut sides, mut seen, mut worst) = (numbers(3), 0, 0, 0.0f64);
            while seen < 3000 {
                let place = ((next() + 1.0) * 0.5 * field.field().len() as f64) as usize;
                let d = field.field()[place.min(field.field().len() - 1)];
                if d.abs() < field.band() * 0.999 {
                    let exact = field.exact_distance(&field.tiles().corner(field.tiles().cell(place)));
                    worst = worst.max((exact.abs() - d.abs()).abs() / cell);
                    (sides, seen) = (sides + ((exact < 0.0) != (d < 0.0)) as usize, seen + 1);
                }
            }
            println!("{name} {across}: {worst:.1e} cells, {sides} of {seen} on another side, {taken:.2} s");
            assert!(worst < 1e-8 && sides <= 3, "{name} {across}: {worst} cells, {sides} sides");
        }
    }
}

#[test]
fn a_cup_holds_what_it_holds_and_a_leaf_has_a_plate_on_either_side() {
    let half = 0.003;
    let backed = |mesh: &TriMesh| {
        let params = DistanceParams { backing: half, ..params(0.004) };
        let distance = MeshDistance::new(mesh, "sheet", &params, &Cancel::new()).unwrap();
        let still = Pose::identity();
        let solids = vec![solid(Arc::new(distance), still, still, 1.0)];
        Solids::new(solids, None, [[false; 2]; 3], Wall::default()).thickened(half)
    };
    // The distance to the plate of a cup: inside it is that to the cup itself.
    let solids = backed(&cup());
    let mut next = numbers(11);
    for _ in 0..4000 {
        let x = Vec3::new(0.05 * next(), 0.05 * next() + 0.04, 0.05 * next());
        let radius = x.x.hypot(x.z);
        // Between the wall and the axis, well below the rim; 48 sides are within 0.08 mm of a circle.
        let d = solids.distance(&x, 0.05);
        let sag = 0.035 * (1.0 - cos(TAU / 96.0));
        if radius < 0.034 && x.y > 1e-3 && x.y < 0.07 {
            assert!((d - (0.035 - radius).min(x.y)).abs() < 1.1 * sag, "{x:?} {d}");
        }
        // Behind the wall there is solid for twice the half thickness, and beyond it the distance to that.
        if radius > 0.0355 && x.y > 0.01 && x.y < 0.08 {
            let behind = radius - 0.035;
            let exact =
                if behind < 2.0 * half { -behind.min(2.0 * half - behind) } else { behind - 2.0 * half };
            assert!((d - exact).abs() < 2.0 * sag, "{x:?} {d} {exact}");
        }
    }
    // Above the rim the plate ends in a roll, half a thickness high.
    let over = |y: f64| solids.distance(&Vec3::new(0.035 + half, 0.09 + y, 0.0), 0.05);
    assert!((over(0.01) - (0.01 - half)).abs() < 1e-4 && over(0.5 * half) < 0.0);
    let leaf = [[0.0, 0.0], [0.1, 0.0], [0.0, 0.1], [0.1, 0.1]].map(|[x, z]| Vec3::new(x, 0.0, z));
    let leaf = backed(&TriMesh::new(leaf.to_vec(), vec![[0, 1, 2], [2, 1, 3]]));
    for y in [-0.006, -0.001, 0.002, 0.009f64] {
        assert!((leaf.distance(&Vec3::new(0.04, y, 0.05), 0.05) - (y.abs() - half)).abs() < 1e-15);
    }
}

#[test]
fn a_whisk_given_eight_samples_a_turn_keeps_its_size() {
    let whisk = TriMesh::cuboid(Vec3::new(-0.1, 0.0, -0.01), Vec3::new(0.1, 0.02, 0.01));
    // It turns about its own axis while it is drawn through the liquid.
    let place = |k: f64| about_y(k * TAU / 8.0, Vec3::new(0.05 * k, 1.0, 2.0));
    let samples = (0..9).map(|k| (k as f64 / 8.0, turned(&whisk, &place(k as f64)))).collect();
    let mesh = moving(samples, 0.005);
    assert!(mesh.is_rigid() && !mesh.is_at_rest());
    for i in 0..80 {
        let t = (i as f64 + 0.5) / 80.0;
        let motion = mesh.motion_at(t);
        let tip = motion.pose.to_world(&turned(&whisk, &place(0.0)).positions[0]);
        // Single precision of coordinates about 2 is 1e-7.
        assert!((tip - place(8.0 * t).to_world(&whisk.positions[0])).norm() < 1e-6, "{t}");
        let speed = Vec3::new(0.4, 0.0, 0.0) + Vec3::y().cross(&(tip - place(8.0 * t).translation)) * TAU;
        assert!((motion.velocity_at(&tip) - speed).norm() < 1e-4);
    }
    assert_eq!(mesh.motion_at(5.0).angular, Vec3::zeros());
}

#[test]
fn a_door_swings_about_its_hinge() {
    let door = TriMesh::cuboid(Vec3::new(1.0, 0.0, -0.02), Vec3::new(2.0, 2.0, 0.02));
    for count in [2, 4] {
        let at = |k: usize| about_y(0.9 * k as f64 / (count - 1) as f64, Vec3::zeros());
        let mesh = moving((0..count).map(|k| (k as f64, turned(&door, &at(k)))).collect(), 0.05);
        for i in 0..20 {
            let t = i as f64 / 20.0 * (count - 1) as f64;
            let corner = mesh.motion_at(t).pose.to_world(&door.positions[7]);
            let radius = (corner.x * corner.x + corner.z * corner.z).sqrt();
            assert!((radius - 2f64.hypot(0.02)).abs() < 1e-6, "{count} samples at {t}: {radius}");
        }
    }
}

#[test]
fn a_mesh_that_swells_deforms_without_being_told() {
    let ball = |r: f64| TriMesh::icosphere(r, 2);
    let mesh = moving(vec![(0.0, ball(1.0)), (2.0, ball(1.5))], 0.1);
    assert!(!mesh.is_rigid());
    let shape = mesh.shape_at(0.5, 1.0, 0.5, &Cancel::new()).unwrap();
    let on = ball(1.25).positions[3];
    assert!(shape.distance(&on).abs() < 0.01);
    // The radius grows by 0.25 m a second.
    assert!((shape.deformation(&on) - on.normalize() * 0.25).norm() < 1e-9);
    // A point at rest that the surface passes during the step, and one that it does not reach.
    let (met, free) = (on.normalize() * 1.2, on.normalize() * 1.3);
    assert!(shape.path_crosses(&met, &met) && !shape.path_crosses(&free, &free));
}

#[test]
fn a_thing_that_turns_and_swells_keeps_its_shape_between_samples() {
    let bar = TriMesh::cuboid(Vec3::new(-1.0, -0.1, -0.1), Vec3::new(1.0, 0.1, 0.1));
    let sample = |k: usize| {
        let mut mesh = turned(&bar, &about_y(k as f64 * TAU / 8.0, Vec3::zeros()));
        mesh.positions.iter_mut().for_each(|p| *p *= 1.0 + 0.1 * k as f64);
        (k as f64, mesh)
    };
    let mesh = moving((0..5).map(sample).collect(), 0.1);
    assert!(!mesh.is_rigid());
    for t in [0.5, 1.25, 3.5] {
        let (at, velocities) = mesh.mesh_at(t);
        let scale = 1.0 + 0.1 * t;
        for (p, q) in at.positions.iter().zip(&bar.positions) {
            assert!((p.norm() - q.norm() * scale).abs() < 1e-6);
        }
        // The velocity is that of the positions.
        let (later, _) = mesh.mesh_at(t + 1e-6);
        for ((after, before), velocity) in later.positions.iter().zip(&at.positions).zip(&velocities) {
            assert!(((after - before) / 1e-6 - velocity).norm() < 1e-4);
        }
    }
}

#[test]
fn triangles_that_change_move_by_their_attribute() {
    let first = TriMesh::icosphere(1.0, 1);
    let mut second = TriMesh::icosphere(1.0, 2);
    let n = second.positions.len();
    let data = (0..n).flat_map(|_| [0.0, 2.0, 0.0]).collect();
    second.attributes.push(meniscus::geometry::Attribute { name: "velocity".into(), width: 3, data });
    let mesh = moving(vec![(0.0, first.clone()), (1.0, second.clone()), (2.0, first.clone())], 0.2);
    assert_eq!(mesh.mesh_at(0.5).0, first);
    let (at, velocities) = mesh.mesh_at(1.25);
    assert!((at.positions[0] - second.positions[0] - Vec3::y() * 0.5).norm() < 1e-12);
    assert_eq!(velocities[0], Vec3::y() * 2.0);
    assert_eq!(mesh.mesh_at(9.0).0, first);
    assert!(mesh.shape_at(0.9, 1.1, 0.2, &Cancel::new()).is_ok());
}

#[test]
fn nothing_leaves_a_tipping_cup_through_its_wall() {
    let cup = cup();
    let tip = |s: f64| Pose {
        rotation: Pose::from_euler_xyz(&Vec3::new(0.0, 0.0, -FRAC_PI_2 * s)),
        translation: Vec3::new(0.0, 0.05, 0.0),
    };
    let mesh = moving((0..9).map(|k| (k as f64 / 8.0, turned(&cup, &tip(k as f64 / 8.0)))).collect(), 0.0015);
    let shape = mesh.shape_at(0.0, 1.0, 1.0, &Cancel::new()).unwrap();
    assert!(shape.is_thin());
    // Points that drift at random, held wherever their path would pass the wall, stay in the cup unless
    // they leave by the open top.
    let mut state = 3u64;
    let mut next = || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    };
    let steps = 48;
    let mut stopped = 0;
    for _ in 0..300 {
        let mut local = Vec3::new(0.02 * next(), 0.095 + 0.04 * next(), 0.02 * next());
        let mut left = false;
        for n in 0..steps {
            let before = mesh.motion_at(n as f64 / steps as f64).pose;
            let after = mesh.motion_at((n + 1) as f64 / steps as f64).pose;
            let from = before.to_world(&local);
            let to = from + Vec3::new(next(), next(), next()) * 0.01;
            if shape.path_crosses(&local, &after.to_local(&to)) {
                stopped += 1;
            } else {
                local = after.to_local(&to);
            }
            // Coordinates of the first sample are those of the cup, lifted.
            left |= local.y > 0.05 + 0.09;
            let radius = local.x.hypot(local.z);
            assert!(left || (radius < 0.035 && local.y > 0.05), "leaked to {local}");
        }
    }
    assert!(stopped > 1000);
}

#[test]
fn a_fast_paddle_leaves_nothing_behind_it() {
    let paddle = TriMesh::new(
        vec![Vec3::zeros(), Vec3::new(1.0, 0.0, 0.0), Vec3::new(1.0, 1.0, 0.0), Vec3::new(0.0, 1.0, 0.0)],
        vec![[0, 1, 2], [0, 2, 3]],
    );
    let mesh = moving(
        (0..5).map(|k| (k as f64, turned(&paddle, &about_y(-0.4 * k as f64, Vec3::zeros())))).collect(),
        0.05,
    );
    let shape = mesh.shape_at(0.0, 1.0, 1.0, &Cancel::new()).unwrap();
    assert!(shape.is_thin());
    // Points at rest ahead of the paddle, whose tip goes 0.2 m a step, are all met exactly once.
    for i in 0..200 {
        let angle = 0.01 + 1.55 * i as f64 / 200.0;
        let x = Vec3::new(0.9 * cos(angle), 0.4, 0.9 * sin(angle));
        let local = |n: usize| mesh.motion_at(0.5 * n as f64).pose.to_local(&x);
        let met = (0..8).filter(|n| shape.path_crosses(&local(*n), &local(n + 1))).count();
        assert_eq!(met, 1, "{angle}");
    }
}

fn solid(shape: Arc<dyn SolidShape>, before: Pose, after: Pose, scale: f64) -> Solid {
    let motion = Motion::between(&before, &after, 0.1);
    Solid { name: "it".into(), shape, scale, motion, before, animated: true, wall: Wall::default() }
}

fn numbers(mut state: u64) -> impl FnMut() -> f64 {
    move || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    }
}

#[test]
fn solids_near_a_place_answer_there_like_all_of_them() {
    // With plates, and with sheets that have none.
    (0..2).for_each(|n| near_like_all(0.002 * n as f64));
}

fn near_like_all(half: f64) {
    let backed = DistanceParams { backing: half, ..params(0.003) };
    let cup = Arc::new(MeshDistance::new(&cup(), "cup", &backed, &Cancel::new()).unwrap());
    let ball = TriMesh::icosphere(0.02, 2);
    let ball = Arc::new(MeshDistance::new(&ball, "ball", &params(0.003), &Cancel::new()).unwrap());
    let flag = |x: f64| {
        TriMesh::new(
            vec![Vec3::new(0.0, 0.0, 0.0), Vec3::new(0.0, 0.1, 0.0), Vec3::new(x, 0.05, 0.1)],
            vec![[0, 1, 2]],
        )
    };
    let flag = moving(vec![(0.0, flag(0.0)), (1.0, flag(0.05))], 0.003);
    let flag = flag.shape_at(0.2, 0.6, 0.1, &Cancel::new()).unwrap();
    let place = |x: f64, angle: f64| about_y(angle, Vec3::new(x, 0.0, 0.0));
    let all = Solids::new(
        vec![
            solid(cup, place(0.0, 0.0), place(0.01, 0.3), 1.0),
            solid(ball.clone(), place(0.1, 0.0), place(0.1, 0.0), 1.5),
            solid(flag, Pose::identity(), Pose::identity(), 1.0),
        ],
        None,
        [[false; 2]; 3],
        Wall::default(),
    )
    .thickened(half);
    let mut next = numbers(5);
    let (mut crossed, mut apart) = (0, 0);
    for _ in 0..400 {
        let mut point = |size: f64| Vec3::new(next(), next(), next()) * size;
        let low = point(0.06) + Vec3::new(0.03, 0.03, 0.0);
        let here = Aabb::new(low, low.add_scalar(0.03));
        let near = all.near(&here, 0.01);
        for _ in 0..40 {
            let inside = |p: Vec3| here.centre() + p * 0.015;
            let (a, b) = (inside(point(1.0)), inside(point(1.0)));
            assert_eq!(all.distance(&a, 0.01), near.distance(&a, 0.01));
            assert_eq!(all.crosses(&a, &b), near.crosses(&a, &b));
            assert_eq!(all.path_crosses(&a, &b), near.path_crosses(&a, &b));
            crossed += all.path_crosses(&a, &b) as usize;
            apart += (all.path_crosses(&a, &b) != all.crosses(&a, &b)) as usize;
        }
    }
    // Enough of everything to mean something, also paths that only the motion bars.
    assert!(crossed > 300 && apart > 30, "{crossed} {apart}");
    assert_eq!(all.max_speed(), all.near(&Aabb::new(Vec3::zeros(), Vec3::zeros()), 0.0).max_speed());
}

#[test]
fn what_is_barred_stays_on_its_side_of_a_flapping_leaf() {
    // A square that folds to and fro along its diagonal, seen by points that drift at random.
    let leaf = |lift: f64| {
        TriMesh::new(
            vec![
                Vec3::new(-1.0, lift, -1.0),
                Vec3::new(1.0, 0.0, -1.0),
                Vec3::new(1.0, lift, 1.0),
                Vec3::new(-1.0, 0.0, 1.0),
            ],
            vec![[0, 3, 1], [1, 3, 2]],
        )
    };
    let samples = (0..9).map(|k| (k as f64, leaf(0.3 * sin(k as f64)))).collect();
    let mesh = moving(samples, 0.1);
    assert!(!mesh.is_rigid());
    let height = |t: f64| {
        let (mesh, _) = mesh.mesh_at(t);
        move |x: &Vec3| {
            // The leaf over the point: its two halves meet along x = z reversed.
            let [a, b, c] = mesh.corners(usize::from(x.x + x.z > 0.0));
            let n = (b - a).cross(&(c - a));
            (x - a).dot(&n) * n.y.signum()
        }
    };
    let mut next = numbers(11);
    let mut points: Vec<(Vec3, f64)> = (0..200)
        .map(|_| Vec3::new(0.4 * next(), 0.6 * next(), 0.4 * next()))
        .map(|x| (x, height(0.0)(&x).signum()))
        .collect();
    let mut barred = 0;
    for n in 0..64 {
        let [from, to] = [n, n + 1].map(|n| n as f64 / 8.0);
        let shape = mesh.shape_at(from, to, 0.1, &Cancel::new()).unwrap();
        let one = solid(shape, Pose::identity(), Pose::identity(), 1.0);
        let solids = Solids::new(vec![one], None, [[false; 2]; 3], Wall::default());
        let side = height(to);
        for (x, was) in &mut points {
            let drift = Vec3::new(0.0, 0.2 * next(), 0.0) - Vec3::new(x.x, 0.0, x.z) * 0.1;
            let end = *x + drift + Vec3::new(next(), 0.0, next()) * 0.05;
            let held = solids.barred(x, &end);
            barred += held.is_some() as usize;
            *x = held.unwrap_or(end);
            assert_eq!(side(x).signum(), *was, "step {n} at {x}");
        }
    }
    assert!(barred > 500, "{barred}");
}

#[test]
fn a_point_deep_in_a_mesh_knows_how_deep_and_the_way_out() {
    let ball = TriMesh::icosphere(1.0, 4);
    let shape = Arc::new(MeshDistance::new(&ball, "ball", &params(0.02), &Cancel::new()).unwrap());
    let solids = |shape: Arc<dyn SolidShape>| {
        let one = solid(shape, Pose::identity(), Pose::identity(), 2.0);
        Solids::new(vec![one], None, [[false; 2]; 3], Wall::default())
    };
    let ball = solids(shape.clone());
    let bottle = solids(Arc::new(Container(shape)));
    for r in [0.2, 1.0, 1.9, 1.97, 2.04, 3.0] {
        let direction = Vec3::new(0.48, 0.6, -0.64);
        let x = direction * r;
        // Faces of this ball, two metres in radius, sag by 3e-3; distances are cut off at the reach.
        let expected = |d: f64| if d < 0.0 { d } else { d.min(0.5) };
        assert!((ball.distance(&x, 0.5) - expected(r - 2.0)).abs() < 4e-3, "{r}");
        assert!((bottle.distance(&x, 0.5) - expected(2.0 - r)).abs() < 4e-3, "{r}");
        if r < 2.0 {
            assert!(ball.outward(&x, 0.01).dot(&direction) > 0.99, "{r}");
        } else {
            assert!(bottle.outward(&x, 0.01).dot(&direction) < -0.99, "{r}");
        }
    }
}

#[test]
fn changing_triangles_without_velocities_are_blended() {
    // A ball that grows by a tenth while its triangles are refined.
    let mesh = moving(vec![(0.0, TriMesh::icosphere(1.0, 3)), (1.0, TriMesh::icosphere(1.1, 4))], 0.05);
    let shape = mesh.shape_at(0.4, 0.5, 0.2, &Cancel::new()).unwrap();
    let direction = Vec3::new(0.48, 0.6, -0.64);
    // Faces sag by a hundredth at most.
    assert!(shape.distance(&(direction * 1.05)).abs() < 0.012);
    // A tenth a unit of time, of which half a unit is a second.
    let velocity = shape.deformation(&(direction * 1.05));
    assert!((velocity - direction * 0.05).norm() < 0.012, "{velocity}");
    assert!(shape.max_deformation() >= velocity.norm() && mesh.travel(0.4, 0.5) < 0.02);
    assert!(mesh.shape_at(0.9, 1.0, 0.2, &Cancel::new()).unwrap().distance(&(direction * 1.1)).abs() < 0.01);
}

#[test]
fn bad_samples_are_named() {
    let ball = TriMesh::icosphere(1.0, 1);
    let make = |samples| MovingMesh::from_samples("arm", samples, &params(0.1), &Cancel::new());
    let message = |samples| make(samples).map(|_| ()).unwrap_err().to_string();
    assert!(message(vec![]).contains("arm: has no samples"));
    assert!(message(vec![(1.0, ball.clone()), (1.0, ball.clone())]).contains("do not grow"));
    assert!(message(vec![(f64::NAN, ball.clone())]).contains("do not grow"));
    let mut bad = ball.clone();
    bad.positions[4].x = f64::NAN;
    assert!(message(vec![(0.0, ball.clone()), (0.5, bad)]).contains("arm at 0.5: vertex 4"));
    assert!(make(vec![(0.0, ball.clone()), (1.0, ball)]).unwrap().is_at_rest());
    let thin = DistanceParams { kind: Kind::Thin, ..params(0.1) };
    let leaf = TriMesh::new(vec![Vec3::zeros(), Vec3::x(), Vec3::y()], vec![[0, 1, 2]]);
    assert!(MeshDistance::new(&leaf, "leaf", &thin, &Cancel::new()).unwrap().is_thin());
}
