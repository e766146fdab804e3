//! How fast the error of pressure falls on the lattice, at curved walls and surfaces.
//!
//! A ball is the container, and a larger ball of air may dip into it. **Projection**: U + ∇p must become U, which
//! is free of divergence and moves the wall with it. **Poisson**: −Δp = f with the slope of p given on the wall.
//! On equal cells the mean error falls with the square of their width, where cells grade at least with its power 1.7; the
//! largest error may fall a little slower, since how the boundary falls on the cells differs from lattice to lattice.

use super::{Effort, Figure};
use crate::cancel::Cancel;
use crate::error::Result;
use crate::geometry::fraction;
use crate::math::Vec3;
use crate::math::elementary::{log, sin_cos};
use crate::mesh::bcc::{Lattice, Octree, OctreeCell, OctreeDomain};
use crate::solver::bcc::{Cut, Embedded, open_shares};

/// Sixteen orders: two equations, with and without a surface, equal and graded cells, mean and greatest error.
pub fn convergence(_: Effort, cancel: &Cancel) -> Result<Vec<Figure>> {
    let mut figures = Vec::new();
    for (kind, make, gates) in
        [("equal", equal as fn(u32) -> Result<Lattice>, [1.9, 1.7]), ("graded", graded, [1.7, 1.4])]
    {
        for (name, error) in [("projection", projection_error as Experiment), ("poisson", poisson_error)] {
            for with_surface in [false, true] {
                let coarse = error(&make(3)?, with_surface, cancel)?;
                let fine = error(&make(4)?, with_surface, cancel)?;
                let order = |a: f64, b: f64| log(a / b) / std::f64::consts::LN_2;
                let label = if with_surface { "surface" } else { "closed" };
                let found = [order(coarse.mean, fine.mean), order(coarse.most, fine.most)];
                for ((what, value), gate) in ["mean", "most"].iter().zip(found).zip(gates) {
                    // At least the gate; more than two is luck.
                    let title = format!("order-{name}-{kind}-{label}-{what}");
                    figures.push(Figure::new(title, value.min(2.0), 2.0, 2.0 - gate));
                }
            }
        }
    }
    Ok(figures)
}

type Experiment = fn(&Lattice, bool, &Cancel) -> Result<Errors>;

fn lattice(depth: u32, wants: impl Fn(&OctreeCell) -> bool + Sync) -> Result<Lattice> {
    let (origin, roots) = (Vec3::zeros(), [4; 3]);
    let domain =
        OctreeDomain { origin, roots, root_width: 0.25, depth, periodic: false, max_leaves: 1 << 22 };
    Lattice::new(Octree::new(domain, wants)?)
}

fn equal(depth: u32) -> Result<Lattice> {
    lattice(depth, |_| true)
}

/// Three sizes of cells side by side, the steps between them oblique and across every surface. The size goes
/// by root cell, so that it stays in place when `depth` grows.
fn graded(depth: u32) -> Result<Lattice> {
    lattice(depth, |c| {
        let root = c.index.map(|i| (i >> c.level) as f64 + 0.5);
        let from = root[0] + 0.3 * root[1] - 0.2 * root[2];
        let coarser = [1.6, 2.8].iter().filter(|&&step| from > step).count();
        c.level + coarser < depth as usize
    })
}

fn at_vertices(l: &Lattice, f: impl Fn(&Vec3) -> f64) -> Vec<f64> {
    (0..l.vertices.len()).map(|v| f(&l.vertex(v as u32))).collect()
}

fn at_cells(l: &Lattice, f: impl Fn(&Vec3) -> f64) -> Vec<f64> {
    (0..l.cells()).map(|c| f(&l.circumcentre(c as u32))).collect()
}

/// The component of a velocity field along the normal of each face, at its middle.
fn at_faces(l: &Lattice, u: impl Fn(&Vec3) -> Vec3) -> Vec<f64> {
    let along = |f: usize| u(&l.face_middle(f)).dot(&l.area_vector(f).normalize());
    (0..l.faces.cells.len()).map(along).collect()
}

/// The pressure that is looked for, its gradient and its Laplacian.
fn exact(x: &Vec3) -> (f64, Vec3, f64) {
    let ((s, c), (sz, cz)) = (sin_cos(2.0 * x.x + x.y), sin_cos(1.5 * x.z));
    let gradient = Vec3::new(2.0 * c * cz, c * cz + 2.0 * x.y * x.z, -1.5 * s * sz + x.y * x.y);
    (s * cz + x.y * x.y * x.z, gradient, -7.25 * s * cz + 2.0 * x.z)
}

const MIDDLE: [f64; 3] = [0.5, 0.48, 0.52];
const RADIUS: f64 = 0.43;

