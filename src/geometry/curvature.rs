//! Normals and mean curvature at the vertices of a triangle mesh, and mean curvature of a level set.
//!
//! κ is the sum of the two principal curvatures, 2/R on a sphere, positive where the inside is
//! convex, so that the pressure jump of surface tension is σκ. With the gradient of area
//!
//! ```text
//!   ∂A/∂x_a = ½ Σ over triangles abc at a of  cot∠c (x_a − x_b) + cot∠b (x_a − x_c)
//!   κ_a = ∂A/∂x_a · n_a / a_a ,   n the unit normal, a the area that belongs to the vertex
//! ```
//!
//! `Mixed` takes the Voronoi area in acute triangles and halves or quarters of obtuse ones [MDSB03];
//! it does not converge on irregular meshes. `Circumcentric` keeps the signed Voronoi area
//! ⅛(|ab|² cot∠c + |ac|² cot∠b) everywhere and converges at second order if the mesh is Delaunay;
//! it is kept above 0.3 of a third of the triangles' area, in case it is not. `Energy` is ∂A·∂V/|∂V|²,
//! constant where area is least for its volume.
//! For a level set κ = ∇·(∇φ/|∇φ|) by central differences of 27 values, second order.

use crate::geometry::TriMesh;
use crate::math::Vec3;

/// The area that the gradient of area is divided by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum VertexArea {
    Mixed,
    #[default]
    Circumcentric,
    Energy,
}

/// Sums over the triangles round each vertex.
struct Rings {
    /// Gradient of the area.
    gradient: Vec<Vec3>,
    /// Sum of half cross products: three times the gradient of volume.
    normal: Vec<Vec3>,
    area: Vec<f64>,
    barycentric: Vec<f64>,
}

/// Unit normals at the vertices, weighted by area; zero at a vertex without triangles.
pub fn vertex_normals(mesh: &TriMesh) -> Vec<Vec3> {
    let mut normals = vec![Vec3::zeros(); mesh.positions.len()];
    for (t, corners) in mesh.triangles.iter().enumerate() {
        let [a, b, c] = mesh.corners(t);
        let normal = (b - a).cross(&(c - a));
        for v in corners {
            normals[*v as usize] += normal;
        }
    }
    normals.iter().map(unit).collect()
}

fn unit(v: &Vec3) -> Vec3 {
    let length = v.norm();
    if length > 0.0 { v / length } else { Vec3::zeros() }
}

/// Mean curvature κ (2/R on a sphere) at every vertex of a closed mesh; 0 at unused vertices.
pub fn mean_curvature(mesh: &TriMesh, kind: VertexArea) -> Vec<f64> {
    let rings = rings(mesh, kind);
    (0..mesh.positions.len())
        .map(|v| {
            let (gradient, normal) = (rings.gradient[v], rings.normal[v]);
            let (above, below) = match kind {
                VertexArea::Energy => (3.0 * gradient.dot(&normal), normal.norm_squared()),
                VertexArea::Mixed => (gradient.dot(&unit(&normal)), rings.area[v]),
                VertexArea::Circumcentric => {
                    (gradient.dot(&unit(&normal)), rings.area[v].max(0.3 * rings.barycentric[v]))
                }
            };
            if below > 0.0 { above / below } else { 0.0 }
        })
        .collect()
}

fn rings(mesh: &TriMesh, kind: VertexArea) -> Rings {
    let n = mesh.positions.len();
    let mut rings = Rings {
        gradient: vec![Vec3::zeros(); n],
        normal: vec![Vec3::zeros(); n],
        area: vec![0.0; n],
        barycentric: vec![0.0; n],
    };
    for (t, vertices) in mesh.triangles.iter().enumerate() {
        let x = mesh.corners(t);
        let cross = (x[1] - x[0]).cross(&(x[2] - x[0]));
        let twice = cross.norm();
        if twice <= 0.0 {
            continue;
        }
        let cot: [f64; 3] = std::array::from_fn(|k| {
            let (u, v) = (x[(k + 1) % 3] - x[k], x[(k + 2) % 3] - x[k]);
            u.dot(&v) / twice
        });
        for k in 0..3 {
            let (i, j) = ((k + 1) % 3, (k + 2) % 3);
            let v = vertices[k] as usize;
            rings.gradient[v] += ((x[k] - x[i]) * cot[j] + (x[k] - x[j]) * cot[i]) * 0.5;
            rings.normal[v] += cross * 0.5;
            rings.barycentric[v] += twice / 6.0;
            rings.area[v] += corner_area(&x, &cot, k, 0.5 * twice, kind);
        }
    }
    rings
}

