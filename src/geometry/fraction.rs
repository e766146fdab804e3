//! Fractions of segments, triangles, rectangles, convex polygons, tets and boxes cut by a distance.
//!
//! Given the signed distance φ at the corners of an element, each function returns the share of its
//! length, area or volume where φ < 0. The distance is linear on simplices, so with a, b, … the
//! corners and t_ac = φ_a/(φ_a − φ_c) the share of edge ac on the side of a,
//!
//! ```text
//! segment   one corner inside   t_ab
//! triangle  one corner inside   t_ab t_ac
//! tet       one corner inside   t_ab t_ac t_ad
//! tet       two corners inside  t_ac t_ad + t_ac t_bd (1 − t_ad) + t_bc t_bd (1 − t_ac)
//! ```
//!
//! and all other cases are complements. Every term is positive, so nothing cancels. The last row is
//! the wedge A P_ac P_ad – B P_bc P_bd cut in three tets. A rectangle is four triangles about its
//! centre, a box 24 tets about its centre and the centres of its faces, with mean values there. So
//! they are exact for linear φ, continuous in the values, and the same seen from every side.
//!
//! What is inside two distances at once, φ and ψ, is the share of φ in what ψ leaves of each tet: one tet, the rest of
//! one, or the three of the wedge. The greater of the two at the corners would not do: where both cut an element it
//! bends between them, and of a layer between two parallel planes it sees nothing if no corner lies in the layer.
//!
//! Signs: negative is inside. Swapping the sign of φ gives the complement to round-off. There is one
//! exception: an element on which φ vanishes at every corner counts as inside, so that a grid face
//! that lies in the surface of a solid is closed.
//! Checked below against cut planes and against random points.

use crate::math::Vec3;

/// Share of a segment where φ < 0.
#[inline]
pub fn segment(phi: [f64; 2]) -> f64 {
    outer(&phi, || segment_part(phi))
}

/// Share of a triangle where φ < 0.
#[inline]
pub fn triangle(phi: [f64; 3]) -> f64 {
    outer(&phi, || triangle_part(phi))
}

/// Share of a rectangle where φ < 0; corners (0,0), (1,0), (0,1), (1,1).
#[inline]
pub fn rectangle(phi: [f64; 4]) -> f64 {
    outer(&phi, || rectangle_part(phi))
}

/// Share of a tet where φ < 0.
#[inline]
pub fn tet(phi: [f64; 4]) -> f64 {
    outer(&phi, || tet_part(phi))
}

/// Share of a box where φ < 0; corners with x fastest, then y, then z.
#[inline]
pub fn cube(phi: [f64; 8]) -> f64 {
    outer(&phi, || cube_part(phi))
}

/// Share of a box where φ < 0 and ψ < 0; corners as in [`cube`].
pub fn cube_inside_both(phi: [f64; 8], psi: [f64; 8]) -> f64 {
    let is_cut = |p: &[f64; 8]| p.iter().any(|p| *p < 0.0) && p.iter().any(|p| *p > 0.0);
    match is_cut(&phi) && is_cut(&psi) {
        true => both_part(phi, psi),
        // One of the two is all or nothing.
        false => cube(phi) * cube(psi),
    }
}

/// Share of the area of a convex polygon where φ < 0. Corners in order, in space.
///
/// A polygon without area gives the mean of its fan's fractions, one without corners gives 0.
pub fn polygon(corners: &[Vec3], phi: &[f64]) -> f64 {
    let n = corners.len().min(phi.len());
    if n == 0 {
        return 0.0;
    }
    outer(&phi[..n], || polygon_part(&corners[..n], &phi[..n]))
}

/// The cases that need no geometry: nothing inside, or everything.
#[inline]
fn outer(phi: &[f64], cut: impl FnOnce() -> f64) -> f64 {
    let (mut negative, mut positive) = (false, false);
    for &p in phi {
        negative |= p < 0.0;
        positive |= p > 0.0;
    }
    match (negative, positive) {
        (_, false) => 1.0,
        (false, true) => 0.0,
        (true, true) => cut(),
    }
}

