//! What liquid carries from its source: colours, age, viscosity, and which liquid it is.

use meniscus::error::{Error, Result};
use meniscus::geometry::{Attribute, TriMesh};
use meniscus::math::Vec3;
use meniscus::scene::Scene;
use meniscus::simulation::{GeometryOf, Settings, Simulation};
use serde_json::{Value, json};
use std::collections::BTreeMap;

fn build(scene: &Value, mesh: Option<&TriMesh>) -> Result<Simulation> {
    let scene = Scene::from_json(&scene.to_string())?;
    let meshes = |file: &str| mesh.cloned().ok_or_else(|| Error::geometry(file, "no such mesh"));
    Simulation::new(&scene, &meshes, &Settings { threads: Some(2), ..Settings::default() })
}

fn advance(sim: &mut Simulation, frames: usize) {
    for _ in 0..frames {
        sim.advance_frame(&mut |_| false).unwrap();
    }
}

fn column(attributes: &[Attribute], name: &str) -> (usize, Vec<f32>) {
    let found = attributes.iter().find(|a| a.name == name).unwrap_or_else(|| panic!("no {name}"));
    (found.width, found.data.clone())
}

/// A tank with a red and a blue column of water at its ends.
fn two_columns() -> Value {
    json!({"meniscus": 1, "frames": [0, 20], "fps": 50,
        "domain": {"min": [0, 0, 0], "max": [0.48, 0.32, 0.12]}, "resolution": {"cell": 0.02},
        "outputs": {"attributes": ["age", "phase"]},
        "liquids": [{"name": "a", "viscosity": 0.001}, {"name": "b", "viscosity": 0.001}],
        "initial": [
            {"shape": {"box": {"min": [0, 0, 0], "max": [0.12, 0.24, 0.12]}}, "attributes": {"Cd": [1, 0, 0]}},
            {"liquid": "b", "shape": {"box": {"min": [0.36, 0, 0], "max": [0.48, 0.24, 0.12]}},
             "attributes": {"Cd": [0, 0, 1]}}]})
}

#[test]
fn colours_and_liquids_stay_with_their_particles_while_water_mixes() {
    let mut sim = build(&two_columns(), None).unwrap();
    let of = |sim: &Simulation| -> BTreeMap<u64, (Vec<f32>, f32)> {
        let all = sim.particle_attributes();
        let ((_, colour), (_, phase)) = (column(&all, "Cd"), column(&all, "phase"));
        let row = |(i, id): (usize, u64)| (id, (colour[3 * i..3 * i + 3].to_vec(), phase[i]));
        sim.particles().ids().into_iter().enumerate().map(row).collect()
    };
    let before = of(&sim);
    assert_eq!(before.len(), sim.particles().len());
    advance(&mut sim, 15);
    assert_eq!(of(&sim), before);
    let red = |v: &(Vec<f32>, f32)| v.0 == [1.0, 0.0, 0.0] && v.1 == 0.0;
    let blue = |v: &(Vec<f32>, f32)| v.0 == [0.0, 0.0, 1.0] && v.1 == 1.0;
    assert!(before.values().all(|v| red(v) || blue(v)));
    // They have met in the middle, where the surface is neither red nor blue.
    let surface = sim.surface().unwrap();
    let (width, colour) = column(&surface.attributes, "Cd");
    assert_eq!((width, colour.len()), (3, 3 * surface.positions.len()));
    let bounded = |c: &[f32]| c.iter().all(|v| (-1e-6..=1.0 + 1e-6).contains(v));
    assert!(
        bounded(&colour) && colour.chunks(3).all(|c| (c[0] + c[2] - 1.0).abs() < 1e-5 && c[1].abs() < 1e-6)
    );
    assert!(colour.chunks(3).any(|c| (0.2..0.8).contains(&c[0])));
    let (_, phase) = column(&surface.attributes, "phase");
    assert!(phase.iter().all(|p| *p == 0.0 || *p == 1.0));
    let left = surface.positions.iter().zip(&phase).filter(|(x, _)| x.x < 0.02).map(|(_, p)| *p);
    assert_eq!(left.fold(0.0, f32::max), 0.0);
}

