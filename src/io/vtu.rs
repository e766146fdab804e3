//! Lattices with fields as VTK unstructured grids (`.vtu`), for ParaView.
//!
//! [`vtk`](super::vtk) says how arrays lie. Points are the vertices and cells the tets; a value of a lattice cell is written to each of its tets.
//! Two arrays are always there: `cell`, the lattice cell of each tet, and `width`, the cube root of its volume, to
//! colour by size.

use super::atomic;
use super::vtk::{Arrays, Parsed, attribute, bytes_of, plain};
use crate::error::{Error, Result};
use crate::math::Vec3;
use crate::math::elementary::cbrt;
use crate::mesh::bcc::Lattice;
use std::io;
use std::path::Path;

/// A field with `width` numbers at each vertex or each lattice cell.
#[derive(Clone, Copy, Debug)]
pub struct VtuField<'a> {
    pub name: &'a str,
    pub width: usize,
    pub data: &'a [f64],
}

impl VtuField<'_> {
    fn check(&self, count: usize) -> Result<()> {
        // The name stands in XML between quotes.
        if !plain(self.name) || self.width == 0 || self.data.len() != self.width * count {
            let message = format!(
                "{} numbers, {} for each of {count} were expected, and a name of letters, digits and _",
                self.data.len(),
                self.width
            );
            return Err(Error::invalid(format!("field \"{}\"", self.name), message));
        }
        Ok(())
    }
}

/// Write a lattice with fields at its vertices and in its cells.
pub fn write_lattice(
    path: &Path,
    lattice: &Lattice,
    at_vertices: &[VtuField],
    in_cells: &[VtuField],
) -> Result<()> {
    at_vertices.iter().try_for_each(|f| f.check(lattice.vertices.len()))?;
    in_cells.iter().try_for_each(|f| f.check(lattice.cells()))?;
    atomic::write_with(path, |out| {
        let mut arrays = Arrays::default();
        let inside = piece(&mut arrays, lattice, at_vertices, in_cells)?;
        arrays.write("UnstructuredGrid", &inside, out)
    })
}

/// The text that names the arrays, which are taken in on the way.
fn piece(
    arrays: &mut Arrays,
    lattice: &Lattice,
    at_vertices: &[VtuField],
    in_cells: &[VtuField],
) -> io::Result<String> {
    let (points, tets) = (lattice.vertices.len(), &lattice.tets);
    let count = tets.vertices.len();
    let narrow = |v: &f64| (*v as f32).to_le_bytes();
    let places = (0..points).flat_map(|v| <[f64; 3]>::from(lattice.vertex(v as u32)).map(f64::to_le_bytes));
    let mut text = format!("<Piece NumberOfPoints=\"{points}\" NumberOfCells=\"{count}\">\n<Points>\n");
    text += &arrays.add("Float64", "Points", 3, &bytes_of(places))?;
    text += "</Points>\n<Cells>\n";
    let corners = tets.vertices.as_flattened().iter().map(|v| v.to_le_bytes());
    text += &arrays.add("UInt32", "connectivity", 1, &bytes_of(corners))?;
    text +=
        &arrays.add("UInt64", "offsets", 1, &bytes_of((1..=count as u64).map(|t| (4 * t).to_le_bytes())))?;
    // Type 10 is the tetrahedron.
    text += &arrays.add("UInt8", "types", 1, &vec![10; count])?;
    text += "</Cells>\n<PointData>\n";
    for f in at_vertices {
        text += &arrays.add("Float32", f.name, f.width, &bytes_of(f.data.iter().map(narrow)))?;
    }
    text += "</PointData>\n<CellData>\n";
    text += &arrays.add("UInt32", "cell", 1, &bytes_of(tets.cell.iter().map(|c| c.to_le_bytes())))?;
    let width = cell_widths(lattice);
    let widths = tets.cell.iter().map(|&c| (width[c as usize] as f32).to_le_bytes());
    text += &arrays.add("Float32", "width", 1, &bytes_of(widths))?;
    for f in in_cells {
        let of_cell = |&c: &u32| &f.data[c as usize * f.width..][..f.width];
        text += &arrays.add(
            "Float32",
            f.name,
            f.width,
            &bytes_of(tets.cell.iter().flat_map(of_cell).map(narrow)),
        )?;
    }
    Ok(text + "</CellData>\n</Piece>\n")
}

/// Tets with values, as read back from a file that [`write_lattice`] wrote.
#[derive(Clone, Debug, Default)]
pub struct VtuMesh {
    pub points: Vec<Vec3>,
    pub tets: Vec<[u32; 4]>,
    fields: Vec<(String, Vec<f32>)>,
}

impl VtuMesh {
    /// The numbers of a field in the tets.
    pub fn field(&self, name: &str) -> Option<&[f32]> {
        self.fields.iter().find(|(n, _)| n == name).map(|(_, values)| values.as_slice())
    }
}

