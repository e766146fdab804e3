//! Pressure and contact of rigid bodies in turn, until they agree.
//!
//! Contact changes the velocity of a body by d, as an impulse that acts before the pressure. A body in liquid
//! answers an impulse as if it were heavier, by a factor f: contact is solved by others for masses fM and the velocity
//! W = V − d/f that the body would have without contact, and
//!
//! ```text
//!     d ← f (contact(W) − W)
//! ```
//!
//! until the velocity V that the pressure leaves is the one that contact asks for. Each round is one more solve, from the
//! pressure of the last; a body that lies on the floor then pushes no liquid. f is guessed from the liquid that the body
//! displaces. A guess more than twice too large would throw the body further off in each round, as that of a light ball
//! which liquid only touches; so from the second round on f is what two rounds have shown, |Δd|² / Δd·ΔV, and the round
//! that agreed best is kept. Grid and lattice both come here. Checked by `a_stone_on_the_floor_pushes_no_water` in
//! tests/bodies and `a_heavy_ball_comes_to_rest_on_the_floor_of_the_lattice` in tests/bcc.

use crate::error::{Error, Result};
use crate::math::Vec3;
use crate::solver::mac::{Afloat, Bodies, Carried};
use crate::solver::rigid::{Six, angular, linear, six};

/// Added mass over the mass of the liquid displaced, for the guess of f: ½ for a ball, 1 for a cylinder.
const ADDED: f64 = 0.7;
/// Rounds at most.
const MOST_ROUNDS: usize = 8;
/// Contact and pressure agree when they differ by less than this share of what gravity adds in a step.
const AGREEMENT: f64 = 1e-3;

/// What liquid does to a body besides its pressure: forces that the discrete pressure misses, N and Nm, and the volume
/// of liquid that the body displaces, m³.
pub type Missing = (Six, f64);

/// Find the motion of bodies. `solve` takes their velocities before the pressure acts and returns its impulses; it is
/// called once a round. The number of the round whose pressure is to be kept is returned as well.
pub fn agree(
    bodies: &Bodies,
    missing: &[Missing],
    (dt, density): (f64, f64),
    mut solve: impl FnMut(&[Six]) -> Result<Vec<Six>>,
) -> Result<(Vec<Carried>, usize)> {
    let all = bodies.all;
    let fall = bodies.gravity * dt;
    let before = |(b, (missing, _)): (&Afloat, &Missing)| {
        b.body.velocity + falling(b, &fall) + b.body.inverse_mass * missing * dt
    };
    let before: Vec<Six> = all.iter().zip(missing).map(before).collect();
    let factor = |(b, (_, displaced)): (&Afloat, &Missing)| 1.0 + ADDED * density * displaced / b.mass;
    let mut factor: Vec<f64> = all.iter().zip(missing).map(factor).collect();
    let mut pushed: Vec<Six> =
        all.iter().map(|b| if bodies.contact.is_some() { b.contact } else { Six::zeros() }).collect();
    let agreed = AGREEMENT * bodies.gravity.norm().max(1e-3) * dt;
    // A hull has thousands of points, and every round asks for its size.
    let reach: Vec<f64> = all.iter().map(|b| 0.5 * b.hull.bounds().size().norm()).collect();
    let mut last: Option<(Vec<Six>, Vec<Six>)> = None;
    let mut best: Option<(f64, usize, Vec<Carried>)> = None;
    for round in 0..MOST_ROUNDS {
        let start: Vec<Six> = before.iter().zip(&pushed).map(|(v, d)| v + d).collect();
        let impulses = solve(&start)?;
        let velocity: Vec<Six> =
            (0..all.len()).map(|b| start[b] + all[b].body.inverse_mass * impulses[b]).collect();
        if let Some((pushed_before, velocity_before)) = &last {
            for b in 0..all.len() {
                let (push, answer) = (pushed[b] - pushed_before[b], velocity[b] - velocity_before[b]);
                factor[b] = felt(&push, &answer).unwrap_or(factor[b]);
            }
        }
        let free: Vec<Six> = (0..all.len()).map(|b| velocity[b] - pushed[b] / factor[b]).collect();
        let after = bodies.contact.map_or_else(|| velocity.clone(), |contact| contact(&free, &factor));
        let apart = (0..all.len()).map(|b| difference(&after[b], &velocity[b], reach[b]));
        let worst = apart.fold(0.0, f64::max);
        if best.as_ref().is_none_or(|(least, ..)| worst < *least) {
            let carried = |b: usize| Carried {
                velocity: velocity[b],
                force: impulses[b] / dt + missing[b].0,
                contact: pushed[b],
            };
            best = Some((worst, round, (0..all.len()).map(carried).collect()));
        }
        if worst <= agreed {
            break;
        }
        let next = (0..all.len()).map(|b| (after[b] - free[b]) * factor[b]).collect();
        last = Some((std::mem::replace(&mut pushed, next), velocity));
    }
    match best {
        Some((_, round, carried)) => Ok((carried, round)),
        None => Err(Error::diverged("pressure", "contact found no round to keep")),
    }
}

/// What a change of velocity that gravity gives to free bodies is for one that may be held by a joint.
pub fn falling(afloat: &Afloat, fall: &Vec3) -> Six {
    // Gravity acts on the mass at the centre.
    afloat.body.inverse_mass * six(&(fall * afloat.mass), &Vec3::zeros())
}

/// How much heavier a body was in liquid that answered one more push like this; None if that does not tell.
fn felt(push: &Six, answer: &Six) -> Option<f64> {
    // Contact pushes in a direction; turning follows from it.
    let (d, v) = (linear(push), linear(answer));
    let along = d.dot(&v);
    (along > 1e-12 * d.norm_squared()).then(|| (d.norm_squared() / along).max(1.0))
}

/// The greatest difference of two velocities over a body whose points are within `reach` of its middle, as a speed of
/// its points.
fn difference(a: &Six, b: &Six, reach: f64) -> f64 {
    let d = a - b;
    linear(&d).norm() + angular(&d).norm() * reach
}