/// The part of a triangle that belongs to its corner k.
fn corner_area(x: &[Vec3; 3], cot: &[f64; 3], k: usize, area: f64, kind: VertexArea) -> f64 {
    let (i, j) = ((k + 1) % 3, (k + 2) % 3);
    let voronoi = ((x[k] - x[i]).norm_squared() * cot[j] + (x[k] - x[j]).norm_squared() * cot[i]) / 8.0;
    match kind {
        VertexArea::Mixed if cot[k] < 0.0 => area / 2.0,
        VertexArea::Mixed if cot[i] < 0.0 || cot[j] < 0.0 => area / 4.0,
        _ => voronoi,
    }
}

/// Mean curvature of the level set through the middle of 27 values, x fastest, spacing h.
///
/// Zero where the gradient vanishes. The size never exceeds what the spacing can show, `axes`/h.
pub fn level_set_curvature(phi: &[f64; 27], h: f64, axes: usize) -> f64 {
    let at = |d: Vec3i| phi[(13 + d[0] + 3 * d[1] + 9 * d[2]) as usize];
    let step = |a: usize, s: i32| {
        let mut d = [0; 3];
        d[a] = s;
        d
    };
    let both = |a: usize, s: i32, b: usize, r: i32| {
        let mut d = step(a, s);
        d[b] += r;
        d
    };
    let g = Vec3::from_fn(|a, _| (at(step(a, 1)) - at(step(a, -1))) / (2.0 * h));
    let second = |a: usize| (at(step(a, 1)) - 2.0 * at([0; 3]) + at(step(a, -1))) / (h * h);
    let mixed = |a: usize, b: usize| {
        (at(both(a, 1, b, 1)) - at(both(a, 1, b, -1)) - at(both(a, -1, b, 1)) + at(both(a, -1, b, -1)))
            / (4.0 * h * h)
    };
    let length = g.norm();
    if length <= 0.0 {
        return 0.0;
    }
    let mut above = 0.0;
    for (a, b, c) in [(0, 1, 2), (1, 2, 0), (2, 0, 1)] {
        above += g[a] * g[a] * (second(b) + second(c)) - 2.0 * g[a] * g[b] * mixed(a, b);
    }
    let limit = axes as f64 / h;
    (above / (length * length * length)).clamp(-limit, limit)
}

