//! The graded lattice: its geometry is exact, so it is checked in whole numbers.

use meniscus::math::Vec3;
use meniscus::mesh::bcc::{FINEST, Lattice, NONE, Octree, OctreeCell, OctreeDomain, Sizing, TetShape};
use std::collections::{BTreeMap, BTreeSet};

fn domain(roots: u32, depth: u32, periodic: bool) -> OctreeDomain {
    OctreeDomain {
        origin: Vec3::zeros(),
        roots: [roots; 3],
        root_width: 1.0,
        depth,
        periodic,
        max_leaves: 1 << 22,
    }
}

fn lattice(domain: OctreeDomain, wants: impl Fn(&OctreeCell) -> bool + Sync) -> Lattice {
    Lattice::new(Octree::new(domain, wants).unwrap()).unwrap()
}

/// A number in [0,1) from a cell and a seed.
fn dice(cell: &OctreeCell, seed: u64) -> f64 {
    let mut h = seed ^ 0x9E37_79B9_7F4A_7C15;
    for v in [cell.level as u64, cell.index[0] as u64, cell.index[1] as u64, cell.index[2] as u64] {
        h = (h ^ v).wrapping_mul(0xFF51_AFD7_ED55_8CCD);
        h ^= h >> 32;
    }
    (h >> 11) as f64 / (1u64 << 53) as f64
}

/// A tree whose cells are refined at random, some of them deeply.
fn random(seed: u64, periodic: bool) -> Lattice {
    let depth = 2 + (seed % 4) as u32;
    let share = [0.15, 0.35, 0.6][(seed / 4 % 3) as usize];
    lattice(domain(3, depth, periodic), |c| dice(c, seed) < if c.level == 0 { 0.3 } else { share })
}

type Int3 = [i64; 3];

/// Exact geometry of a lattice.
struct Exact<'a> {
    l: &'a Lattice,
    period: i64,
    periodic: bool,
}

