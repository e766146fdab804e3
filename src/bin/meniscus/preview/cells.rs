//! The cells of a frame, cut away towards the camera: where they are fine and where they are wide.
//!
//! Of the tets of liquid cells those behind the middle plane of the domain are kept; what is drawn are the facets that
//! only one of them has, each a little smaller than it is, so that dark seams show the cells. The colour is carried
//! as a speed from 0 to 1, for [`super::stage::Shade::Speed`].

use meniscus::geometry::{Attribute, TriMesh};
use meniscus::io::vtu::{VtuMesh, read_mesh};
use meniscus::math::{Aabb, Vec3};
use meniscus::{Error, Result};
use rayon::prelude::*;
use std::path::Path;

/// What the colour of a cell tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum CellColour {
    /// Light where cells are small, a step for each doubling
    Size,
    /// Light where pressure is high
    Pressure,
}

/// A facet is drawn with this share of its size.
const DRAWN: f64 = 0.93;

/// The cut-away of a frame's cells; the plane lies across z in the middle of the box.
pub fn cut_away(file: &Path, bounds: &Aabb, colour: CellColour) -> Result<TriMesh> {
    let mesh = read_mesh(file)?;
    let liquid = field(&mesh, "liquid", file)?;
    let share = shares(&mesh, colour, file)?;
    let plane = bounds.centre().z;
    let kept: Vec<u32> = (0..mesh.tets.len() as u32)
        .into_par_iter()
        .filter(|&t| {
            let middle: f64 = mesh.tets[t as usize].iter().map(|&v| mesh.points[v as usize].z).sum();
            liquid[t as usize] < 0.0 && 0.25 * middle < plane
        })
        .collect();
    let mut facets: Vec<([u32; 3], u32, u8)> = kept
        .par_iter()
        .flat_map_iter(|&t| (0..4).map(move |k| (t, k)))
        .map(|(t, k)| {
            let mut key = facet(&mesh.tets[t as usize], k);
            key.sort_unstable();
            (key, t, k as u8)
        })
        .collect();
    facets.par_sort_unstable();
    let mut out = TriMesh::default();
    let mut speed = Vec::new();
    for (i, (key, t, k)) in facets.iter().enumerate() {
        let same = |j: usize| facets.get(j).is_some_and(|f| f.0 == *key);
        if same(i + 1) || i > 0 && same(i - 1) {
            continue;
        }
        let corners = facet(&mesh.tets[*t as usize], *k as usize).map(|v| mesh.points[v as usize]);
        let middle: Vec3 = corners.iter().sum::<Vec3>() / 3.0;
        let first = out.positions.len() as u32;
        out.positions.extend(corners.map(|c| middle + (c - middle) * DRAWN));
        out.triangles.push([first, first + 1, first + 2]);
        (0..3).for_each(|_| speed.extend([share[*t as usize] as f32, 0.0, 0.0]));
    }
    out.attributes = vec![Attribute { name: "velocity".into(), width: 3, data: speed }];
    Ok(out)
}

/// The corners of a facet, seen from outside anticlockwise.
fn facet(tet: &[u32; 4], opposite: usize) -> [u32; 3] {
    let [a, b, c, d] = *tet;
    [[b, c, d], [a, d, c], [a, b, d], [a, c, b]][opposite]
}

fn field<'a>(mesh: &'a VtuMesh, name: &str, file: &Path) -> Result<&'a [f32]> {
    mesh.field(name).ok_or_else(|| Error::Format {
        file: file.display().to_string(),
        place: "cell data".into(),
        message: format!("there is no field \"{name}\""),
    })
}

/// The colour of each tet, 0 to 1.
fn shares(mesh: &VtuMesh, colour: CellColour, file: &Path) -> Result<Vec<f64>> {
    let most = |values: &[f32]| values.iter().fold(f32::MIN_POSITIVE, |m, v| m.max(*v)) as f64;
    Ok(match colour {
        CellColour::Pressure => {
            let p = field(mesh, "pressure", file)?;
            let top = most(p);
            p.iter().map(|p| *p as f64 / top).collect()
        }
        CellColour::Size => {
            let width = field(mesh, "width", file)?;
            let least = width.iter().fold(f32::INFINITY, |m, v| m.min(*v)).max(f32::MIN_POSITIVE) as f64;
            let range = (most(width) / least).log2().max(1.0);
            // Half a step up, so that shapes of one size of leaf have one colour.
            width.iter().map(|w| 1.0 - 0.9 * ((*w as f64 / least).log2() + 0.3).floor() / range).collect()
        }
    })
}