type Vec3i = [i32; 3];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::Shape;

    fn errors(mesh: &TriMesh, kind: VertexArea, exact: f64) -> (f64, f64) {
        let kappa = mean_curvature(mesh, kind);
        let relative: Vec<f64> = kappa.iter().map(|k| k / exact - 1.0).collect();
        let mean = relative.iter().map(|e| e * e).sum::<f64>() / relative.len() as f64;
        (mean.sqrt(), relative.iter().fold(0.0f64, |m, e| m.max(e.abs())))
    }

    #[test]
    fn a_sphere_has_the_curvature_of_its_radius() {
        // Isotropic enough away from the poles; the rms falls by four when edges halve.
        let error = |edge: f64| {
            let mesh = Shape::sphere(0.5).unwrap().triangulate(edge).unwrap();
            errors(&mesh, VertexArea::Circumcentric, 4.0).0
        };
        let (coarse, fine) = (error(0.08), error(0.04));
        assert!(fine < 0.01 && fine < 0.4 * coarse, "{coarse} {fine}");
    }

    fn icosahedron() -> TriMesh {
        let g = (1.0 + 5f64.sqrt()) / 2.0;
        let mut x = Vec::new();
        for (a, b) in [(1.0, g), (-1.0, g), (1.0, -g), (-1.0, -g)] {
            x.extend([Vec3::new(0.0, a, b), Vec3::new(a, b, 0.0), Vec3::new(b, 0.0, a)]);
        }
        // Faces are the triples at the shortest distance 2, turned outwards.
        let near = |p: usize, q: usize| ((x[p] - x[q]).norm() - 2.0).abs() < 1e-9;
        let mut faces = Vec::new();
        for a in 0..12usize {
            for b in a + 1..12 {
                for c in (b + 1..12).filter(|&c| near(a, b) && near(b, c) && near(c, a)) {
                    let out = (x[b] - x[a]).cross(&(x[c] - x[a])).dot(&x[a]) > 0.0;
                    let [b, c] = if out { [b, c] } else { [c, b] };
                    faces.push([a as u32, b as u32, c as u32]);
                }
            }
        }
        TriMesh::new(x, faces)
    }

    /// A unit sphere of `20·4^times` triangles.
    fn geodesic(times: usize) -> TriMesh {
        let mut mesh = icosahedron();
        for _ in 0..times {
            let mut middles = std::collections::HashMap::new();
            let mut faces = Vec::new();
            for &[a, b, c] in &mesh.triangles {
                let mut middle = |p: u32, q: u32| {
                    *middles.entry([p.min(q), p.max(q)]).or_insert_with(|| {
                        mesh.positions.push((mesh.positions[p as usize] + mesh.positions[q as usize]) * 0.5);
                        mesh.positions.len() as u32 - 1
                    })
                };
                let [d, e, f] = [middle(a, b), middle(b, c), middle(c, a)];
                faces.extend([[a, d, f], [d, b, e], [f, e, c], [d, e, f]]);
            }
            mesh.triangles = faces;
            mesh.positions.iter_mut().for_each(|x| *x = x.normalize());
        }
        mesh
    }

    #[test]
    fn the_curvature_of_an_irregular_sphere_converges() {
        let jittered = |times: usize| {
            let mut mesh = geodesic(times);
            let edge = 1.1 / 2f64.powi(times as i32);
            for (v, x) in mesh.positions.iter_mut().enumerate() {
                let v = v as f64;
                let shake = Vec3::new((v * 12.9).sin(), (v * 78.2).sin(), (v * 37.7).sin());
                *x = (*x + shake * 0.1 * edge).normalize();
            }
            errors(&mesh, VertexArea::Circumcentric, 2.0)
        };
        // Radius over edge 7 and 15. Gates three times what a prototype showed at 8: rms 1e-4, largest 5e-4.
        let (coarse, fine) = (jittered(3), jittered(4));
        assert!(coarse.0 < 3e-4 && coarse.1 < 1.5e-3, "{coarse:?}");
        assert!(fine.0 < 0.35 * coarse.0, "{coarse:?} {fine:?}");
    }

    #[test]
    fn an_icosahedron_has_the_curvature_of_its_sphere_everywhere() {
        let mesh = icosahedron();
        assert_eq!(mesh.triangles.len(), 20);
        let exact = 2.0 / mesh.positions[0].norm();
        // On a sphere the circumcentric area makes inscribed equilateral fans exact.
        for kind in [VertexArea::Mixed, VertexArea::Circumcentric] {
            assert!(errors(&mesh, kind, exact).1 < 1e-12, "{kind:?} {:?}", errors(&mesh, kind, exact));
        }
        let normals = vertex_normals(&mesh);
        assert!(normals.iter().zip(&mesh.positions).all(|(n, x)| (n - x.normalize()).norm() < 1e-12));
    }

    #[test]
    fn level_sets_of_planes_and_balls_curve_as_they_should() {
        let sample = |f: &dyn Fn(Vec3) -> f64, h: f64| -> [f64; 27] {
            std::array::from_fn(|i| {
                f(Vec3::new((i % 3) as f64 - 1.0, (i / 3 % 3) as f64 - 1.0, (i / 9) as f64 - 1.0) * h)
            })
        };
        let plane = |x: Vec3| 0.3 * x.x - 0.5 * x.y + 0.8 * x.z + 0.01;
        assert!(level_set_curvature(&sample(&plane, 0.1), 0.1, 3).abs() < 1e-12);
        let centre = Vec3::new(0.6, -0.3, 0.9);
        let error = |h: f64| {
            let ball = |x: Vec3| (x - centre).norm() - 1.0;
            (level_set_curvature(&sample(&ball, h), h, 3) - 2.0 / centre.norm()).abs()
        };
        assert!(error(0.05) < 1e-2 && error(0.05) < 0.27 * error(0.1));
        assert_eq!(level_set_curvature(&[0.0; 27], 0.1, 3), 0.0);
    }
}
