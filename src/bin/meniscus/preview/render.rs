//! From a scene to a picture: rays for every pixel, more where neighbours differ, tone, sRGB.
//!
//! Each sample is tone mapped before samples are averaged, so that an edge against a bright light
//! stays smooth. The curve is the rational one of [Nar15], a toe and a shoulder; the last step adds
//! half a unit of noise before rounding to eight bits, which hides bands in soft gradients.
//! Every pixel depends on its place alone: any number of threads gives the same bits.

use super::camera::{Lens, Projection};
use super::environment::Environment;
use super::ground::GroundLight;
use super::image::{Image, Rgb, srgb};
use super::sampling::{Samples, dither};
use super::stage::{RenderScene, Stage};
use super::trace::Tracer;
use meniscus::{Error, Result};
use rayon::prelude::*;

/// How much time a picture may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Quality {
    /// One sample a pixel and few shadow rays.
    Draft,
    /// Up to four samples where edges are.
    Good,
    /// Four samples everywhere, sixteen at edges.
    Best,
}

struct Effort {
    base: usize,
    edge: usize,
    light_rays: usize,
    sky_rays: usize,
    ground_cells: usize,
    ground_rays: usize,
    bounces: usize,
}

impl Quality {
    fn effort(self) -> Effort {
        match self {
            Quality::Draft => Effort {
                base: 1,
                edge: 1,
                light_rays: 2,
                sky_rays: 4,
                ground_cells: 64,
                ground_rays: 6,
                bounces: 4,
            },
            Quality::Good => Effort {
                base: 1,
                edge: 4,
                light_rays: 4,
                sky_rays: 6,
                ground_cells: 96,
                ground_rays: 8,
                bounces: 6,
            },
            Quality::Best => Effort {
                base: 4,
                edge: 16,
                light_rays: 6,
                sky_rays: 10,
                ground_cells: 160,
                ground_rays: 16,
                bounces: 10,
            },
        }
    }
}

/// The largest picture, in pixels a side.
const LARGEST: usize = 16384;

/// Draw a scene.
pub fn render(scene: &RenderScene, [width, height]: [usize; 2], quality: Quality) -> Result<Image> {
    if width == 0 || height == 0 || width > LARGEST || height > LARGEST {
        return Err(Error::invalid(
            "picture size",
            format!("{width}x{height} is not from 1x1 to {LARGEST}x{LARGEST}"),
        ));
    }
    let liquid = scene.liquid()?;
    let effort = quality.effort();
    let stage = Stage::new(scene, liquid.as_ref());
    let environment = Environment::studio(&scene.camera);
    let ground_light = GroundLight::new(&stage, &environment, effort.ground_cells, effort.ground_rays);
    let tracer = Tracer {
        fog: scene.fog.map(|f| f.light(&environment)),
        stage,
        environment,
        ground_light,
        light_rays: effort.light_rays,
        sky_rays: effort.sky_rays,
        bounces: effort.bounces,
    };
    let lens = scene.camera.lens(width, height);
    let film = Film { tracer, lens, width, height, vignette: vignette(scene) };
    Ok(film.expose(&effort))
}

/// How much corners darken; none for a drawing without perspective.
fn vignette(scene: &RenderScene) -> f64 {
    match scene.camera.projection {
        Projection::Perspective { .. } => 0.30,
        Projection::Orthographic { .. } => 0.0,
    }
}

struct Film<'a> {
    tracer: Tracer<'a>,
    lens: Lens,
    width: usize,
    height: usize,
    vignette: f64,
}

impl Film<'_> {
    fn expose(&self, effort: &Effort) -> Image {
        let count = self.width * self.height;
        let each = |i: usize| self.samples(i, 0..effort.base);
        let mut film: Vec<Rgb> = (0..count).into_par_iter().with_min_len(64).map(each).collect();
        if effort.edge > effort.base {
            let refined = |i: usize| {
                let first = film[i] * effort.base as f64;
                let more = self.samples(i, effort.base..effort.edge) * (effort.edge - effort.base) as f64;
                (first + more) / effort.edge as f64
            };
            let keep = |i: usize| if self.is_edge(&film, i) { refined(i) } else { self.calmed(&film, i) };
            film = (0..count).into_par_iter().with_min_len(64).map(keep).collect();
        }
        let byte = |(i, c): (usize, &Rgb)| {
            std::array::from_fn(|a| quantise(c[a], dither(i % self.width, i / self.width, a)))
        };
        let pixels = film.par_iter().enumerate().map(byte).collect();
        Image { width: self.width, height: self.height, pixels }
    }

    /// The mean of some samples of a pixel, tone mapped, linear.
    fn samples(&self, i: usize, which: std::ops::Range<usize>) -> Rgb {
        let (x, y) = (i % self.width, i / self.width);
        let count = which.len() as f64;
        let one = |sample: usize| {
            let [u, v] = place_in_pixel(sample);
            let ray = self.lens.ray(x as f64 + u, y as f64 + v);
            tone(&(self.tracer.light(ray, &Samples::of_pixel(x, y, sample)) * self.shade_of_lens(x, y)))
        };
        which.map(one).sum::<Rgb>() / count
    }

    fn shade_of_lens(&self, x: usize, y: usize) -> f64 {
        let across = |p: usize, n: usize| (p as f64 + 0.5) / n as f64 - 0.5;
        let (u, v) = (across(x, self.width), across(y, self.height));
        1.0 - self.vignette * (u * u + v * v) * 2.0
    }

    /// Whether a pixel differs from one of its neighbours by more than the eye forgives.
    fn is_edge(&self, film: &[Rgb], i: usize) -> bool {
        const VISIBLE: f64 = 0.05;
        // Roots are nearer than linear light to what the eye sees.
        let seen = |c: &Rgb| c.map(f64::sqrt);
        let here = seen(&film[i]);
        self.around(i).any(|n| (seen(&film[n]) - here).amax() > VISIBLE)
    }

    /// The mean with its neighbours, where no edge is: takes away the grain of shadow rays.
    fn calmed(&self, film: &[Rgb], i: usize) -> Rgb {
        let (sum, count) = self.around(i).fold((Rgb::zeros(), 0.0), |(s, n), p| (s + film[p], n + 1.0));
        sum / count
    }

    /// The pixel and its eight neighbours, fewer at the border.
    fn around(&self, i: usize) -> impl Iterator<Item = usize> {
        let (x, y, width) = (i % self.width, i / self.width, self.width);
        let rows = y.saturating_sub(1)..=(y + 1).min(self.height - 1);
        let columns = x.saturating_sub(1)..=(x + 1).min(width - 1);
        rows.flat_map(move |v| columns.clone().map(move |u| v * width + u))
    }
}

/// The first sample is the middle of the pixel, the others fill it evenly.
fn place_in_pixel(sample: usize) -> [f64; 2] {
    const STEP: [f64; 2] = [0.754_877_666_246_692_8, 0.569_840_290_998_053_2];
    STEP.map(|s| (0.5 + sample as f64 * s).fract())
}

/// Scene light to display light in 0..1: a gentle toe, a long shoulder.
fn tone(light: &Rgb) -> Rgb {
    light.map(|c| {
        let c = c.max(0.0) * 0.80;
        (c * (2.51 * c + 0.03) / (c * (2.43 * c + 0.59) + 0.14)).clamp(0.0, 1.0)
    })
}

/// Display light to a byte of sRGB, rounded up with the probability of its fraction.
fn quantise(linear: f64, noise: f64) -> u8 {
    (srgb(linear) * 255.0 + 0.5 + (noise - 0.5) * 0.9).clamp(0.0, 255.0) as u8
}