#[test]
fn liquid_tells_how_long_ago_it_came_in() {
    let scene = json!({"meniscus": 1, "frames": [0, 20], "fps": 50, "gravity": [0, 0, 0],
        "domain": {"min": [0, 0, 0], "max": [0.3, 0.16, 0.16], "sides": {"x_max": "open"}},
        "resolution": {"cell": 0.02}, "outputs": {"attributes": ["age"]}, "liquids": [{"name": "w"}],
        "emitters": [{"shape": {"box": {"min": [0.02, 0.04, 0.04], "max": [0.06, 0.12, 0.12]}},
            "velocity": [0.5, 0, 0], "attributes": {"heat": {"keys": [[0, 0], [10, 10]]}}}]});
    let mut sim = build(&scene, None).unwrap();
    advance(&mut sim, 10);
    let all = sim.particle_attributes();
    let ((_, age), (_, heat)) = (column(&all, "age"), column(&all, "heat"));
    assert!(age.iter().fold(0.0f32, |m, a| m.max(*a)) > 0.19);
    // A jet at half a metre a second: what is further along is older, and left when heat had that value.
    for ((x, age), heat) in sim.particles().position.iter().zip(&age).zip(&heat) {
        let way = (x.x - 0.06).max(0.0) / 0.5;
        assert!(f64::from(*age) >= way - 0.03 && *age <= 0.2 + 1e-6, "{age} at {x:?}");
        // Keys are read at the end of a substep; a frame takes a fiftieth of a second.
        assert!((f64::from(*heat) - 50.0 * (0.2 - f64::from(*age))).abs() < 1.01, "{heat} at age {age}");
    }
}

/// A box with a viscosity at its vertices: thick where x is low.
fn painted_box() -> TriMesh {
    let mut mesh = TriMesh::cuboid(Vec3::new(0.16, 0.0, 0.08), Vec3::new(0.32, 0.12, 0.16));
    let data = mesh.positions.iter().map(|x| if x.x < 0.2 { 500.0 } else { 0.0 }).collect();
    mesh.attributes = vec![Attribute { name: "viscosity".into(), width: 1, data }];
    mesh
}

#[test]
fn liquid_is_thick_where_its_mesh_was_painted_thick() {
    let scene = json!({"meniscus": 1, "frames": [0, 20], "fps": 50,
        "domain": {"min": [0, 0, 0], "max": [0.48, 0.2, 0.24]}, "resolution": {"cell": 0.01},
        "liquids": [{"name": "w"}], "initial": [{"shape": {"mesh": {"file": "box.ply"}}}]});
    let mut sim = build(&scene, Some(&painted_box())).unwrap();
    // Linear along the box: 500 Pa·s on the left end, 0 on the right one.
    let (_, mu) = column(&sim.particle_attributes(), "viscosity");
    for (x, mu) in sim.particles().position.iter().zip(&mu) {
        // Points near the ends are nearest to these, all others to a long side.
        let inner = 0.12 - x.y.max(0.0) > x.x - 0.16 && x.x - 0.16 < 0.03;
        if !inner && x.x < 0.27 {
            let exact = 500.0 * (0.32 - x.x) / 0.16;
            assert!((f64::from(*mu) - exact).abs() < 0.35 * exact, "{mu} for {exact} at {x:?}");
        }
    }
    advance(&mut sim, 10);
    let x: Vec<f64> = sim.particles().position.iter().map(|x| x.x).collect();
    let (low, high) = x.iter().fold((1.0f64, 0.0f64), |(l, h), x| (l.min(*x), h.max(*x)));
    // In a fifth of a second the thin end runs a few box lengths, the thick end stands.
    assert!(0.16 - low < 0.01, "{low}");
    assert!(high - 0.32 > 0.08, "{high}");
}

/// A jet along x from a box whose mesh is sent by the host, painted with `heat` at its two ends, and with a name that came
/// too late. At frame f the paint is 10 f at the back and 10 f + 5 at the front.
fn jet() -> (Value, impl Fn(f64) -> TriMesh) {
    let scene = json!({"meniscus": 1, "frames": [0, 20], "fps": 50, "gravity": [0, 0, 0],
        "domain": {"min": [0, 0, 0], "max": [0.3, 0.16, 0.16], "sides": {"x_max": "open"}},
        "resolution": {"cell": 0.02}, "outputs": {"attributes": ["age"]}, "liquids": [{"name": "w"}],
        "emitters": [{"name": "tap", "shape": {"mesh": {"file": "tap"}}, "velocity": [0.5, 0, 0]}]});
    let mesh = |frame: f64| {
        let mut mesh = TriMesh::cuboid(Vec3::new(0.02, 0.04, 0.04), Vec3::new(0.06, 0.12, 0.12));
        let of = |x: &Vec3| (10.0 * frame + if x.x > 0.04 { 5.0 } else { 0.0 }) as f32;
        let data: Vec<f32> = mesh.positions.iter().map(of).collect();
        if frame > 0.0 {
            mesh.attributes.push(Attribute { name: "late".into(), width: 1, data: data.clone() });
        }
        mesh.attributes.push(Attribute { name: "heat".into(), width: 1, data });
        mesh
    };
    (scene, mesh)
}

