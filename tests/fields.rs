//! Fields that were computed elsewhere: distances as liquid, velocity, viscosity and forces, from files and sent frame by frame.

use meniscus::field::DenseField;
use meniscus::io::{mesh, nrrd};
use meniscus::math::{Mat3, Vec3};
use meniscus::scene::Scene;
use meniscus::simulation::{FieldFiles, Settings, Simulation};
use std::sync::Arc;

/// A field over the unit cube, a little larger, with `cells` steps a side.
fn field(width: usize, cells: usize, f: impl Fn(&Vec3) -> Vec3) -> DenseField {
    let (h, origin) = (1.2 / cells as f64, Vec3::repeat(-0.1));
    let mut values = Vec::new();
    for n in 0..(cells + 1).pow(3) {
        let at = [n % (cells + 1), n / (cells + 1) % (cells + 1), n / (cells + 1).pow(2)];
        let x = origin + Vec3::new(at[0] as f64, at[1] as f64, at[2] as f64) * h;
        values.extend(f(&x).iter().take(width).map(|v| *v as f32));
    }
    DenseField::new("test", [cells + 1; 3], width, origin, Mat3::identity() * h, values).expect("a field")
}

fn try_with(json: &str, files: &[(&str, DenseField)]) -> meniscus::Result<Simulation> {
    let fields: FieldFiles = files.iter().map(|(n, f)| (n.to_string(), Arc::new(f.clone()))).collect();
    let settings = Settings { threads: Some(2), fields, ..Settings::default() };
    let meshes = |file: &str| {
        let mut bytes = Vec::new();
        nrrd::write(&settings.fields[file], &mut bytes).expect("bytes");
        mesh::parse(file, &bytes)
    };
    Simulation::new(&Scene::from_json(json)?, &meshes, &settings)
}

/// A ball of liquid without weight in a cube of 1 m, and what else is asked for.
fn ball(more: &str) -> String {
    format!(
        r#"{{"meniscus": 1, "frames": [1, 20], "gravity": [0, 0, 0], "resolution": {{"divisions": 16}},
            "domain": {{"min": [0, 0, 0], "max": [1, 1, 1]}},
            "initial": [{{"shape": {{"sphere": {{"center": [0.5, 0.5, 0.5], "radius": 0.2}}}}}}], {more}}}"#
    )
}

fn mean_velocity(simulation: &Simulation) -> Vec3 {
    let v = &simulation.particles().velocity;
    v.iter().sum::<Vec3>() / v.len() as f64
}

/// Places well inside the ball, and velocities there.
fn inside(simulation: &Simulation) -> (Vec<Vec3>, Vec<Vec3>) {
    let (x, v) = simulation.cell_motion();
    let all = x.into_iter().zip(v);
    all.filter(|(x, _)| (x - Vec3::repeat(0.5)).norm() < 0.1).unzip()
}