/// Share of the edge from a (inside) to b (not inside) that is inside.
#[inline]
fn share(a: f64, b: f64) -> f64 {
    a / (a - b)
}

#[inline]
fn segment_part([a, b]: [f64; 2]) -> f64 {
    match (a < 0.0, b < 0.0) {
        (true, true) => 1.0,
        (true, false) => share(a, b),
        (false, true) => share(b, a),
        (false, false) if a == 0.0 && b == 0.0 => 0.5,
        (false, false) => 0.0,
    }
}

/// As [`triangle`], but half where φ vanishes, so that complements of composite elements add up.
#[inline]
fn triangle_part(phi: [f64; 3]) -> f64 {
    let [a, b, c] = phi;
    let code = (a < 0.0) as u8 | ((b < 0.0) as u8) << 1 | ((c < 0.0) as u8) << 2;
    match code {
        0 if phi == [0.0; 3] => 0.5,
        0 => 0.0,
        1 => share(a, b) * share(a, c),
        2 => share(b, a) * share(b, c),
        4 => share(c, a) * share(c, b),
        6 => 1.0 - share(a, b) * share(a, c),
        5 => 1.0 - share(b, a) * share(b, c),
        3 => 1.0 - share(c, a) * share(c, b),
        _ => 1.0,
    }
}

#[inline]
fn rectangle_part([a, b, c, d]: [f64; 4]) -> f64 {
    let m = mean(&[a, b, c, d]);
    0.25 * (triangle_part([m, a, b])
        + triangle_part([m, b, d])
        + triangle_part([m, d, c])
        + triangle_part([m, c, a]))
}

/// As [`tet`], but half where φ vanishes.
#[inline]
fn tet_part(phi: [f64; 4]) -> f64 {
    let mut sorted = phi;
    for (i, j) in [(0, 1), (2, 3), (0, 2), (1, 3), (1, 2)] {
        if sorted[j] < sorted[i] {
            sorted.swap(i, j);
        }
    }
    let [a, b, c, d] = sorted;
    if a >= 0.0 {
        return if d == 0.0 { 0.5 } else { 0.0 };
    }
    if d < 0.0 {
        return 1.0;
    }
    if b >= 0.0 {
        return share(a, b) * share(a, c) * share(a, d);
    }
    if c < 0.0 {
        return 1.0 - share(d, a) * share(d, b) * share(d, c);
    }
    let (ac, ad, bc, bd) = (share(a, c), share(a, d), share(b, c), share(b, d));
    ac * ad + ac * bd * (1.0 - ad) + bc * bd * (1.0 - ac)
}

/// Corners of the six faces of a box, each round the face.
const FACES: [[usize; 4]; 6] =
    [[0, 2, 6, 4], [1, 3, 7, 5], [0, 1, 5, 4], [2, 3, 7, 6], [0, 1, 3, 2], [4, 5, 7, 6]];

fn cube_part(phi: [f64; 8]) -> f64 {
    let centre = mean(&phi);
    let mut sum = 0.0;
    for face in FACES {
        let p = face.map(|c| phi[c]);
        let m = mean(&p);
        for e in 0..4 {
            sum += tet_part([centre, m, p[e], p[(e + 1) % 4]]);
        }
    }
    sum / 24.0
}

fn both_part(phi: [f64; 8], psi: [f64; 8]) -> f64 {
    let middle = [mean(&phi), mean(&psi)];
    let mut sum = 0.0;
    for face in FACES {
        let corner = face.map(|c| [phi[c], psi[c]]);
        let m = [0, 1].map(|k| mean(&corner.map(|c| c[k])));
        for e in 0..4 {
            sum += tet_both_part([middle, m, corner[e], corner[(e + 1) % 4]]);
        }
    }
    sum / 24.0
}