#[test]
fn paint_that_changes_with_the_frame_is_carried_from_the_moment_at_which_liquid_comes_in() {
    let (scene, mesh) = jet();
    let feed = |sim: &mut Simulation, frame: i64, until: i64| {
        let samples = (frame..=until).map(|f| (f as f64, mesh(f as f64))).collect();
        sim.set_geometry(GeometryOf::Emitter, "tap", samples).unwrap();
    };
    let mut sim = build(&scene, Some(&mesh(0.0))).unwrap();
    let mut saved = Vec::new();
    for frame in 0..10 {
        if frame == 6 {
            saved = sim.save();
        }
        feed(&mut sim, frame, frame + 1);
        advance(&mut sim, 1);
    }
    let all = sim.particle_attributes();
    assert!(all.iter().all(|a| a.name != "late"));
    let ((_, age), (_, heat)) = (column(&all, "age"), column(&all, "heat"));
    let came: Vec<f64> = age.iter().map(|a| 10.0 * 50.0 * (0.2 - f64::from(*a))).collect();
    for (came, heat) in came.iter().zip(&heat) {
        // Up to 5 along the box, and the age of a substep: a frame of 10.
        let late = f64::from(*heat) - came;
        assert!((-10.1..5.1 + 10.1).contains(&late), "{heat}, came in at {came}");
    }
    assert!(came.iter().fold(0.0f64, |m, c| m.max(*c)) > 80.0);
    // Along the jet the front is the older liquid: it is cooler.
    let at = |low: f64, high: f64| {
        let within = sim.particles().position.iter().zip(&heat).filter(|(x, _)| (low..high).contains(&x.x));
        let (sum, count) = within.fold((0.0, 0), |(s, n), (_, h)| (s + f64::from(*h), n + 1));
        sum / f64::from(count)
    };
    assert!(at(0.06, 0.08) > at(0.1, 0.12) + 20.0, "{} {}", at(0.06, 0.08), at(0.1, 0.12));
    // A state that is loaded among the meshes of its frame goes on to the same bits.
    let mut again = build(&scene, Some(&mesh(0.0))).unwrap();
    feed(&mut again, 5, 6);
    again.load(&saved).unwrap();
    for frame in 6..10 {
        feed(&mut again, frame, frame + 1);
        advance(&mut again, 1);
    }
    assert_eq!(again.save(), sim.save());
}