fn cross(a: Int3, b: Int3) -> Int3 {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

fn dot(a: Int3, b: Int3) -> i64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

fn add(a: Int3, b: Int3) -> Int3 {
    [a[0] + b[0], a[1] + b[1], a[2] + b[2]]
}

fn minus(a: Int3) -> Int3 {
    a.map(|x| -x)
}

impl<'a> Exact<'a> {
    fn new(l: &'a Lattice) -> Self {
        let d = l.octree().domain();
        let period = (d.roots[0] as i64 * FINEST as i64) << d.depth;
        Self { l, period, periodic: d.periodic }
    }

    fn step(&self, from: [i32; 3], to: [i32; 3]) -> Int3 {
        [0, 1, 2].map(|a| {
            let d = (to[a] - from[a]) as i64;
            let wraps = self.periodic && 2 * d.abs() > self.period;
            if wraps { d - d.signum() * self.period } else { d }
        })
    }

    fn vertex(&self, v: u32) -> [i32; 3] {
        self.l.vertices[v as usize]
    }

    /// Six times the volume of a tet.
    fn volume(&self, t: usize) -> i64 {
        let v = self.l.tets.vertices[t].map(|v| self.vertex(v));
        dot(self.step(v[0], v[1]), cross(self.step(v[0], v[2]), self.step(v[0], v[3])))
    }

    /// Twice the outward area vector of the facet opposite to vertex k.
    fn facet(&self, t: usize, k: usize) -> Int3 {
        let v = self.l.tets.vertices[t].map(|v| self.vertex(v));
        let f: Vec<_> = (0..4).filter(|&i| i != k).map(|i| v[i]).collect();
        let n = cross(self.step(f[0], f[1]), self.step(f[0], f[2]));
        if dot(n, self.step(f[0], v[k])) > 0 { minus(n) } else { n }
    }

    /// Twice the area vector of a face.
    fn face(&self, f: usize) -> Int3 {
        let v = self.l.faces.vertices[f];
        let at = |k: usize| self.step(self.vertex(v[0]), self.vertex(v[k]));
        if v[3] == NONE { cross(at(1), at(2)) } else { add(cross(at(1), at(2)), cross(at(2), at(3))) }
    }

    fn dual(&self, f: usize) -> Int3 {
        let [a, b] = self.l.faces.cells[f].map(|c| self.l.circumcentres[c as usize]);
        self.step(a, b)
    }

    /// Whether a facet lies on the side of the domain.
    fn on_wall(&self, t: usize, k: usize) -> bool {
        let v = self.l.tets.vertices[t].map(|v| self.vertex(v));
        let f: Vec<_> = (0..4).filter(|&i| i != k).map(|i| v[i]).collect();
        let side = |x: i32| x == 0 || x as i64 == self.period;
        !self.periodic && (0..3).any(|a| side(f[0][a]) && f.iter().all(|p| p[a] == f[0][a]))
    }

    fn check(&self) {
        self.check_tets();
        self.check_cells();
        self.check_faces();
    }

    fn check_tets(&self) {
        let l = self.l;
        let mut total = 0;
        for t in 0..l.tets.vertices.len() {
            assert!(self.volume(t) > 0);
            total += self.volume(t);
            let v = l.tets.vertices[t];
            let centre = l.circumcentres[l.tets.cell[t] as usize];
            let radius = |v: u32| dot(self.step(centre, self.vertex(v)), self.step(centre, self.vertex(v)));
            // The pressure of the cell sits at the circumcentre of each of its tets; on a wall, of the tet
            // together with its mirror image, of which the middle of the wall face is no vertex.
            let counts = |v: u32| v < l.first_wall_vertex;
            let (mirrored, sphere) = (v.iter().any(|&w| !counts(w)), v.iter().find(|&&w| counts(w)).unwrap());
            let sphere = radius(*sphere);
            assert!(v.iter().all(|&w| !counts(w) || radius(w) == sphere), "{:?}", l.tets.shape[t]);
            assert!(!mirrored || centre.iter().any(|&x| x == 0 || x as i64 == self.period));
            for k in 0..4 {
                let n = l.tets.neighbours[t][k];
                if n == NONE {
                    assert!(self.on_wall(t, k));
                    continue;
                }
                // Neighbours share three vertices and know each other.
                let w = l.tets.vertices[n as usize];
                let back = (0..4).find(|&j| l.tets.neighbours[n as usize][j] == t as u32).unwrap();
                assert!((0..4).filter(|&i| i != k).all(|i| w.contains(&v[i]) && w[back] != v[i]));
                // Delaunay: the vertex across is not inside the sphere, and on it only within the cell.
                let across = radius(w[back]);
                if counts(w[back]) {
                    assert!(across >= sphere);
                    assert_eq!(across == sphere, l.tets.cell[t] == l.tets.cell[n as usize]);
                }
            }
        }
        assert_eq!(total, 6 * self.period.pow(3));
    }

    fn check_cells(&self) {
        // Area vectors of the faces of a cell, and of its facets on walls, cancel.
        let l = self.l;
        let mut sum = vec![[0; 3]; l.cells()];
        for f in 0..l.faces.cells.len() {
            let [a, b] = l.faces.cells[f].map(|c| c as usize);
            sum[a] = add(sum[a], self.face(f));
            sum[b] = add(sum[b], minus(self.face(f)));
        }
        for (t, n) in l.tets.neighbours.iter().enumerate() {
            for k in (0..4).filter(|&k| n[k] == NONE) {
                let c = l.tets.cell[t] as usize;
                sum[c] = add(sum[c], self.facet(t, k));
            }
        }
        assert!(sum.iter().all(|s| *s == [0; 3]));
        for c in 0..l.cells() {
            let has = |&f: &u32| l.faces.cells[f as usize].contains(&(c as u32));
            assert!(l.faces_of(c).iter().all(has) && l.faces_of(c).is_sorted());
        }
        assert_eq!((0..l.cells()).map(|c| l.faces_of(c).len()).sum::<usize>(), 2 * l.faces.cells.len());
    }

    fn check_faces(&self) {
        let l = self.l;
        let mut pairs = BTreeSet::new();
        let mut triangles = 0;
        for f in 0..l.faces.cells.len() {
            let [a, b] = l.faces.cells[f];
            assert!(a != b && pairs.insert([a.min(b), a.max(b)]), "two faces between two cells");
            triangles += if l.faces.vertices[f][3] == NONE { 1 } else { 2 };
            // The dual edge is perpendicular to the face, leads along its normal, and is long enough.
            let (n, d) = (self.face(f), self.dual(f));
            assert_eq!(cross(n, d), [0; 3]);
            assert!(dot(n, d) > 0);
            assert!(dot(d, d) >= 1);
            let plain = |n: Int3, v: &Vec3, scale: f64| {
                (Vec3::new(n[0] as f64, n[1] as f64, n[2] as f64) * scale - v).norm() < 1e-14
            };
            let unit = l.octree().domain().unit();
            assert!(plain(n, &l.area_vector(f), 0.5 * unit * unit) && plain(d, &l.dual_edge(f), unit));
        }
        // Every facet between two cells is part of a face.
        let between = |t: usize, n: u32| n != NONE && l.tets.cell[n as usize] != l.tets.cell[t];
        let count: usize = (l.tets.neighbours.iter().enumerate())
            .map(|(t, n)| n.iter().filter(|&&n| between(t, n)).count())
            .sum();
        assert_eq!(count, 2 * triangles);
    }

    fn counts(&self) -> [usize; 6] {
        let mut counts = [0; 6];
        self.l.tets.shape.iter().for_each(|s| counts[*s as usize] += 1);
        counts
    }
}

/// The base cells that are refined, and the counts that follow.
type Case = (&'static str, Vec<[u32; 3]>, usize, usize, [usize; 6], usize, usize);

fn cases() -> Vec<Case> {
    let around = |edges_only: bool| {
        let steps = (0..27u32).map(|s| [s % 3, s / 3 % 3, s / 9]);
        let reach = |s: &[u32; 3]| s.iter().filter(|&&x| x != 1).count();
        steps.filter(|s| if edges_only { reach(s) == 2 } else { reach(s) > 0 }).collect::<Vec<_>>()
    };
    // Shapes in order: BCC, bisected, half pyramid, quadrisected, quarter octahedron, corner.
    vec![
        ("uniform", vec![], 64, 128, [768, 0, 0, 0, 0, 0], 768, 1536),
        ("one", vec![[1, 1, 1]], 71, 154, [768, 48, 48, 48, 0, 0], 816, 1704),
        ("at an edge", vec![[1, 1, 1], [2, 2, 1]], 78, 179, [772, 80, 96, 96, 4, 8], 872, 1874),
        ("at a corner", vec![[1, 1, 1], [2, 2, 2]], 78, 180, [768, 84, 96, 96, 6, 12], 870, 1878),
        ("bent", vec![[1, 1, 1], [2, 1, 1], [1, 2, 1]], 85, 196, [832, 92, 112, 112, 2, 4], 946, 2041),
        ("edges", around(true), 148, 416, [864, 240, 576, 576, 72, 144], 1444, 3432),
        ("shell", around(false), 246, 588, [2208, 288, 480, 480, 0, 0], 2672, 5796),
    ]
}

#[test]
fn small_lattices_have_the_counts_found_by_hand() {
    for (name, refined, leaves, vertices, shapes, cells, faces) in cases() {
        let l = lattice(domain(4, 1, true), |c| refined.contains(&c.index));
        assert_eq!((l.octree().leaves(), l.vertices.len()), (leaves, vertices), "{name}");
        let exact = Exact::new(&l);
        assert_eq!(exact.counts(), shapes, "{name}");
        assert_eq!((l.cells(), l.faces.cells.len()), (cells, faces), "{name}");
        exact.check();
    }
}

#[test]
fn random_lattices_fill_space_and_are_delaunay() {
    for seed in 0..48 {
        Exact::new(&random(seed, seed % 2 == 0)).check();
    }
}

#[test]
fn walls_halve_what_a_mirror_doubles() {
    // A lattice within walls is half of the periodic one that continues it by reflection.
    let seed = 7;
    let inner = lattice(domain(2, 3, false), |c| dice(c, seed) < 0.4);
    let fold = |c: &OctreeCell| {
        let n = 2 << c.level;
        let index = c.index.map(|i| if i < n { i } else { 2 * n - 1 - i });
        OctreeCell { index, ..*c }
    };
    let mirrored = lattice(domain(4, 3, true), |c| dice(&fold(c), seed) < 0.4);
    let size = (2 * FINEST) << 3;
    let within = |c: &[i32; 3]| c.iter().all(|&x| x <= size);
    let wrapped = |c: &[i32; 3]| c.map(|x| x.rem_euclid(2 * size));
    let centres =
        |l: &Lattice| l.circumcentres.iter().map(wrapped).filter(within).collect::<BTreeSet<[i32; 3]>>();
    assert!(centres(&inner) == centres(&mirrored));
    assert_eq!(centres(&inner).len(), inner.cells());
    assert_eq!(mirrored.octree().leaves(), 8 * inner.octree().leaves());
    Exact::new(&inner).check();
}

/// Cells by the shapes of their tets.
fn cell_kinds(l: &Lattice) -> BTreeMap<Vec<TetShape>, usize> {
    let mut shapes = vec![Vec::new(); l.cells()];
    for (cell, shape) in l.tets.cell.iter().zip(&l.tets.shape) {
        shapes[*cell as usize].push(*shape);
    }
    let mut kinds = BTreeMap::new();
    for mut s in shapes {
        s.sort();
        *kinds.entry(s).or_insert(0) += 1;
    }
    kinds
}

#[test]
fn cells_have_thirteen_shapes() {
    use TetShape::*;
    let mut expected = BTreeSet::new();
    let mut add = |parts: &[(TetShape, usize)]| {
        expected.insert(parts.iter().flat_map(|&(s, n)| vec![s; n]).collect::<Vec<_>>());
    };
    add(&[(Bcc, 1)]);
    add(&[(HalfPyramid, 2)]);
    add(&[(Bcc, 1), (Bisected, 1)]);
    add(&[(Bcc, 1), (Bisected, 2)]);
    add(&[(Quadrisected, 2)]);
    add(&[(Quadrisected, 2), (Corner, 2)]);
    add(&[(Quadrisected, 4), (Corner, 1)]);
    add(&[(Quadrisected, 6)]);
    add(&[(Corner, 1)]);
    add(&[(Corner, 3)]);
    add(&[(Quarter, 1)]);
    add(&[(Quarter, 2)]);
    add(&[(Quarter, 4)]);
    let mut seen = BTreeSet::new();
    for seed in (0..48).step_by(2) {
        seen.extend(cell_kinds(&random(seed, true)).into_keys());
    }
    assert_eq!(seen, expected);
}

#[test]
fn faces_look_in_thirteen_directions() {
    // Three along the axes, six along the diagonals of squares, four along those of cubes.
    let mut seen = BTreeSet::new();
    for seed in 0..12 {
        let l = random(seed, true);
        let exact = Exact::new(&l);
        for f in 0..l.faces.cells.len() {
            let n = exact.face(f);
            let size = n.iter().map(|x| x.abs()).max().unwrap();
            assert!(n.iter().all(|x| *x == 0 || x.abs() == size), "{n:?}");
            let first = n.iter().find(|x| **x != 0).unwrap().signum();
            seen.insert(n.map(|x| x.signum() * first));
        }
    }
    assert_eq!(seen.len(), 13);
}

#[test]
fn cells_are_convex() {
    for seed in 0..12 {
        let l = random(seed, true);
        let exact = Exact::new(&l);
        let mut vertices = vec![Vec::new(); l.cells()];
        for (cell, v) in l.tets.cell.iter().zip(&l.tets.vertices) {
            vertices[*cell as usize].extend(v);
        }
        for (c, own) in vertices.iter().enumerate() {
            for &f in l.faces_of(c) {
                let f = f as usize;
                let outward =
                    if l.faces.cells[f][0] == c as u32 { exact.dual(f) } else { minus(exact.dual(f)) };
                let on = exact.vertex(l.faces.vertices[f][0]);
                let above = |v: &u32| dot(outward, exact.step(on, exact.vertex(*v))) > 0;
                assert!(!own.iter().any(above), "cell {c}");
            }
        }
    }
}

#[test]
fn volumes_of_tets_follow_from_their_shapes_and_longest_edges() {
    for seed in (0..12).step_by(2) {
        let l = random(seed, true);
        let exact = Exact::new(&l);
        for (t, shape) in l.tets.shape.iter().enumerate() {
            let v = l.tets.vertices[t].map(|v| exact.vertex(v));
            let edge = |i: usize, j: usize| dot(exact.step(v[i], v[j]), exact.step(v[i], v[j]));
            let pairs = [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)];
            let longest = pairs.iter().map(|&(i, j)| edge(i, j)).max().unwrap() as i128;
            // With w the width of the leaf: six volumes, and the square of the longest edge in w².
            let six = exact.volume(t) as i128;
            let (parts, [over, under]) = match shape {
                TetShape::Bcc => (2, [1, 1]),
                TetShape::Bisected | TetShape::Quarter => (4, [1, 1]),
                TetShape::HalfPyramid => (2, [2, 1]),
                TetShape::Quadrisected => (1, [3, 1]),
                TetShape::Corner => (8, [3, 4]),
            };
            let power = |x: i128| x * x * x;
            assert_eq!((parts * six).pow(2) * power(over), power(longest * under), "{shape:?}");
        }
    }
}

#[test]
fn tets_and_leaves_are_counted_by_the_faces_between_leaves() {
    for seed in (0..48).step_by(2) {
        let l = random(seed, true);
        let count = |shape: TetShape| l.tets.shape.iter().filter(|s| **s == shape).count();
        let [bcc, bisected, half, quadri, quarter, corner] = [
            TetShape::Bcc,
            TetShape::Bisected,
            TetShape::HalfPyramid,
            TetShape::Quadrisected,
            TetShape::Quarter,
            TetShape::Corner,
        ]
        .map(count);
        // Every cut corner makes a quarter of an octahedron and two corner tets; a split edge two halves.
        assert_eq!(corner, 2 * quarter);
        assert_eq!(half, quadri);
        let (uneven, split) = (half / 2, (bisected + 2 * quarter) / 2);
        let equal = (bcc + split) / 4;
        assert_eq!(l.tets.shape.len(), 4 * equal + split + quarter + 4 * uneven);
        assert_eq!(8 * equal + 5 * uneven, 24 * l.octree().leaves());
    }
}

#[test]
fn facets_between_cells_are_those_of_the_table() {
    use TetShape::*;
    // Shapes, dual edge and area in widths of the larger leaf; the fine side of a coarse face has half of it.
    let half = 0.5f64.sqrt();
    let table = [
        (Bcc, Bcc, 0.5 * half, 0.5 * half),
        (Bcc, HalfPyramid, half, 0.5 * half),
        (HalfPyramid, HalfPyramid, 1.5 * half, 0.5 * half),
        (Bisected, Bisected, half, 0.25 * half),
        (Bisected, Corner, 0.5 * half, 0.25 * half),
        (Bisected, Quadrisected, 0.5 * half, 0.25 * half),
        (Bisected, Bisected, 0.5, 0.25),
        (Bisected, Quarter, 0.25, 0.25),
        (Quarter, Corner, 0.1875f64.sqrt(), 0.046875f64.sqrt()),
        (Corner, Corner, 0.5, 0.125),
        (Quadrisected, Quadrisected, 0.5, 0.125),
        (HalfPyramid, Quadrisected, 0.125, 0.125),
    ];
    let signature = |ratio: f64| (1e6 * ratio).round() as i64;
    let ordered = |a: TetShape, b: TetShape| if a < b { (a, b) } else { (b, a) };
    let expected: BTreeSet<_> =
        table.iter().map(|&(a, b, d, area)| (ordered(a, b), signature(d / area.sqrt()))).collect();
    let mut seen = BTreeSet::new();
    for seed in (0..48).step_by(2) {
        let l = random(seed, true);
        let exact = Exact::new(&l);
        for (t, neighbours) in l.tets.neighbours.iter().enumerate() {
            for (k, &n) in neighbours.iter().enumerate() {
                let cells = [l.tets.cell[t], l.tets.cell[n as usize]];
                if cells[0] != cells[1] {
                    let [a, b] = cells.map(|c| l.circumcentres[c as usize]);
                    let (d, f) = (exact.step(a, b), exact.facet(t, k));
                    let area = 0.5 * (dot(f, f) as f64).sqrt();
                    let shapes = ordered(l.tets.shape[t], l.tets.shape[n as usize]);
                    seen.insert((shapes, signature((dot(d, d) as f64 / area).sqrt())));
                }
            }
        }
    }
    assert_eq!(seen, expected);
}

#[test]
fn dihedral_angles_are_bounded() {
    let (mut least, mut most) = (180.0f64, 0.0f64);
    for seed in (0..24).step_by(2) {
        let l = random(seed, true);
        let exact = Exact::new(&l);
        for t in 0..l.tets.vertices.len() {
            let n = [0, 1, 2, 3].map(|k| exact.facet(t, k).map(|x| x as f64));
            for (i, j) in [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)] {
                let (a, b) = (Vec3::from(n[i]), Vec3::from(n[j]));
                let angle = 180.0 - (a.dot(&b) / (a.norm() * b.norm())).acos().to_degrees();
                (least, most) = (least.min(angle), most.max(angle));
            }
        }
    }
    // The corner tet has both extremes: atan(1/√2) and 180° − acos(1/√3).
    assert!((least - 0.5f64.sqrt().atan().to_degrees()).abs() < 1e-9, "{least}");
    assert!((most - 180.0 + (1.0 / 3f64.sqrt()).acos().to_degrees()).abs() < 1e-9, "{most}");
}

