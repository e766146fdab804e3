//! `meniscus view`: a shot as one page that plays in any browser, without a network.
//!
//! Every frame is packed ([`pack`]) and stands as text in the page; the page unpacks a frame when it is
//! shown. Solids stand once, with a pose a frame, unless they deform. Numbers to colour by are [`channels`].

mod channels;
mod pack;

use super::preview::cache::Cache;
use super::preview::{Setting, setting_of};
use super::report::page::{base64, escape, script_json};
use super::report::read_json;
use super::terminal::{bytes, count, say};
use channels::Channels;
use clap::Args;
use meniscus::geometry::TriMesh;
use meniscus::io::cache::{Manifest, ManifestCollider};
use meniscus::io::{atomic, mesh};
use meniscus::math::Aabb;
use meniscus::scene::Look;
use meniscus::simulation::report::FrameReport;
use meniscus::{Cancel, Error, Result};
use pack::{Grid, Packed, mean_edge};
use rayon::prelude::*;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

const PAGE: &str = include_str!("viewer.html");
const SCRIPT: &str = include_str!("viewer.js");

/// Write a shot as one page to look at from all sides.
#[derive(Args, Clone, Debug)]
pub struct ViewArgs {
    /// The folder that `meniscus run` wrote
    pub cache: PathBuf,
    /// The page to write [default: CACHE/view.html]
    #[arg(short, long, value_name = "FILE.html")]
    pub out: Option<PathBuf>,
    /// Show every n-th frame
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub every: usize,
    /// Most megabytes for the page; larger shots are shown coarser
    #[arg(long, value_name = "MB", default_value_t = 64.0)]
    pub size: f64,
}

/// What a vertex costs in the page, nearly: positions, speed, two triangles, as text.
const BYTES_A_VERTEX: f64 = 13.0;

pub fn view(args: &ViewArgs, stop: &Cancel) -> Result<()> {
    if !(args.size > 0.0 && args.size.is_finite()) {
        return Err(Error::invalid("--size", "must be a positive number of megabytes"));
    }
    let cache = Cache::open(&args.cache)?;
    let frames: Vec<i64> = cache.manifest.frames.iter().copied().step_by(args.every.max(1)).collect();
    if frames.is_empty() {
        return Err(Error::invalid(args.cache.display().to_string(), "it holds no frames yet"));
    }
    let shot = Shot { setting: setting_of(&args.cache)?, frames, cache, stop: stop.clone() };
    let out = args.out.clone().unwrap_or_else(|| args.cache.join("view.html"));
    let written = shot.write(&out, args.size * 1e6)?;
    say(&format!(
        "wrote    {} ({}, {} vertices)",
        out.display(),
        bytes(written.0 as u64),
        count(written.1 as u64)
    ));
    Ok(())
}

struct Shot {
    cache: Cache,
    setting: Setting,
    frames: Vec<i64>,
    stop: Cancel,
}

impl Shot {
    /// Write the page; returns its bytes and the vertices of the liquid in it.
    fn write(&self, out: &Path, budget: f64) -> Result<(usize, usize)> {
        let mut grid = Grid::of(&self.bounds());
        let channels = Channels::find(&self.cache, &self.frames, self.setting.top_speed)?;
        let (vertices, edge) = self.measure(&grid)?;
        let allowed = 0.9 * budget / BYTES_A_VERTEX;
        let mut factor = (vertices as f64 / allowed).sqrt();
        let mut packed = Vec::new();
        for _ in 0..3 {
            if factor > 1.0 {
                grid.cube = (factor * edge).ceil().clamp(2.0, 4096.0) as u32;
            }
            packed = self.pack(&grid, &channels)?;
            let size = 4.0 / 3.0 * packed.iter().map(|p| p.bytes.len() as f64).sum::<f64>();
            if size <= budget {
                break;
            }
            factor = factor.max(1.0) * (1.1 * size / budget).sqrt();
        }
        let (solids, texts) = self.solids(&grid)?;
        let shown: usize = packed.iter().map(|p| p.vertices).sum();
        let page = self.page(&grid, &channels, &packed, vertices, (solids, texts))?;
        atomic::write(out, page.as_bytes())?;
        Ok((page.len(), shown))
    }

    /// The box of everything that is shown, the domain included, so that stray drops are inside.
    fn bounds(&self) -> Aabb {
        let near = self.setting.bounds;
        self.cache
            .domain()
            .map_or(near.grow(0.5 * near.size().max()), |d| Aabb::new(near.lo.inf(&d.lo), near.hi.sup(&d.hi)))
    }