#[test]
fn water_slides_on_where_a_floor_is_smooth_and_stops_where_it_was_painted_rough() {
    let scene = json!({"meniscus": 1, "frames": [0, 20], "fps": 50,
        "domain": {"min": [0, 0, 0], "max": [0.64, 0.16, 0.32]}, "resolution": {"cell": 0.02},
        "liquids": [{"name": "w"}],
        "initial": [{"shape": {"box": {"min": [0.04, 0.04, 0.0], "max": [0.2, 0.08, 0.32]}}, "velocity": [1, 0, 0]}],
        "colliders": [{"name": "floor", "wall": "slide", "shape": {"mesh": {"file": "floor"}}}]});
    // Two boxes side by side, with a friction of their own each.
    let floor = |left: f32, right: f32| {
        let mut mesh = TriMesh::cuboid(Vec3::new(-0.1, -0.04, -0.1), Vec3::new(0.74, 0.04, 0.16));
        mesh.append(&TriMesh::cuboid(Vec3::new(-0.1, -0.04, 0.16), Vec3::new(0.74, 0.04, 0.42)));
        let data = (0..mesh.positions.len()).map(|v| if v < 8 { left } else { right }).collect();
        mesh.attributes.push(Attribute { name: "friction".into(), width: 1, data });
        mesh
    };
    // How far the water near the two sides has come on average.
    let ends = |sim: &Simulation| {
        let mean = |side: &dyn Fn(f64) -> bool| {
            let own: Vec<f64> = sim.particles().position.iter().filter(|x| side(x.z)).map(|x| x.x).collect();
            own.iter().sum::<f64>() / own.len() as f64
        };
        [mean(&|z| z < 0.08), mean(&|z| z > 0.24)]
    };
    let run = |mesh: &TriMesh, friction: f64| {
        let mut scene = scene.clone();
        scene["colliders"][0]["friction"] = json!(friction);
        let mut sim = build(&scene, Some(mesh)).unwrap();
        advance(&mut sim, 8);
        ends(&sim)
    };
    let none = f32::NAN;
    let ([held, free], smooth, rough) =
        (run(&floor(0.5, 0.0), 0.25), run(&floor(0.0, 0.0), 0.25), run(&floor(0.5, none), 0.5));
    // Painted evenly it is the number of the scene, which also holds where nothing is painted.
    let mut plain = floor(0.0, 0.0);
    plain.attributes.clear();
    for (painted, given) in [(smooth, run(&plain, 0.0)), (rough, run(&plain, 0.5))] {
        assert!((0..2).all(|i| (painted[i] - given[i]).abs() < 1e-9), "{painted:?} {given:?}");
    }
    // In 0.16 s water without friction comes 0.16 m, from a mean of 0.12 m.
    assert!(smooth[1] > 0.25 && rough[0] < smooth[0] - 0.02, "{smooth:?} {rough:?}");
    assert!(free - held > 0.5 * (smooth[1] - rough[0]), "{held} {free} {smooth:?} {rough:?}");
}

#[test]
fn liquid_sets_as_it_ages_and_a_saved_run_goes_on_alike() {
    let scene = json!({"meniscus": 1, "frames": [0, 20], "fps": 50,
        "domain": {"min": [0, 0, 0], "max": [0.24, 0.2, 0.12]}, "resolution": {"cell": 0.02},
        "outputs": {"attributes": ["viscosity", "age"]},
        "liquids": [{"name": "wax", "viscosity_by_age": [[0.02, 0.1], [0.06, 1000]]}],
        "initial": [{"shape": {"box": {"min": [0, 0, 0], "max": [0.08, 0.16, 0.12]}}}]});
    let mut sim = build(&scene, None).unwrap();
    let thickness = |sim: &Simulation| column(&sim.particle_attributes(), "viscosity").1;
    assert!(thickness(&sim).iter().all(|mu| (mu - 0.1).abs() < 1e-6));
    advance(&mut sim, 2);
    // Half way from 0.1 to 1000 on a scale of powers.
    assert!(thickness(&sim).iter().all(|mu| (mu - 10.0).abs() < 1e-3), "{:?}", thickness(&sim)[0]);
    let saved = sim.save();
    advance(&mut sim, 3);
    assert!(thickness(&sim).iter().all(|mu| (mu - 1000.0).abs() < 1e-1));
    let mut again = build(&scene, None).unwrap();
    again.load(&saved).unwrap();
    advance(&mut again, 3);
    assert_eq!(again.save(), sim.save());
    // Set wax creeps: even a free column would sink no faster than ρgH²/6μ [Trouton], and water would fall at 1 m/s.
    let creeping = 1000.0 * 9.81 * 0.16f64.powi(2) / 6000.0;
    assert!(sim.report().max_speed < creeping, "{}", sim.report().max_speed);
}

#[test]
fn attributes_that_cannot_be_are_named() {
    let refused = |attributes: [Value; 2]| {
        let mut scene = two_columns();
        for (i, value) in attributes.into_iter().enumerate() {
            scene["initial"][i]["attributes"] = value;
        }
        build(&scene, None).err().expect("refused").to_string()
    };
    let text = refused([json!({"heat": 1}), json!({"heat": [1, 2, 3]})]);
    assert!(text.contains("heat") && text.contains("initial_2"), "{text}");
    assert!(refused([json!({"velocity": 1}), json!({})]).contains("initial[0].attributes.velocity"));
    assert!(refused([json!({"viscosity": -1}), json!({})]).contains("initial[0].attributes.viscosity"));
    assert!(refused([json!({}), json!({"a b": 1})]).contains("letters"));
    assert!(refused([json!({"heat": "hot"}), json!({})]).contains("number"));
}