/// Read the tets of a file that [`write_lattice`] wrote, and their fields of 32-bit numbers.
pub fn read_mesh(path: &Path) -> Result<VtuMesh> {
    let bytes = std::fs::read(path).map_err(|e| Error::io(path, &e))?;
    let wrong = |message: &str| Error::Format {
        file: path.display().to_string(),
        place: "header".into(),
        message: message.into(),
    };
    let parsed = Parsed::open(&bytes, "UnstructuredGrid").map_err(wrong)?;
    let mut mesh = VtuMesh::default();
    for line in parsed.elements() {
        let name = attribute(line, "Name").ok_or_else(|| wrong("an array without a name"))?;
        let data = parsed.array(line).ok_or_else(|| wrong("an array is damaged"))?;
        let words = || data.chunks_exact(4).map(|c| [c[0], c[1], c[2], c[3]]);
        match (name, attribute(line, "type")) {
            ("Points", _) => {
                let number = |c: &[u8]| f64::from_le_bytes(std::array::from_fn(|i| c[i]));
                let point = |c: &[u8]| Vec3::new(number(&c[..8]), number(&c[8..16]), number(&c[16..24]));
                mesh.points = data.chunks_exact(24).map(point).collect();
            }
            ("connectivity", _) => {
                let all: Vec<u32> = words().map(u32::from_le_bytes).collect();
                mesh.tets = all.chunks_exact(4).map(|v| [v[0], v[1], v[2], v[3]]).collect();
            }
            (name, Some("Float32")) => {
                mesh.fields.push((name.to_string(), words().map(f32::from_le_bytes).collect()));
            }
            _ => {}
        }
    }
    let (points, tets) = (mesh.points.len() as u32, mesh.tets.len());
    mesh.fields.retain(|(_, values)| values.len() == tets);
    match mesh.tets.as_flattened().iter().all(|v| *v < points) {
        true => Ok(mesh),
        false => Err(wrong("a tet has a corner that is not there")),
    }
}

/// The cube root of the volume of each cell, m.
fn cell_widths(lattice: &Lattice) -> Vec<f64> {
    lattice.cell_volumes().into_iter().map(cbrt).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mesh::bcc::{Octree, OctreeDomain};

    fn lattice() -> Lattice {
        let domain = OctreeDomain {
            origin: Vec3::new(1.0, 2.0, 3.0),
            roots: [2, 2, 3],
            root_width: 0.5,
            depth: 1,
            periodic: false,
            max_leaves: 1000,
        };
        Lattice::new(Octree::new(domain, |c| c.index == [0, 0, 0]).unwrap()).unwrap()
    }

    #[test]
    fn every_array_stands_where_the_header_says() {
        let l = lattice();
        let path = std::env::temp_dir().join(format!("meniscus_vtu_{}.vtu", std::process::id()));
        let height: Vec<f64> = (0..l.vertices.len()).map(|v| l.vertex(v as u32).y).collect();
        let place: Vec<f64> =
            (0..l.cells()).flat_map(|c| <[f64; 3]>::from(l.circumcentre(c as u32))).collect();
        let fields = [
            VtuField { name: "height", width: 1, data: &height },
            VtuField { name: "place", width: 3, data: &place },
        ];
        write_lattice(&path, &l, &fields[..1], &fields[1..]).unwrap();
        let bytes = std::fs::read(&path).unwrap();
        let back = read_mesh(&path).unwrap();
        assert_eq!(back.tets, l.tets.vertices);
        assert_eq!(back.points[7], l.vertex(7));
        assert_eq!(back.field("width").unwrap().len(), l.tets.vertices.len());
        std::fs::remove_file(&path).unwrap();
        let parsed = Parsed::open(&bytes, "UnstructuredGrid").unwrap();
        let array = |name: &str| {
            let element = parsed.elements().find(|e| attribute(e, "Name") == Some(name)).unwrap();
            parsed.array(element).unwrap()
        };
        let floats = |name: &str| -> Vec<f32> {
            array(name).chunks(4).map(|b| f32::from_le_bytes(b.try_into().unwrap())).collect()
        };
        let tets = l.tets.vertices.len();
        assert_eq!((array("types").len(), array("offsets").len()), (tets, 8 * tets));
        assert_eq!(array("Points").len(), 24 * l.vertices.len());
        assert_eq!(floats("height")[3], height[3] as f32);
        let cell = l.tets.cell[tets - 1] as usize;
        assert_eq!(floats("place")[3 * tets - 2], place[3 * cell + 1] as f32);
        let last = u32::from_le_bytes(array("connectivity")[16 * tets - 4..].try_into().unwrap());
        assert_eq!(last, l.tets.vertices[tets - 1][3]);
        assert!(bytes.ends_with(b"</VTKFile>\n"));
    }

    #[test]
    fn fields_of_the_wrong_length_are_refused() {
        let field = VtuField { name: "p", width: 1, data: &[1.0, 2.0] };
        let path = std::env::temp_dir().join("meniscus_vtu_never.vtu");
        let message = write_lattice(&path, &lattice(), &[], &[field]).unwrap_err().to_string();
        assert!(message.contains("field \"p\"") && !path.exists(), "{message}");
    }
}
