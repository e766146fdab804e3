//! Wavefront OBJ.

use crate::geometry::TriMesh;
use std::io::{self, Write};

/// Write positions and triangles as `v` and `f` lines, with enough digits for f32. Attributes are left out.
pub fn write_obj(mesh: &TriMesh, out: impl Write) -> io::Result<()> {
    let mut out = io::BufWriter::new(out);
    for p in &mesh.positions {
        writeln!(out, "v {} {} {}", p.x as f32, p.y as f32, p.z as f32)?;
    }
    for t in &mesh.triangles {
        let [a, b, c] = t.map(|v| v as u64 + 1);
        writeln!(out, "f {a} {b} {c}")?;
    }
    out.flush()
}