    /// Vertices of all frames, and the mean length of an edge in steps.
    fn measure(&self, grid: &Grid) -> Result<(usize, f64)> {
        let middle = self.cache.surface(self.frames[self.frames.len() / 2])?;
        let edge = mean_edge(&middle, grid).unwrap_or(self.cache.manifest.cell / grid.step);
        let some: Vec<i64> = self.frames.iter().copied().step_by(self.frames.len().div_ceil(8)).collect();
        let mut sum = 0;
        for frame in &some {
            sum += self.cache.surface(*frame)?.positions.len();
        }
        Ok((sum * self.frames.len() / some.len().max(1), edge))
    }

    fn pack(&self, grid: &Grid, channels: &Channels) -> Result<Vec<Packed>> {
        let one = |frame: &i64| {
            self.stop.check()?;
            let surface = self.cache.surface(*frame)?;
            grid.pack(&surface, &channels.of(&surface))
        };
        self.frames.par_iter().map(one).collect()
    }

    /// Solids as the page's script wants them, and their meshes.
    fn solids(&self, grid: &Grid) -> Result<(Vec<Value>, Vec<String>)> {
        let (mut solids, mut texts) = (Vec::new(), Vec::new());
        let manifest = &self.cache.manifest;
        for solid in manifest.colliders.iter().filter(|c| c.look != Look::Hidden) {
            let mut meshes = Vec::new();
            let frames: &[i64] = if solid.deforming { &self.frames } else { &self.frames[..1] };
            for frame in frames {
                self.stop.check()?;
                meshes.push(texts.len());
                texts.push(base64(&self.solid(solid, *frame, grid)?.bytes));
            }
            solids.push(json!({"name": solid.name, "glass": solid.look == Look::Glass, "meshes": meshes}));
        }
        Ok((solids, texts))
    }

    fn solid(&self, solid: &ManifestCollider, frame: i64, grid: &Grid) -> Result<Packed> {
        let mesh: TriMesh = mesh::read(Manifest::collider_file(&self.cache.folder, solid, frame))?;
        Grid { cube: 1, ..*grid }.pack(&mesh, &[])
    }

    fn page(
        &self,
        grid: &Grid,
        channels: &Channels,
        packed: &[Packed],
        vertices: usize,
        (solids, texts): (Vec<Value>, Vec<String>),
    ) -> Result<String> {
        let manifest = &self.cache.manifest;
        let mut frames = Vec::with_capacity(packed.len());
        for (frame, p) in self.frames.iter().zip(packed) {
            let report: FrameReport = read_json(&Manifest::report_file(&self.cache.folder, *frame))?;
            frames.push(describe(&report, p));
        }
        let camera = &self.setting.camera;
        let data = json!({
            "name": manifest.name, "fps": manifest.fps.value(), "cell": manifest.cell, "frames": frames, "solids": solids,
            "low": grid.low.as_slice(), "step": grid.step, "channels": channels.about(), "ground": self.setting.ground,
            "eye": camera.eye.as_slice(), "target": camera.target.as_slice(), "tint": self.setting.colour,
            "clear": self.setting.clear, "size": self.setting.bounds.size().norm(),
            "coarser": grid.cube > 1, "vertices": vertices, "version": env!("CARGO_PKG_VERSION"),
        });
        let mut meshes = String::new();
        for (i, p) in packed.iter().enumerate() {
            meshes += &format!("<script type=\"text/plain\" id=\"f{i}\">{}</script>\n", base64(&p.bytes));
        }
        for (i, text) in texts.iter().enumerate() {
            meshes += &format!("<script type=\"text/plain\" id=\"s{i}\">{text}</script>\n");
        }
        let name = if manifest.name.is_empty() { "Meniscus" } else { &manifest.name };
        Ok(PAGE
            .replace("@TITLE@", &escape(name))
            .replace("@DATA@", &script_json(&data))
            .replace("@MESHES@", &meshes)
            .replace("@SCRIPT@", SCRIPT))
    }
}

/// The numbers of a frame that the viewer shows.
fn describe(report: &FrameReport, packed: &Packed) -> Value {
    let pose = |c: &meniscus::simulation::report::ColliderPose| json!({"name": c.name, "t": c.translate, "q": c.rotate_quaternion_wxyz, "s": c.scale});
    json!({
        "frame": report.frame, "time": report.time, "litres": report.litres, "expected": report.litres_expected,
        "substeps": report.substeps, "rule": report.rule, "seconds": report.seconds, "speed": report.max_speed,
        "iterations": report.iterations, "cells": report.liquid_cells, "particles": report.particles,
        "triangles": packed.triangles, "warnings": report.warnings,
        "poses": report.colliders.iter().map(pose).collect::<Vec<_>>(),
    })
}