/// Share of a tet in which both of two distances are negative, given at its corners.
fn tet_both_part(mut corners: [[f64; 2]; 4]) -> f64 {
    let phi = |corners: [[f64; 2]; 4]| tet_part(corners.map(|c| c[0]));
    for (i, j) in [(0, 1), (2, 3), (0, 2), (1, 3), (1, 2)] {
        if corners[j][1] < corners[i][1] {
            corners.swap(i, j);
        }
    }
    let [a, b, c, d] = corners;
    if a[1] >= 0.0 {
        return if d[1] == 0.0 { 0.5 * phi(corners) } else { 0.0 };
    }
    if d[1] < 0.0 {
        return phi(corners);
    }
    // Where ψ vanishes on an edge, and how far from its first end.
    let cut = |from: [f64; 2], to: [f64; 2]| {
        let t = share(from[1], to[1]);
        ([from[0] + t * (to[0] - from[0]), 0.0], t)
    };
    if b[1] >= 0.0 {
        let [(ab, t), (ac, u), (ad, v)] = [cut(a, b), cut(a, c), cut(a, d)];
        return t * u * v * phi([a, ab, ac, ad]);
    }
    if c[1] < 0.0 {
        let [(da, t), (db, u), (dc, v)] = [cut(d, a), cut(d, b), cut(d, c)];
        return (phi(corners) - t * u * v * phi([d, da, db, dc])).max(0.0);
    }
    let [(ac, t), (ad, u), (bc, v), (bd, w)] = [cut(a, c), cut(a, d), cut(b, c), cut(b, d)];
    t * u * phi([a, b, ac, ad])
        + t * w * (1.0 - u) * phi([b, ac, ad, bd])
        + v * w * (1.0 - t) * phi([b, ac, bc, bd])
}

fn polygon_part(corners: &[Vec3], phi: &[f64]) -> f64 {
    let n = corners.len();
    let weight = 1.0 / n as f64;
    let (mut centre, mut value) = (Vec3::zeros(), 0.0);
    for (x, p) in corners.iter().zip(phi) {
        centre += x * weight;
        value += p * weight;
    }
    let (mut area, mut inside, mut plain) = (0.0, 0.0, 0.0);
    for e in 0..n {
        let f = (e + 1) % n;
        let twice = (corners[e] - centre).cross(&(corners[f] - centre)).norm();
        let part = triangle_part([value, phi[e], phi[f]]);
        area += twice;
        inside += twice * part;
        plain += weight * part;
    }
    if area > 0.0 && area.is_finite() { inside / area } else { plain }
}

