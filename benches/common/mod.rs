//! What the benches share: a mesh, query points, a clock.

use meniscus::geometry::TriMesh;
use meniscus::math::Vec3;
use meniscus::math::elementary::{sin, tan};
use std::hint::black_box;
use std::time::Instant;

/// A cube of 6·129² quadrangles blown up to a ball with bumps, about one unit across: 199 692 triangles.
pub fn bumpy_ball() -> TriMesh {
    const SIDE: u32 = 129;
    let mut mesh = TriMesh::default();
    for face in 0..6u32 {
        let (axis, sign) = ((face / 2) as usize, if face % 2 == 0 { -1.0 } else { 1.0 });
        let base = mesh.positions.len() as u32;
        for j in 0..=SIDE {
            for i in 0..=SIDE {
                // Equal angles rather than equal lengths keep the triangles alike.
                let at = |k: u32| tan((k as f64 / SIDE as f64 - 0.5) * 0.5 * std::f64::consts::PI);
                let mut p = Vec3::zeros();
                (p[axis], p[(axis + 1) % 3], p[(axis + 2) % 3]) = (sign, sign * at(i), at(j));
                let p = p.normalize();
                let bump = sin(9.0 * p.x) * sin(8.0 * p.y) * sin(7.0 * p.z);
                mesh.positions.push(p * (0.42 + 0.04 * bump));
                if i < SIDE && j < SIDE {
                    let v = base + j * (SIDE + 1) + i;
                    let [q, r, s] = [v + 1, v + SIDE + 2, v + SIDE + 1];
                    mesh.triangles.extend([[v, q, r], [v, r, s]]);
                }
            }
        }
    }
    mesh
}

/// Query points near the mesh (within two hundredths) and anywhere in the unit cube round it.
pub fn points_of(mesh: &TriMesh) -> [(&'static str, Vec<Vec3>); 2] {
    // Spread by the additive recurrence with the plastic number.
    let at = |i: usize, base: f64| (i as f64 * base).fract() - 0.5;
    let point = |i: usize| Vec3::new(at(i, 0.8191725134), at(i, 0.6710436067), at(i, 0.5497004779));
    let far: Vec<Vec3> = (0..20_000).map(point).collect();
    let base = |i: usize| mesh.positions[i * 7 % mesh.positions.len()];
    let near = far.iter().enumerate().map(|(i, p)| base(i) + p * 0.02).collect();
    [("near", near), ("far", far)]
}

/// Seconds that this thread has run: other work on the machine does not count. Wall clock elsewhere.
fn now(start: &Instant) -> f64 {
    let ran = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let ran = ran.and_then(|s| s.split(' ').next()?.parse::<f64>().ok());
    ran.map_or_else(|| start.elapsed().as_secs_f64(), |ns| ns * 1e-9)
}

pub fn best<T>(runs: usize, mut f: impl FnMut() -> T) -> f64 {
    let one = |_| {
        let clock = Instant::now();
        let start = now(&clock);
        black_box(f());
        now(&clock) - start
    };
    (0..runs).map(one).fold(f64::INFINITY, f64::min)
}