#[test]
fn a_field_of_distances_is_liquid() {
    let drop = |cells| field(1, cells, |x: &Vec3| Vec3::new((x - Vec3::repeat(0.5)).norm() - 0.3, 0.0, 0.0));
    let json = r#"{"meniscus": 1, "resolution": {"divisions": 24}, "domain": {"min": [0, 0, 0], "max": [1, 1, 1]},
        "initial": [{"shape": {"mesh": {"file": "surface.nrrd"}}}]}"#;
    // Its surface of triangles lies within the ball by the square of their size.
    let exact = 4.0 / 3.0 * std::f64::consts::PI * 0.3f64.powi(3);
    let errors = [12, 24].map(|cells| drop(cells).surface("drop").expect("a surface").volume() / exact - 1.0);
    assert!(errors[0].abs() < 0.08 && errors[1].abs() < 0.3 * errors[0].abs(), "{errors:?}");
    // The grid makes of it what it makes of the ball, whose distance is exact, but for the distance kept in its cells.
    let litres =
        |json: &str| try_with(json, &[("surface.nrrd", drop(48))]).expect("a simulation").report().litres;
    let shape = r#"{"sphere": {"center": [0.5, 0.5, 0.5], "radius": 0.3}}"#;
    let (given, ball) = (litres(json), litres(&json.replace(r#"{"mesh": {"file": "surface.nrrd"}}"#, shape)));
    assert!((given / ball - 1.0).abs() < 0.03, "{given} of {ball} l");
}

#[test]
fn a_field_of_velocity_sets_liquid_in_motion_where_it_reaches() {
    let turns = |x: &Vec3| Vec3::new(0.0, 0.0, 3.0).cross(&(x - Vec3::repeat(0.5))) + Vec3::y();
    let json = ball(r#""fields": [{"name": "vel", "kind": "velocity", "files": [[1, "vel.nrrd"]]}]"#);
    for kind in ["mac", "bcc"] {
        let json = json.replacen('{', &format!(r#"{{"simulator": {{"type": "{kind}"}}, "#), 1);
        let simulation = try_with(&json, &[("vel.nrrd", field(3, 10, turns))]).expect("a simulation");
        let (x, v) = match kind {
            "mac" => (simulation.particles().position.clone(), simulation.particles().velocity.clone()),
            _ => inside(&simulation),
        };
        assert!(!v.is_empty());
        let worst = v.iter().zip(&x).map(|(v, x)| (v - turns(x)).norm()).fold(0.0, f64::max);
        assert!(worst < 1e-5, "{kind}: {worst}");
    }
}

#[test]
fn a_field_of_force_moves_liquid_as_a_force_does() {
    let push = Vec3::new(2.0, 0.0, -1.0);
    let json = ball(r#""fields": [{"name": "push", "kind": "force", "files": [[1, "a.nrrd"]]}]"#);
    for kind in ["mac", "bcc"] {
        let json = json.replacen('{', &format!(r#"{{"simulator": {{"type": "{kind}"}}, "#), 1);
        let mut simulation = try_with(&json, &[("a.nrrd", field(3, 4, |_| push))]).expect("a simulation");
        let report = (0..3).map(|_| simulation.advance_frame(&mut |_| false).expect("a frame")).last();
        // All of it has the velocity a t.
        let exact = push * report.expect("frames").time;
        let v = match kind {
            "mac" => simulation.particles().velocity.clone(),
            _ => inside(&simulation).1,
        };
        let worst = v.iter().map(|v| (v - exact).norm()).fold(0.0, f64::max);
        assert!(!v.is_empty() && worst < 1e-6, "{kind}: {worst} m/s");
    }
}

#[test]
fn a_field_of_viscosity_is_taken_along_by_what_comes_in() {
    let thick = |x: &Vec3| Vec3::new(5.0 + 4.0 * x.x, 0.0, 0.0);
    let json = ball(
        r#""fields": [{"name": "thick", "kind": "viscosity", "files": [[1, "mu.nrrd"]]}],
           "emitters": [{"shape": {"box": {"min": [0.1, 0.1, 0.1], "max": [0.3, 0.3, 0.3]}}, "velocity": [0, 0, 0],
                         "attributes": {"viscosity": 2}}]"#,
    );
    let mut simulation = try_with(&json, &[("mu.nrrd", field(1, 8, thick))]).expect("a simulation");
    let values = |s: &Simulation| {
        let all = s.particle_attributes();
        all.into_iter().find(|a| a.name == "viscosity").expect("viscosity is carried").data
    };
    let start = simulation.particles().position.clone();
    let worst = start.iter().zip(values(&simulation)).map(|(x, v)| (thick(x).x - f64::from(v)).abs());
    assert!(worst.fold(0.0, f64::max) < 1e-5);
    simulation.advance_frame(&mut |_| false).expect("a frame");
    // What an emitter says of its own liquid goes before the field.
    let x = &simulation.particles().position;
    let poured = x.iter().zip(values(&simulation)).filter(|(x, _)| x.amax() < 0.29).map(|(_, v)| v);
    assert!(poured.clone().count() > 20 && poured.into_iter().all(|v| v == 2.0));
}

#[test]
fn fields_sent_frame_by_frame_give_the_bits_of_files() {
    let at = |frame: i64| field(3, 6, move |x| Vec3::new(frame as f64, -x.y * frame as f64, 2.0));
    let entry =
        |files: &str| ball(&format!(r#""fields": [{{"name": "f", "kind": "force", "files": [{files}]}}]"#));
    let json = entry(r#"[1, "1"], [2, "2"], [3, "3"], [4, "4"]"#);
    let files: Vec<(String, DenseField)> = (1..5).map(|f| (f.to_string(), at(f))).collect();
    let files: Vec<(&str, DenseField)> = files.iter().map(|(n, f)| (n.as_str(), f.clone())).collect();
    let mut from_files = try_with(&json, &files).expect("a simulation");
    let mut sent = try_with(&entry(""), &[]).expect("a field without files waits for its host");
    for frame in 1..4 {
        from_files.advance_frame(&mut |_| false).expect("a frame");
        sent.set_field("f", vec![(frame as f64, at(frame)), ((frame + 1) as f64, at(frame + 1))])
            .expect("sent");
        sent.advance_frame(&mut |_| false).expect("a frame");
        assert!(from_files.particles().position == sent.particles().position, "frame {frame}");
    }
    // It has come from 1 to 4 m/s² in three frames: the mean is 2.5, but for the substeps that end late.
    let v = mean_velocity(&sent).x / (3.0 / 24.0);
    assert!((v / 2.5 - 1.0).abs() < 0.3, "{v}");
}

#[test]
fn what_a_field_cannot_be_is_refused_by_name() {
    let json = ball(r#""fields": [{"name": "push", "kind": "force", "files": [[1, "a"]]}]"#);
    let said =
        |json: &str, field: DenseField| try_with(json, &[("a", field)]).map(|_| ()).unwrap_err().to_string();
    let one = || field(1, 2, |_| Vec3::zeros());
    assert!(said(&json, one()).contains("push"));
    assert!(said(&json.replace("[1, \"a\"]", "[1, \"b\"]"), one()).contains("b"));
    let negative = json.replace("force", "viscosity");
    assert!(said(&negative, field(1, 2, |_| Vec3::repeat(-1.0))).contains("push"));
    let bcc = negative.replacen('{', r#"{"simulator": {"type": "bcc"}, "#, 1);
    assert!(said(&bcc, one()).contains("bcc"));
    let twice = ball(r#""fields": [{"name": "a", "kind": "force"}, {"name": "a", "kind": "force"}]"#);
    assert!(Scene::from_json(&twice).unwrap_err().to_string().contains("fields[1].name"));
    let mut simulation = try_with(&json, &[("a", field(3, 2, |_| Vec3::x()))]).expect("a simulation");
    assert!(simulation.set_field("pull", vec![(1.0, one())]).unwrap_err().to_string().contains("push"));
    assert!(
        simulation.set_field("push", vec![(1.0, one())]).is_err()
            && simulation.set_field("push", vec![]).is_err()
    );
}