/// The mean, dividing first so that huge values do not overflow.
#[inline]
fn mean(phi: &[f64]) -> f64 {
    let weight = 1.0 / phi.len() as f64;
    phi.iter().map(|p| p * weight).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_inside_two_planes_is_what_points_find() {
        let mut dice = Dice(7);
        let corner = |c: usize| Vec3::from_fn(|a, _| (c >> a & 1) as f64);
        for _ in 0..40 {
            let mut plane = || {
                let n = Vec3::from_fn(|_, _| dice.signed());
                let at = Vec3::from_fn(|_, _| dice.roll());
                move |x: Vec3| n.dot(&(x - at))
            };
            let (phi, psi) = (plane(), plane());
            let found = cube_inside_both(
                std::array::from_fn(|c| phi(corner(c))),
                std::array::from_fn(|c| psi(corner(c))),
            );
            let side = 40;
            let point = |k: usize| {
                let at = [k % side, k / side % side, k / side / side].map(|i| (i as f64 + 0.5) / side as f64);
                Vec3::from(at)
            };
            let inside = (0..side.pow(3)).map(point).filter(|x| phi(*x) < 0.0 && psi(*x) < 0.0).count();
            let counted = inside as f64 / side.pow(3) as f64;
            // A plane crosses few of the small boxes, and their halves cancel.
            assert!((found - counted).abs() < 0.005, "{found} {counted}");
        }
    }

    #[test]
    fn a_layer_between_corners_is_seen() {
        // From a fifth to a third of the height, along an axis and across a diagonal.
        let along = |c: usize| (c >> 2) as f64;
        let found = cube_inside_both(
            std::array::from_fn(|c| along(c) - 1.0 / 3.0),
            std::array::from_fn(|c| 0.2 - along(c)),
        );
        assert!((found - (1.0 / 3.0 - 0.2)).abs() < 1e-14, "{found}");
        // Below x + y + z = 1 lies a sixth, and half of its height is an eighth of that.
        let across = |c: usize| c.count_ones() as f64;
        let found = cube_inside_both(
            std::array::from_fn(|c| across(c) - 1.0),
            std::array::from_fn(|c| 0.5 - across(c)),
        );
        assert!((found - 7.0 / 48.0).abs() < 1e-14, "{found}");
    }

    /// Numbers in [0,1) from a fixed sequence.
    struct Dice(u64);
    impl Dice {
        fn roll(&mut self) -> f64 {
            self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (self.0 >> 11) as f64 / (1u64 << 53) as f64
        }
        fn signed(&mut self) -> f64 {
            2.0 * self.roll() - 1.0
        }
    }

    /// Share of random points of the unit box (or of a simplex in it) with φ < 0.
    fn monte_carlo(dice: &mut Dice, dim: usize, simplex: bool, phi: impl Fn(&[f64]) -> f64) -> f64 {
        let (mut hits, mut total) = (0, 0);
        while total < 20_000 {
            let x: Vec<f64> = (0..dim).map(|_| dice.roll()).collect();
            if simplex && x.iter().sum::<f64>() > 1.0 {
                continue;
            }
            total += 1;
            hits += (phi(&x) < 0.0) as u32;
        }
        hits as f64 / total as f64
    }

    #[test]
    fn random_cuts_agree_with_random_points() {
        // Five standard deviations of 20 000 tosses.
        let tolerance = 5.0 * 0.5 / 20_000f64.sqrt();
        let mut dice = Dice(1);
        for _ in 0..60 {
            let (g, c) = ([dice.signed(), dice.signed(), dice.signed()], 0.7 * dice.signed());
            let phi = |x: &[f64]| c + x.iter().zip(g).map(|(x, g)| g * x).sum::<f64>();
            let corner = |b: usize, n: usize| phi(&(0..n).map(|a| (b >> a & 1) as f64).collect::<Vec<_>>());
            let near = |a: f64, b: f64| assert!((a - b).abs() < tolerance, "{a} {b}");
            near(segment([corner(0, 1), corner(1, 1)]), monte_carlo(&mut dice, 1, false, phi));
            near(triangle([0, 1, 2].map(|b| corner(b, 2))), monte_carlo(&mut dice, 2, true, phi));
            near(tet([0, 1, 2, 4].map(|b| corner(b, 3))), monte_carlo(&mut dice, 3, true, phi));
            near(rectangle([0, 1, 2, 3].map(|b| corner(b, 2))), monte_carlo(&mut dice, 2, false, phi));
            near(cube(std::array::from_fn(|b| corner(b, 3))), monte_carlo(&mut dice, 3, false, phi));
        }
    }

    /// Volume of the unit box below Σ g x = d, all g > 0, by inclusion and exclusion of corners.
    fn below_plane(g: &[f64], d: f64) -> f64 {
        let n = g.len();
        let mut sum = 0.0;
        for corner in 0..1usize << n {
            let at: f64 = (0..n).filter(|a| corner >> a & 1 == 1).map(|a| g[a]).sum();
            let sign = if corner.count_ones() % 2 == 0 { 1.0 } else { -1.0 };
            sum += sign * (d - at).max(0.0).powi(n as i32);
        }
        let factorial = (1..=n).product::<usize>() as f64;
        sum / (factorial * g.iter().product::<f64>())
    }

    #[test]
    fn plane_cuts_of_boxes_and_rectangles_are_exact() {
        let mut dice = Dice(2);
        for _ in 0..2000 {
            let g: [f64; 3] = std::array::from_fn(|_| 0.1 + dice.roll());
            let d = dice.roll() * g.iter().sum::<f64>();
            let value = |b: usize| (0..3).filter(|a| b >> a & 1 == 1).map(|a| g[a]).sum::<f64>() - d;
            let exact = below_plane(&g, d);
            // The reference itself cancels: eight cubes over a product of at least 1e-3.
            assert!((cube(std::array::from_fn(value)) - exact).abs() < 1e-11);
            let exact = below_plane(&g[..2], d);
            assert!((rectangle(std::array::from_fn(value)) - exact).abs() < 1e-12);
        }
    }

    #[test]
    fn fractions_of_both_sides_sum_to_one() {
        let mut dice = Dice(3);
        // Zeros, repeated values and tiny values are drawn often.
        let mut value = || match (dice.roll() * 5.0) as u32 {
            0 => 0.0,
            1 => 1e-300 * dice.signed(),
            2 => 0.5,
            3 => -0.5,
            _ => dice.signed(),
        };
        for _ in 0..20_000 {
            let v: [f64; 8] = std::array::from_fn(|_| value());
            if v[..2].iter().all(|v| *v == 0.0) {
                continue;
            }
            let n = v.map(|v| -v);
            let one = |a: f64, b: f64| assert!((a + b - 1.0).abs() < 1e-14, "{v:?}: {a} {b}");
            one(segment([v[0], v[1]]), segment([n[0], n[1]]));
            one(triangle([v[0], v[1], v[2]]), triangle([n[0], n[1], n[2]]));
            one(rectangle([v[0], v[1], v[2], v[3]]), rectangle([n[0], n[1], n[2], n[3]]));
            one(tet([v[0], v[1], v[2], v[3]]), tet([n[0], n[1], n[2], n[3]]));
            one(cube(v), cube(n));
        }
    }

    #[test]
    fn finite_values_never_give_anything_but_a_fraction() {
        let odd = [0.0, -0.0, f64::MIN_POSITIVE, -5e-324, 1.0, -1.0, 1e308, -1.7e308];
        for seed in 0..4096usize {
            let v: [f64; 8] = std::array::from_fn(|c| odd[(seed * (2 * c + 3) + (seed >> c)) % 8]);
            let x: Vec<Vec3> = v.iter().map(|v| Vec3::new(v.signum(), 0.0, 0.0)).collect();
            let all = [
                segment([v[0], v[1]]),
                triangle([v[0], v[1], v[2]]),
                rectangle([v[0], v[1], v[2], v[3]]),
                tet([v[0], v[1], v[2], v[3]]),
                cube(v),
                polygon(&x, &v),
            ];
            assert!(all.iter().all(|f| (-1e-14..=1.0 + 1e-14).contains(f)), "{v:?} {all:?}");
        }
    }

    #[test]
    fn a_polygon_is_cut_like_its_triangles() {
        let mut dice = Dice(4);
        let turn = std::f64::consts::TAU / 7.0;
        let ring: Vec<Vec3> =
            (0..7).map(|i| i as f64 * turn).map(|a| Vec3::new(a.cos(), a.sin(), a.cos())).collect();
        for _ in 0..500 {
            let (g, c) = (Vec3::new(dice.signed(), dice.signed(), dice.signed()), 0.5 * dice.signed());
            let phi: Vec<f64> = ring.iter().map(|x| g.dot(x) + c).collect();
            let (mut inside, mut area) = (0.0, 0.0);
            for i in 1..6 {
                let a = (ring[i] - ring[0]).cross(&(ring[i + 1] - ring[0])).norm();
                inside += a * triangle([phi[0], phi[i], phi[i + 1]]);
                area += a;
            }
            assert!((polygon(&ring, &phi) - inside / area).abs() < 1e-14);
        }
    }

    #[test]
    fn a_face_that_lies_in_the_surface_is_closed() {
        assert_eq!((segment([0.0; 2]), triangle([0.0; 3]), rectangle([-0.0; 4])), (1.0, 1.0, 1.0));
        assert_eq!((tet([0.0; 4]), cube([0.0; 8])), (1.0, 1.0));
        assert_eq!(rectangle([0.0, 0.0, 1.0, 1.0]), 0.0);
        assert_eq!(rectangle([0.0, 0.0, -1.0, -1.0]), 1.0);
    }
}
