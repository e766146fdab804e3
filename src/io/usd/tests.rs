//! What is written as USD can be read back, and what is damaged is refused.

use super::*;
use crate::geometry::Attribute;
use crate::math::Vec3;
use crate::scene::Fps;

fn ball() -> TriMesh {
    let mut mesh = TriMesh::icosphere(0.1, 2);
    let n = mesh.positions.len();
    let velocity = mesh.positions.iter().flat_map(|p| [p.y as f32, -p.x as f32, 0.25]).collect();
    let some = |name: &str, width, data| Attribute { name: name.into(), width, data };
    mesh.attributes = vec![
        some("velocity", 3, velocity),
        some("viscosity", 1, (0..n).map(|i| [0.001, 10.5][i % 2]).collect()),
        some("phase", 1, (0..n).map(|i| (i % 3) as f32).collect()),
        some("age", 1, (0..n).map(|i| i as f32 * 0.1).collect()),
        some("uv", 2, (0..2 * n).map(|i| i as f32).collect()),
    ];
    // What passes through a file is f32.
    mesh.positions.iter_mut().for_each(|p| *p = p.map(|c| f64::from(c as f32)));
    mesh
}

fn frame<'a>(mesh: &'a TriMesh, solids: &'a [UsdSolid]) -> UsdFrame<'a> {
    UsdFrame { frame: -3, fps: Fps::default(), surface: Some(mesh), particles: None, solids }
}

fn cup() -> UsdSolid {
    let half = std::f64::consts::FRAC_1_SQRT_2;
    UsdSolid {
        name: "Cup.001".into(),
        translate: [1.0, 2.0, 3.0],
        rotate_quaternion_wxyz: [half, 0.0, 0.0, half],
        scale: 2.0,
    }
}

#[test]
fn a_surface_comes_back_with_all_it_carries() {
    let mesh = ball();
    let shown = frame(&mesh, &[]);
    for bytes in [to_usdc(&frame(&mesh, &[cup()])), to_usda(&shown).into_bytes()] {
        let back = parse_mesh("ball.usd", &bytes).unwrap();
        assert_eq!(back.positions, mesh.positions);
        assert_eq!(back.triangles, mesh.triangles);
        for a in &mesh.attributes {
            assert_eq!(back.attribute(&a.name), Some(a), "{}", a.name);
        }
    }
}

#[test]
fn a_frame_without_liquid_is_a_file_too() {
    let back = parse_mesh("dry.usdc", &to_usdc(&frame(&TriMesh::default(), &[]))).unwrap();
    assert!(back.positions.is_empty() && back.triangles.is_empty());
    let text = to_usda(&frame(&TriMesh::default(), &[]));
    assert_eq!(parse_mesh("dry.usda", text.as_bytes()).unwrap(), back);
    // Values without vertices belong to nothing, and are left out.
    let stray = Attribute { name: "age".into(), width: 1, data: vec![0.5; 3] };
    let lost = TriMesh { attributes: vec![stray], ..TriMesh::default() };
    assert!(parse_mesh("lost.usdc", &to_usdc(&frame(&lost, &[]))).unwrap().attributes.is_empty());
    let small = TriMesh::new(vec![Vec3::zeros(), Vec3::x(), Vec3::y()], vec![[0, 1, 2]]);
    assert_eq!(parse_mesh("small.usdc", &to_usdc(&frame(&small, &[]))).unwrap(), small);
}

#[test]
fn the_file_begins_and_ends_as_the_format_says() {
    let mesh = ball();
    let bytes = to_usdc(&frame(&mesh, &[]));
    assert_eq!(&bytes[..11], b"PXR-USDC\0\x08\0");
    let contents = u64::from_le_bytes(bytes[16..24].try_into().unwrap()) as usize;
    assert_eq!(bytes[contents..contents + 8], 6u64.to_le_bytes());
    let names: Vec<_> = bytes[contents + 8..].chunks(32).map(|c| c[..16].to_vec()).collect();
    let expected = ["TOKENS", "STRINGS", "FIELDS", "FIELDSETS", "PATHS", "SPECS"];
    for (name, expected) in names.iter().zip(expected) {
        assert_eq!(String::from_utf8_lossy(name).trim_end_matches('\0'), expected);
    }
    assert_eq!(contents + 8 + 6 * 32, bytes.len());
    // Points and velocities have 12 bytes each, the rest is small.
    let floor = mesh.positions.len() * (12 + 12 + 4 + 8);
    assert!(bytes.len() > floor && bytes.len() < floor + 4 * mesh.triangles.len() + 2000, "{}", bytes.len());
}

#[test]
fn damaged_files_are_refused_or_read_as_some_other_mesh() {
    let mesh = TriMesh::icosphere(0.1, 1);
    let bytes = to_usdc(&frame(&mesh, &[cup()]));
    for end in 0..bytes.len() {
        assert!(parse_mesh("short.usdc", &bytes[..end]).is_err(), "{end}");
    }
    let mut refused = 0;
    for bit in 0..bytes.len() * 8 {
        let mut bad = bytes.clone();
        bad[bit / 8] ^= 1 << (bit % 8);
        refused += usize::from(parse_mesh("bad.usdc", &bad).is_err());
    }
    assert!(refused > 0);
    let text = to_usda(&frame(&mesh, &[]));
    for end in (0..text.trim_end().len()).step_by(7) {
        let said = parse_mesh("short.usda", &text.as_bytes()[..end]).unwrap_err().to_string();
        // Either the line at which the text ends too soon, or that no mesh came before it.
        assert!(said.contains("line") || said.contains("no mesh"), "{said}");
    }
}

#[test]
fn the_text_can_be_read_by_people() {
    let small = TriMesh::new(vec![Vec3::zeros(), Vec3::x(), Vec3::y() * 0.1], vec![[0, 1, 2]]);
    let text = to_usda(&frame(&small, &[cup()]));
    for part in [
        "#usda 1.0\n",
        "metersPerUnit = 1\n",
        "upAxis = \"Y\"",
        "def Mesh \"surface\"",
        "point3f[] points.timeSamples = {\n            -3: [(0, 0, 0), (1, 0, 0), (0, 0.1, 0)],",
        "uniform token subdivisionScheme = \"none\"",
        "def Xform \"Cup_001\"",
    ] {
        assert!(text.contains(part), "{part} is not in\n{text}");
    }
}