#[test]
fn a_linear_pressure_has_its_exact_gradient_across_every_face() {
    let l = random(6, true);
    let g = Vec3::new(0.3, -1.7, 0.9);
    for f in 0..l.faces.cells.len() {
        let (d, n) = (l.dual_edge(f), l.area_vector(f).normalize());
        assert!((g.dot(&d) / d.norm() - g.dot(&n)).abs() < 1e-14);
    }
}

#[test]
fn one_thread_and_three_build_the_same_lattice() {
    let build = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| random(11, false))
    };
    let (a, b) = (build(1), build(3));
    assert!(a.vertices == b.vertices && a.circumcentres == b.circumcentres);
    assert!(a.tets.vertices == b.tets.vertices && a.tets.neighbours == b.tets.neighbours);
    assert!(a.tets.cell == b.tets.cell && a.tets.shape == b.tets.shape);
    assert!(a.faces.cells == b.faces.cells && a.faces.vertices == b.faces.vertices);
}

/// The narrowest and the widest leaf that a ball of the domain meets.
fn widths(tree: &Octree, near: impl Fn(&Vec3) -> bool) -> (f64, f64) {
    let d = tree.domain();
    let width = |l: usize| d.root_width / (1u64 << tree.level(tree.node(l))) as f64;
    let steps = 40;
    let side = d.roots[0] as f64 * d.root_width;
    let at = |i: usize| (i as f64 + 0.5) / steps as f64 * side;
    let points = (0..steps * steps * steps)
        .map(|i| Vec3::new(at(i % steps), at(i / steps % steps), at(i / steps / steps)));
    let seen = points.filter(|x| near(x)).map(|x| width(tree.locate(&x)));
    seen.fold((f64::INFINITY, 0.0), |(a, b), w| (a.min(w), b.max(w)))
}

