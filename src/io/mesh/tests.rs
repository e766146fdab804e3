//! Files of all formats, good and hostile.

use super::*;
use crate::geometry::Attribute;

fn ball() -> TriMesh {
    let mut mesh = TriMesh::icosphere(1.0, 1);
    // Coordinates that f32 holds exactly, so that a round trip is exact.
    mesh.positions.iter_mut().for_each(|p| *p = p.map(|c| c as f32 as f64));
    mesh
}

fn with_attributes() -> TriMesh {
    let mut mesh = ball();
    let n = mesh.positions.len();
    for (name, width) in [("velocity", 3), ("age", 1), ("normal", 3), ("uv", 2), ("stretch", 6)] {
        let data = (0..n * width).map(|i| i as f32 * 0.25).collect();
        mesh.attributes.push(Attribute { name: name.into(), width, data });
    }
    mesh
}

fn written(write: impl Fn(&mut Vec<u8>) -> std::io::Result<()>) -> Vec<u8> {
    let mut bytes = Vec::new();
    write(&mut bytes).unwrap();
    bytes
}

fn message(file: &str, bytes: &[u8]) -> String {
    parse(file, bytes).unwrap_err().to_string()
}

const PLY: &str = "ply\r\nformat ascii 1.0\r\ncomment made by hand\r\nelement vertex 4\r\nproperty float x\r\n\
    property float y\r\nproperty float z\r\nproperty uchar red\r\nproperty uchar green\r\n\
    property uchar blue\r\nelement face 1\r\nproperty uchar tag\r\n\
    property list uchar int vertex_indices\r\nelement edge 1\r\nproperty int a\r\nend_header\r\n\
    0 0 0 255 0 0\r\n1 0 0 0 255 0\r\n1 1 0 0 0 255\r\n0 1 0 51 51 51\r\n7 4 0 1 2 3\r\n5\r\n";

#[test]
fn a_mesh_comes_back_from_ply_with_its_attributes() {
    let mesh = with_attributes();
    assert_eq!(parse("ball.ply", &written(|b| write_ply(&mesh, b))).unwrap(), mesh);
}

#[test]
fn a_mesh_comes_back_from_obj_and_stl() {
    let mesh = ball();
    let mut back = parse("ball.obj", &written(|b| write_obj(&mesh, b))).unwrap();
    back.positions.iter_mut().for_each(|p| *p = p.map(|c| c as f32 as f64));
    assert_eq!(back, mesh);
    let welded = parse("ball.stl", &written(|b| write_stl(&mesh, b))).unwrap();
    assert_eq!((welded.positions.len(), welded.triangles.len()), (42, 80));
    assert!((0..80).all(|t| welded.corners(t) == mesh.corners(t)));
}

#[test]
fn particles_keep_id_radius_and_velocity() {
    let x = [Vec3::x(), Vec3::y()];
    let age = Attribute { name: "age".into(), width: 1, data: vec![3.0, 4.0] };
    let bytes = written(|b| write_particles_ply(&x, &[7, 9], 0.5, &x, std::slice::from_ref(&age), b));
    let points = parse_points("p.ply", &bytes).unwrap();
    assert_eq!(points.positions, x);
    assert_eq!(points.attribute("id").unwrap().data, [7.0, 9.0]);
    assert_eq!(points.attribute("radius").unwrap().data, [0.5, 0.5]);
    assert_eq!(points.attribute("velocity").unwrap().data, [1.0, 0.0, 0.0, 0.0, 1.0, 0.0]);
    assert_eq!(points.attribute("age").unwrap(), &age);
    assert!(message("p.ply", &bytes).contains("no triangles"));
    assert!(write_particles_ply(&x, &[1], 0.5, &x, &[], Vec::new()).is_err());
}

#[test]
fn text_ply_with_extra_properties_is_read() {
    let mesh = parse("a.ply", PLY.as_bytes()).unwrap();
    assert_eq!((mesh.positions.len(), mesh.triangles.len()), (4, 2));
    assert_eq!(&mesh.attribute("color").unwrap().data[9..], [0.2; 3]);
    let unix = PLY.replace('\r', "");
    assert_eq!(parse("a.ply", unix.as_bytes()).unwrap(), mesh);
}

#[test]
fn big_endian_ply_is_read() {
    let mut bytes = b"ply\nformat binary_big_endian 1.0\nelement vertex 3\nproperty double x\n\
        property short y\nproperty float z\nelement face 1\nproperty list ushort uint vertex_index\n\
        end_header\n"
        .to_vec();
    for i in 0..3 {
        bytes.extend((i as f64).to_be_bytes());
        bytes.extend((i as i16 * -300).to_be_bytes());
        bytes.extend((i as f32 * 0.5).to_be_bytes());
    }
    bytes.extend(3u16.to_be_bytes());
    (0..3u32).for_each(|v| bytes.extend(v.to_be_bytes()));
    let mesh = parse("a.ply", &bytes).unwrap();
    assert_eq!(mesh.positions[2], Vec3::new(2.0, -600.0, 1.0));
    assert_eq!(mesh.triangles, [[0, 1, 2]]);
}