/// A ball is the container: positive inside.
fn container(x: &Vec3) -> f64 {
    RADIUS - (x - Vec3::from(MIDDLE)).norm()
}

/// The liquid lies outside a large ball of air that dips into the container, or fills it.
fn surface(x: &Vec3, with_surface: bool) -> f64 {
    if with_surface { 0.9 - (x - Vec3::new(0.45, 1.43, 0.5)).norm() } else { -1.0 }
}

/// Errors of p: root mean square and largest.
struct Errors {
    mean: f64,
    most: f64,
}

/// Errors at the circumcentres inside the container, by volume; without a surface the constant is open.
fn errors(l: &Lattice, cells: &[u32], found: &[f64], with_surface: bool) -> Errors {
    let weight = l.cell_volumes();
    let inside = |&&c: &&u32| container(&l.circumcentre(c)) > 0.0;
    let cells: Vec<u32> = cells.iter().filter(inside).copied().collect();
    let mean = |f: &dyn Fn(u32) -> f64| {
        let total: f64 = cells.iter().map(|&c| weight[c as usize]).sum();
        cells.iter().map(|&c| weight[c as usize] * f(c)).sum::<f64>() / total
    };
    let error = |c: u32| found[c as usize] - exact(&l.circumcentre(c)).0;
    let shift = if with_surface { 0.0 } else { mean(&error) };
    let square = mean(&|c| (error(c) - shift).powi(2));
    Errors { mean: square.sqrt(), most: cells.iter().fold(0.0, |m, &c| m.max((error(c) - shift).abs())) }
}

/// Solve for the pressure that turns U + ∇p into U, with walls that move with U.
fn projection_error(l: &Lattice, with_surface: bool, cancel: &Cancel) -> Result<Errors> {
    // Free of divergence, and neither zero nor linear at the walls.
    let flow = |x: &Vec3| Vec3::new(x.y * x.y - x.z, x.z * x.x + 0.5 * x.y, x.x * x.x - 0.5 * x.z);
    let open = open_shares(l, &at_vertices(l, container))?;
    let liquid = at_cells(l, |x| surface(x, with_surface));
    let velocity = at_faces(l, |x| flow(x) + exact(x).1);
    let cut = Cut { lattice: l, open: &open, liquid: &liquid, velocity: &velocity };
    let mut embedded = Embedded::new(&cut, |x| exact(x).0, flow)?;
    let mut found = vec![0.0; l.cells()];
    embedded.project(1.0, &mut found, 1e-10, cancel)?;
    Ok(errors(l, &embedded.cells, &found, with_surface))
}

/// Solve −Δp = f with ∂p/∂n given on the curved wall and p on the curved surface.
fn poisson_error(l: &Lattice, with_surface: bool, cancel: &Cancel) -> Result<Errors> {
    let solid = at_vertices(l, container);
    let open = open_shares(l, &solid)?;
    let liquid = at_cells(l, |x| surface(x, with_surface));
    let velocity = vec![0.0; open.len()];
    let cut = Cut { lattice: l, open: &open, liquid: &liquid, velocity: &velocity };
    let mut embedded = Embedded::new(&cut, |x| exact(x).0, |_| Vec3::zeros())?;
    // The source over the open part of each cell, tet by tet.
    let mut source = vec![0.0; l.cells()];
    for (t, v) in l.tets.vertices.iter().enumerate() {
        let share = fraction::tet(v.map(|v| -solid[v as usize]));
        let middle = v.iter().map(|&v| l.vertex(v)).sum::<Vec3>() / 4.0;
        source[l.tets.cell[t] as usize] -= share * l.tet_volume(t) * exact(&middle).2;
    }
    // The area of the wall in a cell is what its open faces lack to be closed; its flow is taken on the wall.
    let mut wall = vec![Vec3::zeros(); l.cells()];
    for (f, open) in open.iter().enumerate() {
        let closed = l.area_vector(f) * (1.0 - open);
        let [a, b] = l.faces.cells[f].map(|c| c as usize);
        wall[a] += closed;
        wall[b] -= closed;
    }
    for (i, &c) in embedded.cells.iter().enumerate() {
        let outward = l.circumcentre(c) - Vec3::from(MIDDLE);
        let on_wall = Vec3::from(MIDDLE) + outward * (RADIUS / outward.norm());
        embedded.graph.source[i] = source[c as usize];
        embedded.graph.solid_outflow[i] = -exact(&on_wall).1.dot(&wall[c as usize]);
    }
    let mut found = vec![0.0; l.cells()];
    embedded.project(1.0, &mut found, 1e-10, cancel)?;
    Ok(errors(l, &embedded.cells, &found, with_surface))
}