#[test]
fn wishes_decide_how_fine_the_cells_are() {
    let middle = Vec3::repeat(2.0);
    let build = |s: Sizing| Octree::new(domain(4, 4, false), |c| s.refines(c)).unwrap();
    let shell = move |x: &Vec3| (x - middle).norm() - 1.0;
    // The whole band is finest, and far away the cells are wide.
    let tree = build(Sizing::new().near(shell, 0.125, 0.1, 1.0));
    assert_eq!(widths(&tree, |x| shell(x).abs() < 0.1), (0.125, 0.125));
    assert_eq!(widths(&tree, |x| (x - middle).norm() > 3.0).0, 0.5);
    // A painted region is fine inside.
    let tree = build(Sizing::new().inside(shell, 0.25, 1.0));
    assert_eq!(widths(&tree, |x| shell(x) < 0.0), (0.25, 0.25));
    // Shear by 2 m/s over a metre at x = 1 wants cells of 0.125 m for changes of 0.25 m/s.
    let shear = |x: &Vec3| Vec3::new(0.0, if x.x < 1.0 { 2.0 * x.x } else { 2.0 }, 0.0);
    let tree = build(Sizing::new().velocity(shear, 0.25));
    assert_eq!(widths(&tree, |x| x.x < 0.9), (0.125, 0.125));
    assert_eq!(widths(&tree, |x| x.x > 2.0).1, 1.0);
    // Seen from afar, nothing is finer than the camera resolves, and beside its view less.
    let eye = Vec3::new(-4.0, 2.0, 2.0);
    let fine = || Sizing::new().near(|x| x.y - 2.0, 0.0625, 0.1, 1.0);
    let (far, near) = (|x: &Vec3| (x.y - 2.0).abs() < 0.1 && x.x > 3.5, |x: &Vec3| (x.y - 2.0).abs() < 0.1);
    assert_eq!(widths(&build(fine()), near).0, 0.0625);
    let tree = build(fine().camera(eye, Vec3::x(), 0.03, 0.5, 8.0));
    assert!(widths(&tree, far).0 > 0.1 && widths(&tree, near).0 < 0.13);
    let tree = build(fine().camera(eye, -Vec3::x(), 0.03, 0.5, 8.0));
    assert!(widths(&tree, near).0 > 0.4);
}

#[test]
fn a_lattice_is_kept_while_the_surface_stays_in_its_band() {
    let level = |height: f64, band: f64| Sizing::new().near(move |x| x.y - height, 0.125, band, 1.0);
    let wide = level(2.03, 0.3);
    let tree = Octree::new(domain(4, 4, false), |c| wide.refines(c)).unwrap();
    let still_good = |height: f64| {
        let narrow = level(height, 0.1);
        tree.suffices(|c| narrow.refines(c))
    };
    assert!(still_good(2.03) && still_good(2.15) && still_good(1.9));
    assert!(!still_good(2.6) && !still_good(1.3));
}