#[test]
fn obj_knows_negative_indices_polygons_comments_and_continued_lines() {
    let text = "# a comment\r\nmtllib x.mtl\r\nv 0 0 0 # here\r\nv 1 0 0\r\nv 1 1 0\r\nv 0 1 0\r\n\
        vt 0 0\nvt 1 0\nvt .5 .5\nvn 0 0 1\ng one\ns off\nf -4/1/1 -3/2/1 \\\n -2/3/1 -1/1/1\n\
        f 1//1 2//1 5//1\nv 0 0 -1\nl 1 2\nf 1 2\n";
    let mesh = parse("a.obj", text.as_bytes()).unwrap();
    assert_eq!(mesh.triangles, [[0, 1, 2], [0, 2, 3], [0, 1, 4]]);
    assert_eq!(mesh.attribute("uv").unwrap().data, [0.0, 0.0, 1.0, 0.0, 0.5, 0.5, 0.0, 0.0, 0.0, 0.0]);
    assert_eq!(mesh.attribute("normal").unwrap().data[2], 1.0);
}

#[test]
fn stl_in_words_is_read() {
    let text = "solid vertex of a name\nfacet normal 0 0 1\n outer loop\n  vertex 0 0 0\n  vertex 1 0 0\n  \
        vertex 0 1 -0\n endloop\nendfacet\nFACET NORMAL 0 0 1\nouter loop\nvertex 0 0 0\nvertex 0 1 0\n\
        vertex -1e0 0 0\nendloop\nendfacet\nendsolid vertex of a name\n";
    let mesh = parse("a.stl", text.as_bytes()).unwrap();
    assert_eq!(mesh.triangles, [[0, 1, 2], [0, 2, 3]]);
}

#[test]
fn a_number_that_is_not_finite_is_named() {
    let obj = "v 0 0 0\nv 1 nan 0\n";
    assert_eq!(
        message("a.obj", obj.as_bytes()),
        "a.obj: line 2: vertex 2 holds NaN, which is not a finite number"
    );
    let ply = PLY.replace("1 1 0 0 0 255", "1 1e999 0 0 0 255");
    assert!(message("a.ply", ply.as_bytes()).contains("line 19: element vertex: vertex 2 holds inf"));
    let mut mesh = ball();
    mesh.positions[5].z = f64::INFINITY;
    assert!(message("a.ply", &written(|b| write_ply(&mesh, b))).contains("vertex 5 holds inf"));
    assert!(message("a.stl", &written(|b| write_stl(&mesh, b))).contains("which is not a finite number"));
}

#[test]
fn wrong_indices_are_named() {
    let vertices = "v 0 0 0\nv 1 0 0\nv 0 1 0\n";
    for (face, place) in [("f 1 2 9", "line 4"), ("f 1 2 0", "line 4"), ("f 1 2 -4", "line 4")] {
        assert!(message("a.obj", format!("{vertices}{face}\n").as_bytes()).contains(place));
    }
    let huge = format!("{vertices}f 1 2 4000000000/4000000000\n");
    assert!(message("a.obj", huge.as_bytes()).contains("4000000000"));
    for index in ["4", "-1", "4294967295"] {
        let ply = PLY.replace("4 0 1 2 3", &format!("4 0 1 2 {index}"));
        assert!(message("a.ply", ply.as_bytes()).contains("corner 3"));
    }
}

#[test]
fn hostile_headers_are_refused_at_once() {
    let head = |rows: &str| format!("ply\nformat ascii 1.0\n{rows}end_header\n7 2 3\n");
    let refused = |rows: &str| message("a.ply", head(rows).as_bytes());
    assert!(refused("element vertex 99999999999999999999\nproperty float x\n").contains("line 3"));
    assert!(refused("element vertex 100000000\n").contains("no properties"));
    let xyz = "property float x\nproperty float y\nproperty float z\n";
    assert!(refused(&format!("element vertex 100000000\n{xyz}")).contains("at most"));
    assert!(refused(&format!("element vertex 18446744073709551615\n{xyz}")).contains("at most"));
    assert!(refused("element a 1\nproperty list float int b\n").contains("no integer"));
    assert!(refused("property float x\n").contains("before the first element"));
    assert!(refused("element a 1\nproperty list uint double b\n").contains("length 7"));
    assert!(message("a.ply", b"ply\nformat ascii 1.0\n").contains("end_header"));
    assert!(message("a.stl", &[0; 84]).contains("no triangles"));
    let mut many = vec![b' '; 80];
    many.extend([255; 4]);
    assert!(message("a.stl", &many).contains("4294967295 triangles are announced"));
    assert!(message("a.xyz", b"hello").contains("neither"));
    assert!(message("a.obj", b"").contains("no triangles"));
}

#[test]
fn files_cut_short_or_scrambled_never_panic() {
    let mesh = with_attributes();
    let files = [
        ("a.ply", written(|b| write_ply(&mesh, b))),
        ("b.ply", PLY.as_bytes().to_vec()),
        ("a.obj", written(|b| write_obj(&mesh, b))),
        ("a.stl", written(|b| write_stl(&mesh, b))),
    ];
    let mut state = 1u64;
    let mut next = |n: usize| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 33) as usize % n
    };
    for (name, bytes) in &files {
        for _ in 0..2000 {
            let mut damaged = bytes[..next(bytes.len() + 1)].to_vec();
            for _ in 0..next(4) {
                if !damaged.is_empty() {
                    let at = next(damaged.len());
                    damaged[at] = next(256) as u8;
                }
            }
            if let Ok(mesh) = parse(name, &damaged) {
                mesh.check(name).unwrap();
            }
        }
    }
}
