//! Light on the ground: a map of how much of the studio's light reaches each place.
//!
//! Soft shadows of area lights are smooth, so they are found on a coarse grid of places. Each place
//! has its own few rays; the mean over three by three neighbours, whose rays complement each other,
//! takes the noise away, and the map is read back through a quadratic B-spline. A pixel of ground
//! then costs no rays. Beyond the map the ground is open.

use super::camera::Ray;
use super::environment::{Environment, smooth_step};
use super::image::Rgb;
use super::sampling::Samples;
use super::stage::Stage;
use meniscus::math::Vec3;
use rayon::prelude::*;

pub struct GroundLight {
    cells: usize,
    corner: [f64; 2],
    cell: f64,
    /// Received light over that of open ground, row by row along x.
    share: Vec<Rgb>,
}

impl GroundLight {
    /// Sample the ground of a stage with `cells`² places and `rays` rays for each light and for the sky.
    pub fn new(stage: &Stage, environment: &Environment, cells: usize, rays: usize) -> Option<Self> {
        let height = stage.ground?;
        let (centre, extent) = (stage.bounds.centre(), stage.bounds.size());
        // Shadows reach about the height of the scene beyond its sides.
        let half = 0.5 * extent.x.max(extent.z) + 1.4 * extent.y + 0.15 * stage.size;
        let cell = 2.0 * half / cells as f64;
        let corner = [centre.x - half, centre.z - half];
        let open = environment.open_floor();
        let place = |i: usize| {
            let (x, z) = ((i % cells) as f64 + 0.5, (i / cells) as f64 + 0.5);
            Vec3::new(corner[0] + x * cell, height + 2.0 * stage.epsilon, corner[1] + z * cell)
        };
        let light = |i: usize| {
            let samples = Samples::of_pixel(i % cells, i / cells, 1000);
            let received = received(stage, environment, &place(i), &Vec3::y(), &samples, rays, rays);
            let share = received.component_div(&open);
            // Fade to open ground at the border of the map, so that no edge shows.
            let rim = (0..2).map(|a| [i % cells, i / cells][a] as f64 / cells as f64 - 0.5);
            let rim = rim.fold(0f64, |m, v| m.max(v.abs()));
            share + (Rgb::repeat(1.0) - share) * smooth_step((rim - 0.38) / 0.1)
        };
        let share: Vec<Rgb> = (0..cells * cells).into_par_iter().with_min_len(16).map(light).collect();
        Some(Self { cells, corner, cell, share: smoothed(&share, cells) })
    }

    /// Received light over that of open ground.
    pub fn share(&self, x: f64, z: f64) -> Rgb {
        let (i, wx) = weights((x - self.corner[0]) / self.cell);
        let (j, wz) = weights((z - self.corner[1]) / self.cell);
        let last = self.cells as i64 - 1;
        if i < -1 || j < -1 || i > last + 1 || j > last + 1 {
            return Rgb::repeat(1.0);
        }
        let mut sum = Rgb::zeros();
        for (b, weight_z) in wz.iter().enumerate() {
            for (a, weight_x) in wx.iter().enumerate() {
                let x = (i + a as i64 - 1).clamp(0, last) as usize;
                let z = (j + b as i64 - 1).clamp(0, last) as usize;
                sum += self.share[z * self.cells + x] * (weight_x * weight_z);
            }
        }
        sum
    }
}

/// The mean over three by three places.
fn smoothed(share: &[Rgb], cells: usize) -> Vec<Rgb> {
    let near = |c: usize| c.saturating_sub(1)..=(c + 1).min(cells - 1);
    let mean = |i: usize| {
        let places = near(i / cells).flat_map(|z| near(i % cells).map(move |x| z * cells + x));
        let (sum, count) = places.fold((Rgb::zeros(), 0.0), |(s, n), p| (s + share[p], n + 1.0));
        sum / count
    };
    (0..share.len()).map(mean).collect()
}

/// The middle of three cells and their quadratic B-spline weights at a place in cell units.
fn weights(place: f64) -> (i64, [f64; 3]) {
    let middle = place.clamp(-1e9, 1e9).floor();
    let f = place - middle - 0.5;
    let (left, right) = (0.5 - f, 0.5 + f);
    (middle as i64, [0.5 * left * left, 0.75 - f * f, 0.5 * right * right])
}

/// Irradiance over π at a point: lights with soft shadows, sky and floor dimmed by what is near.
pub fn received(
    stage: &Stage,
    environment: &Environment,
    point: &Vec3,
    normal: &Vec3,
    samples: &Samples,
    light_rays: usize,
    sky_rays: usize,
) -> Rgb {
    let open = openness(stage, point, normal, samples, sky_rays);
    let mut sum = environment.ambient(normal) * open;
    for (l, light) in environment.lights.iter().enumerate() {
        let facing = soft_cosine(normal.dot(&light.towards));
        if facing <= 0.0 {
            continue;
        }
        if !light.casts_shadow {
            sum += light.vector_irradiance * (facing * open / std::f64::consts::PI);
            continue;
        }
        let mut seen = Rgb::zeros();
        for k in 0..light_rays {
            let direction = light.direction(samples.point(k + 101 * l));
            if normal.dot(&direction) > 0.0 {
                seen += stage.visibility(&Ray { origin: *point, direction });
            }
        }
        sum += light.vector_irradiance.component_mul(&seen)
            * (facing / (light_rays as f64 * std::f64::consts::PI));
    }
    sum
}

/// A cosine that turns to zero smoothly, as a light of some size sets.
fn soft_cosine(c: f64) -> f64 {
    const WIDTH: f64 = 0.25;
    if c >= WIDTH {
        c
    } else if c <= -WIDTH {
        0.0
    } else {
        (c + WIDTH) * (c + WIDTH) / (4.0 * WIDTH)
    }
}

/// How open the hemisphere over a point is: 1 in the open, less in a corner.
fn openness(stage: &Stage, point: &Vec3, normal: &Vec3, samples: &Samples, rays: usize) -> f64 {
    let reach = 0.45 * stage.size;
    let open = |k: usize| {
        let direction = samples.cosine(k + 501, normal);
        let ray = Ray { origin: *point, direction };
        let shade = |t: f64| 1.0 - (t / reach).sqrt() * 0.9;
        match stage.solid_within(&ray, reach) {
            Some(t) => 1.0 - shade(t),
            // Clear liquid takes away some of the light where it touches.
            None => 1.0 - 0.5 * stage.clear_liquid_within(&ray, reach).map_or(0.0, shade),
        }
    };
    let mean = (0..rays).map(open).sum::<f64>() / rays as f64;
    // Light that has bounced fills corners; matte grey sends back about half.
    mean / (1.0 - 0.45 * (1.0 - mean))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smoothing_weights_are_a_partition_of_one() {
        for i in 0..100 {
            let place = -3.0 + 0.0731 * f64::from(i);
            let (middle, w) = weights(place);
            assert!((w.iter().sum::<f64>() - 1.0).abs() < 1e-14);
            // Linear functions of the cell centre are kept.
            let mean: f64 = (0..3).map(|a| w[a] * (middle as f64 + a as f64 - 0.5)).sum();
            assert!((mean - place).abs() < 1e-13, "{place} {mean}");
        }
    }
}
