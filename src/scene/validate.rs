//! What makes a scene unusable, found before anything is simulated.
//!
//! Every number is checked: finite everywhere, positive or in a range where its meaning asks for it.
//! The first fault is returned with its path and the fix.

use super::attribute;
use super::edit::{excerpt, nearest, printable};
use super::{
    Blend, Body, Domain, Force, Joint, Keyed, Liquid, PRESETS, Resolution, SCENE_VERSION, Scene, ShapeSpec,
    Sink, Sizing, Transform,
};
use crate::error::{Error, Result};
use crate::math::{Aabb, Vec3};
use std::collections::BTreeSet;

/// Most cells along one axis; beyond it cells could not be counted safely.
const MAX_DIVISIONS: f64 = 1e6;
/// No length, velocity or acceleration is larger than this, so that squares and cubes stay finite.
const HUGE: f64 = 1e9;
/// Most frames of a scene: eleven days at 24 a second.
const MAX_FRAMES: i64 = 24_000_000;

impl Scene {
    /// Check the whole scene.
    pub fn validate(&self) -> Result<()> {
        if self.meniscus != SCENE_VERSION {
            let message = format!("this is version {}; write \"meniscus\": {SCENE_VERSION}", self.meniscus);
            return Err(Error::scene("meniscus", message));
        }
        text("name", &self.name)?;
        self.check_time()?;
        positive("unit_length", self.unit_length)?;
        range("unit_length", self.unit_length, 1e-9, 1e9)?;
        self.check_space()?;
        self.check_liquids()?;
        self.check_objects()?;
        for (i, force) in self.forces.iter().enumerate() {
            check_force(&format!("forces[{i}]"), force)?;
        }
        self.check_fields()?;
        self.check_simulator()?;
        self.check_limits()?;
        self.check_sources_are_inside()
    }

    fn check_time(&self) -> Result<()> {
        let [start, end] = self.frames;
        if start.checked_abs().is_none_or(|f| f > MAX_FRAMES)
            || end.checked_abs().is_none_or(|f| f > MAX_FRAMES)
        {
            return Err(Error::scene("frames", format!("frames lie between −{MAX_FRAMES} and {MAX_FRAMES}")));
        }
        if end < start {
            return Err(Error::scene(
                "frames",
                format!("the last frame ({end}) is before the first ({start})"),
            ));
        }
        keys("time_scale", &self.time_scale)?;
        each("time_scale", &self.time_scale, |p, x| range(p, x, 0.0, 1000.0))
    }

    fn check_space(&self) -> Result<()> {
        if let Some(domain) = &self.domain {
            check_domain(domain)?;
        }
        let longest = self.domain.as_ref().map(|d| d.longest_side() * self.unit_length);
        let divisions = match (self.resolution, longest) {
            (Resolution::Cell(cell), side) => {
                positive("resolution.cell", cell)?;
                range("resolution.cell", cell, 1e-9, HUGE)?;
                side.map_or(1.0, |s| s / cell)
            }
            (Resolution::Divisions(n), Some(_)) => f64::from(n),
            (Resolution::Divisions(_), None) => {
                let message = "a scene without a domain has no longest side to divide: give {\"cell\": metres}, or a domain";
                return Err(Error::scene("resolution", message));
            }
        };
        if !(1.0..=MAX_DIVISIONS).contains(&divisions) {
            let message =
                format!("{divisions} cells along the longest side; from 1 to {MAX_DIVISIONS} are allowed");
            return Err(Error::scene("resolution", message));
        }
        vector("gravity", &self.gravity)
    }

    fn check_liquids(&self) -> Result<()> {
        let mut names = BTreeSet::new();
        for (i, liquid) in self.liquids.iter().enumerate() {
            let path = format!("liquids[{i}]");
            check_liquid(&path, liquid)?;
            if !names.insert(&liquid.name) {
                let message = format!("another liquid is called \"{}\" as well", liquid.name);
                return Err(Error::scene(format!("{path}.name"), message));
            }
        }
        Ok(())
    }

    fn check_objects(&self) -> Result<()> {
        let mut names = BTreeSet::new();
        for (i, c) in self.colliders.iter().enumerate() {
            let path = format!("colliders[{i}]");
            file_name(&format!("{path}.name"), &c.name, &mut names)?;
            placed(&path, &c.shape, &c.transform)?;
            keys(&format!("{path}.friction"), &c.friction)?;
            each(&format!("{path}.friction"), &c.friction, |p, x| range(p, x, 0.0, 1.0))?;
        }
        for (i, b) in self.bodies.iter().enumerate() {
            file_name(&format!("bodies[{i}].name"), &b.name, &mut names)?;
            check_body(&format!("bodies[{i}]"), b)?;
        }
        for (i, v) in self.initial.iter().enumerate() {
            let path = format!("initial[{i}]");
            text(&format!("{path}.name"), &v.name)?;
            self.check_liquid_name(&path, v.liquid.as_deref())?;
            placed(&path, &v.shape, &v.transform)?;
            three(&format!("{path}.velocity"), &v.velocity)?;
            three(&format!("{path}.angular_velocity"), &v.angular_velocity)?;
            for (a, row) in v.velocity_gradient.iter().flatten().enumerate() {
                three(&format!("{path}.velocity_gradient[{a}]"), row)?;
            }
            attribute::check(&format!("{path}.attributes"), &v.attributes)?;
        }
        for i in 0..self.emitters.len() {
            self.check_emitter(i, &names)?;
        }
        for (i, sink) in self.sinks.iter().enumerate() {
            check_sink(&format!("sinks[{i}]"), sink, &names)?;
        }
        self.water_line.as_ref().map_or(Ok(()), |line| line.check(self))
    }

    fn check_emitter(&self, index: usize, solids: &BTreeSet<&str>) -> Result<()> {
        let (e, path) = (&self.emitters[index], format!("emitters[{index}]"));
        text(&format!("{path}.name"), &e.name)?;
        self.check_liquid_name(&path, e.liquid.as_deref())?;
        placed(&path, &e.shape, &e.transform)?;
        vector(&format!("{path}.velocity"), &e.velocity)?;
        keys(&format!("{path}.active"), &e.active)?;
        if let Some(rate) = &e.rate_ml_s {
            keys(&format!("{path}.rate_ml_s"), rate)?;
            each(&format!("{path}.rate_ml_s"), rate, |p, x| range(p, x, 0.0, 1e15))?;
        }
        if let Some(total) = e.total_ml {
            range(&format!("{path}.total_ml"), total, 0.0, 1e15)?;
        }
        attribute::check(&format!("{path}.attributes"), &e.attributes)?;
        check_parent(&path, e.parent.as_deref(), solids)
    }

    fn check_liquid_name(&self, path: &str, name: Option<&str>) -> Result<()> {
        match name {
            Some(name) if self.liquid(Some(name)).is_none() => {
                let known = self.liquids.iter().map(|l| l.name.as_str());
                Err(missing(&format!("{path}.liquid"), "liquid", name, known))
            }
            _ => Ok(()),
        }
    }

    fn check_simulator(&self) -> Result<()> {
        let s = &self.simulator;
        range("simulator.flip_blend", s.flip_blend, 0.0, 1.0)?;
        range("simulator.cfl", s.cfl, 0.01, 100.0)?;
        range("simulator.surface_smoothing", s.surface_smoothing, 0.0, 10.0)?;
        range("simulator.pressure_tolerance", s.pressure_tolerance, 1e-14, 0.1)?;
        range("simulator.viscosity_tolerance", s.viscosity_tolerance, 1e-14, 0.1)?;
        range("simulator.particles_per_cell", f64::from(s.particles_per_cell), 1.0, 64.0)?;
        if s.narrow_band != 0 {
            range("simulator.narrow_band", f64::from(s.narrow_band), 3.0, 1000.0)?;
        }
        if !s.detail.is_power_of_two() || s.detail > 64 {
            let message = format!("{} is no power of two from 1 to 64", s.detail);
            return Err(Error::scene("simulator.detail", message));
        }
        check_sizing(&s.sizing)?;
        if ![1, 2].contains(&s.cube) {
            return Err(Error::scene("simulator.cube", format!("{} is neither 1 nor 2", s.cube)));
        }
        range("simulator.substeps_min", f64::from(s.substeps_min), 1.0, 1e5)?;
        range("simulator.substeps_max", f64::from(s.substeps_max), 0.0, 1e5)?;
        if s.substeps_max != 0 && s.substeps_max < s.substeps_min {
            let message = format!(
                "{} is less than substeps_min ({}); 0 means no limit",
                s.substeps_max, s.substeps_min
            );
            return Err(Error::scene("simulator.substeps_max", message));
        }
        if let Some(overlap) = self.outputs.wall_overlap {
            range("outputs.wall_overlap", overlap, 0.0, HUGE)?;
        }
        Ok(())
    }

    fn check_limits(&self) -> Result<()> {
        if let Some(limit) = self.memory_limit {
            range("memory_limit", limit, 0.01, 1e6)?;
        }
        if let Some(threads) = self.threads {
            range("threads", f64::from(threads), 1.0, 1024.0)?;
        }
        for (path, folder) in [("cache", &self.cache), ("debug.dump_dir", &self.debug.dump_dir)] {
            if let Some(folder) = folder {
                file(path, folder)?;
            }
        }
        Ok(())
    }

    /// A source that never touches the domain would silently do nothing.
    fn check_sources_are_inside(&self) -> Result<()> {
        let Some(domain) = &self.domain else { return Ok(()) };
        let inside = Aabb::new(domain.min.into(), domain.max.into());
        let start = self.frames[0] as f64;
        let volumes = self.initial.iter().enumerate().map(|(i, v)| {
            (
                format!("initial[{i}]"),
                &v.name,
                v.transform.bounds(&v.shape, start).into_iter().collect::<Vec<_>>(),
            )
        });
        let emitters = self.emitters.iter().enumerate().filter(|(_, e)| e.parent.is_none()).map(|(i, e)| {
            let frames = std::iter::once(start).chain(e.transform.key_frames());
            (
                format!("emitters[{i}]"),
                &e.name,
                frames.filter_map(|f| e.transform.bounds(&e.shape, f)).collect(),
            )
        });
        for (path, name, boxes) in volumes.chain(emitters) {
            if !boxes.is_empty() && boxes.iter().all(|b| !touch(b, &inside)) {
                let (b, d) = (span(&boxes[0]), span(&inside));
                let message = format!(
                    "\"{name}\" lies outside the domain: it reaches {b}, the domain {d}; move it or enlarge the domain"
                );
                return Err(Error::scene(path, message));
            }
        }
        Ok(())
    }
}

fn check_sink(path: &str, sink: &Sink, solids: &BTreeSet<&str>) -> Result<()> {
    text(&format!("{path}.name"), &sink.name)?;
    placed(path, &sink.shape, &sink.transform)?;
    keys(&format!("{path}.active"), &sink.active)?;
    if sink.shape.by_frame() {
        let message = "a sink takes its samples all at once; leave by_frame out";
        return Err(Error::scene(format!("{path}.shape"), message));
    }
    check_parent(path, sink.parent.as_deref(), solids)
}

fn check_parent(path: &str, parent: Option<&str>, solids: &BTreeSet<&str>) -> Result<()> {
    match parent {
        Some(parent) if !solids.contains(parent) => {
            Err(missing(&format!("{path}.parent"), "collider or body", parent, solids.iter().copied()))
        }
        _ => Ok(()),
    }
}

fn touch(a: &Aabb, b: &Aabb) -> bool {
    (0..3).all(|k| a.lo[k] < b.hi[k] && b.lo[k] < a.hi[k])
}

fn span(b: &Aabb) -> String {
    let point = |p: &Vec3| format!("({:.4}, {:.4}, {:.4})", p.x, p.y, p.z);
    format!("from {} to {}", point(&b.lo), point(&b.hi))
}

fn check_domain(domain: &Domain) -> Result<()> {
    three("domain.min", &domain.min)?;
    three("domain.max", &domain.max)?;
    range("domain.friction", domain.friction, 0.0, 1.0)?;
    for (a, axis) in ["x", "y", "z"].iter().enumerate() {
        if domain.max[a] <= domain.min[a] {
            let message =
                format!("the domain has no extent along {axis}: max must be above min ({})", domain.min[a]);
            return Err(Error::scene("domain.max", message));
        }
    }
    Ok(())
}

fn check_liquid(path: &str, liquid: &Liquid) -> Result<()> {
    text(&format!("{path}.name"), &liquid.name)?;
    if let Some(name) = &liquid.preset
        && super::preset(name).is_none()
    {
        return Err(missing(&format!("{path}.preset"), "preset", name, PRESETS.iter().map(|p| p.name)));
    }
    if let Some(density) = liquid.density {
        range(&format!("{path}.density"), density, 1e-3, 1e6)?;
    }
    if let Some(viscosity) = &liquid.viscosity {
        keys(&format!("{path}.viscosity"), viscosity)?;
        each(&format!("{path}.viscosity"), viscosity, |p, x| range(p, x, 0.0, 1e12))?;
    }
    if !liquid.viscosity_by_age.is_empty() {
        rising(&format!("{path}.viscosity_by_age"), liquid.viscosity_by_age.iter().map(|k| k[0]))?;
    }
    for (i, [age, viscosity]) in liquid.viscosity_by_age.iter().enumerate() {
        range(&format!("{path}.viscosity_by_age[{i}][0]"), *age, 0.0, 1e9)?;
        range(&format!("{path}.viscosity_by_age[{i}][1]"), *viscosity, 0.0, 1e12)?;
    }
    if let Some(tension) = &liquid.surface_tension {
        keys(&format!("{path}.surface_tension"), tension)?;
        each(&format!("{path}.surface_tension"), tension, |p, x| range(p, x, 0.0, 1e3))?;
    }
    Ok(())
}

fn check_body(path: &str, body: &Body) -> Result<()> {
    placed(path, &body.shape, &body.transform)?;
    match (body.density, body.mass) {
        (Some(density), None) => range(&format!("{path}.density"), density, 1e-3, 1e6)?,
        (None, Some(mass)) => range(&format!("{path}.mass"), mass, 1e-9, 1e15)?,
        _ => return Err(Error::scene(path, "give either density (kg/m³) or mass (kg)")),
    }
    if matches!(body.shape, ShapeSpec::Plane { .. } | ShapeSpec::Samples { .. }) {
        return Err(Error::scene(
            format!("{path}.shape"),
            "a body needs a closed shape that does not deform",
        ));
    }
    if body.transform.is_animated() {
        return Err(Error::scene(
            format!("{path}.transform"),
            "liquid moves a body; keys belong to colliders",
        ));
    }
    three(&format!("{path}.velocity"), &body.velocity)?;
    three(&format!("{path}.angular_velocity"), &body.angular_velocity)?;
    range(&format!("{path}.friction"), body.friction, 0.0, 1.0)?;
    match &body.joint {
        Joint::Hinge { point, axis } => {
            three(&format!("{path}.joint.hinge.point"), point)?;
            direction(&format!("{path}.joint.hinge.axis"), axis)?;
        }
        Joint::Slider { axis } => direction(&format!("{path}.joint.slider.axis"), axis)?,
        Joint::Free | Joint::Fixed => {}
    }
    range(&format!("{path}.restitution"), body.restitution, 0.0, 1.0)
}

fn check_force(path: &str, force: &Force) -> Result<()> {
    match force {
        Force::Uniform { acceleration } => vector(&format!("{path}.uniform.acceleration"), acceleration),
        Force::Vortex { center, axis, strength, radius } => {
            direction(&format!("{path}.vortex.axis"), axis)?;
            check_pull(&format!("{path}.vortex"), center, strength, *radius)
        }
        Force::Point { center, strength, radius } => {
            check_pull(&format!("{path}.point"), center, strength, *radius)
        }
        Force::Curve { points, strength, pull, radius } => {
            if points.len() < 2 {
                return Err(Error::scene(format!("{path}.curve.points"), "a curve has at least two points"));
            }
            points
                .iter()
                .enumerate()
                .try_for_each(|(i, p)| three(&format!("{path}.curve.points[{i}]"), p))?;
            for (name, value) in [("strength", strength), ("pull", pull)] {
                keys(&format!("{path}.curve.{name}"), value)?;
                each(&format!("{path}.curve.{name}"), value, |p, x| range(p, x, -HUGE, HUGE))?;
            }
            positive(&format!("{path}.curve.radius"), *radius)
        }
        Force::Wind { velocity, drag, depth } => {
            depth.map_or(Ok(()), |d| positive(&format!("{path}.wind.depth"), d))?;
            vector(&format!("{path}.wind.velocity"), velocity)?;
            keys(&format!("{path}.wind.drag"), drag)?;
            each(&format!("{path}.wind.drag"), drag, |p, x| range(p, x, 0.0, 1e6))
        }
    }
}

fn check_pull(path: &str, center: &Keyed<[f64; 3]>, strength: &Keyed<f64>, radius: f64) -> Result<()> {
    vector(&format!("{path}.center"), center)?;
    keys(&format!("{path}.strength"), strength)?;
    each(&format!("{path}.strength"), strength, |p, x| range(p, x, -HUGE, HUGE))?;
    positive(&format!("{path}.radius"), radius)
}

fn placed(path: &str, shape: &ShapeSpec, transform: &Transform) -> Result<()> {
    check_shape(&format!("{path}.shape"), shape)?;
    shape.solid().map_err(|e| Error::scene(format!("{path}.shape"), e.to_string()))?;
    let path = format!("{path}.transform");
    vector(&format!("{path}.translate"), &transform.translate)?;
    vector(&format!("{path}.rotate"), &transform.rotate)?;
    three(&format!("{path}.pivot"), &transform.pivot)?;
    positive(&format!("{path}.scale"), transform.scale)
}

fn check_sizing(sizing: &Sizing) -> Result<()> {
    let at = |key: &str| format!("simulator.sizing.{key}");
    for (i, region) in sizing.regions.iter().enumerate() {
        let path = at(&format!("regions[{i}]"));
        range(&format!("{path}.width"), region.width, 1.0, 1e3)?;
        let path = format!("{path}.shape");
        check_shape(&path, &region.shape)?;
        if region.shape.solid().map_err(|e| Error::scene(&path, e.to_string()))?.is_none() {
            return Err(Error::scene(path, "a region is a shape given by a formula, no mesh"));
        }
    }
    if let Some(camera) = &sizing.camera {
        three(&at("camera.eye"), &camera.eye)?;
        let view: [f64; 3] = std::array::from_fn(|a| camera.look_at[a] - camera.eye[a]);
        direction(&at("camera.look_at"), &view)?;
        range(&at("camera.half_angle"), camera.half_angle, 1e-3, 180.0)?;
        range(&at("camera.resolves"), camera.resolves, 1e-6, 90.0)?;
        range(&at("camera.outside"), camera.outside, 1.0, 1e3)?;
    }
    sizing.velocity_change.map_or(Ok(()), |v| positive(&at("velocity_change"), v))?;
    sizing.at_colliders.map_or(Ok(()), |w| range(&at("at_colliders"), w, 1.0, 1e3))
}

fn check_shape(path: &str, shape: &ShapeSpec) -> Result<()> {
    let lengths = |kind: &str, all: &[(&str, f64)]| {
        all.iter().try_for_each(|(key, x)| positive(&format!("{path}.{kind}.{key}"), *x))
    };
    match shape {
        ShapeSpec::Box { min, max, .. } => {
            three(&format!("{path}.box.min"), min)?;
            three(&format!("{path}.box.max"), max)?;
            match (0..3).find(|&a| max[a] <= min[a]) {
                Some(a) => Err(Error::scene(
                    format!("{path}.box.max[{a}]"),
                    format!("{} is not above min ({}): the box would be empty", max[a], min[a]),
                )),
                None => Ok(()),
            }
        }
        ShapeSpec::Sphere { center, radius } => {
            three(&format!("{path}.sphere.center"), center)?;
            lengths("sphere", &[("radius", *radius)])
        }
        ShapeSpec::Capsule { from, to, radius } => segment(path, "capsule", from, to, *radius),
        ShapeSpec::Cylinder { from, to, radius, .. } => segment(path, "cylinder", from, to, *radius),
        ShapeSpec::Plane { point, normal } => {
            three(&format!("{path}.plane.point"), point)?;
            direction(&format!("{path}.plane.normal"), normal)
        }
        ShapeSpec::Cup { radius, height, thickness, .. } => {
            lengths("cup", &[("radius", *radius), ("height", *height), ("thickness", *thickness)])
        }
        ShapeSpec::Bowl { radius, thickness, .. } => {
            lengths("bowl", &[("radius", *radius), ("thickness", *thickness)])
        }
        ShapeSpec::Torus { radius, tube } => lengths("torus", &[("radius", *radius), ("tube", *tube)]),
        ShapeSpec::Mesh { file: name, scale, detail } => {
            lengths("mesh", &[("scale", *scale), ("detail", detail.unwrap_or(1.0))])?;
            file(&format!("{path}.mesh.file"), name)
        }
        ShapeSpec::Samples { files, scale, detail, by_frame } => {
            lengths("samples", &[("scale", *scale), ("detail", detail.unwrap_or(1.0))])?;
            rising(&format!("{path}.samples.files"), files.iter().map(|f| f.0))?;
            let there = files.iter().enumerate().filter(|(_, f)| !by_frame || !f.1.is_empty());
            { there }.try_for_each(|(i, f)| file(&format!("{path}.samples.files[{i}][1]"), &f.1))
        }
    }
}

fn segment(path: &str, kind: &str, from: &[f64; 3], to: &[f64; 3], radius: f64) -> Result<()> {
    three(&format!("{path}.{kind}.from"), from)?;
    three(&format!("{path}.{kind}.to"), to)?;
    if from == to {
        return Err(Error::scene(format!("{path}.{kind}.to"), "both ends are the same point"));
    }
    positive(&format!("{path}.{kind}.radius"), radius)
}

fn missing<'a>(path: &str, kind: &str, name: &str, known: impl Iterator<Item = &'a str> + Clone) -> Error {
    let hint = nearest(name, known.clone()).map_or(String::new(), |n| format!("; did you mean \"{n}\"?"));
    let all: Vec<_> = known.collect();
    let there =
        if all.is_empty() { "there are none".into() } else { format!("there are: {}", all.join(", ")) };
    Error::scene(path, excerpt(&format!("no {kind} is called \"{name}\"{hint} {there}")))
}

pub(super) fn range(path: &str, x: f64, low: f64, high: f64) -> Result<()> {
    match x.is_finite() && (low..=high).contains(&x) {
        true => Ok(()),
        false => Err(Error::scene(path, format!("{x} is not allowed: give a number from {low} to {high}"))),
    }
}

fn positive(path: &str, x: f64) -> Result<()> {
    match x.is_finite() && x > 0.0 && x <= HUGE {
        true => Ok(()),
        false => {
            Err(Error::scene(path, format!("{x} is not allowed: give a number above 0 and up to {HUGE}")))
        }
    }
}

fn three(path: &str, v: &[f64; 3]) -> Result<()> {
    (0..3).try_for_each(|a| range(&format!("{path}[{a}]"), v[a], -HUGE, HUGE))
}

fn direction(path: &str, v: &[f64; 3]) -> Result<()> {
    three(path, v)?;
    match Vec3::from(*v).norm() > 1e-9 {
        true => Ok(()),
        false => Err(Error::scene(path, "a direction needs a length above 0")),
    }
}

fn vector(path: &str, v: &Keyed<[f64; 3]>) -> Result<()> {
    keys(path, v)?;
    each(path, v, |p, x| three(p, &x))
}

/// Check every value of a keyed number.
fn each<T: Blend>(path: &str, value: &Keyed<T>, check: impl Fn(&str, T) -> Result<()>) -> Result<()> {
    match value {
        Keyed::Constant(x) => check(path, *x),
        Keyed::Keys(all) => {
            all.iter().enumerate().try_for_each(|(i, k)| check(&format!("{path}.keys[{i}][1]"), k.1))
        }
    }
}

pub(super) fn keys<T>(path: &str, value: &Keyed<T>) -> Result<()> {
    match value {
        Keyed::Constant(_) => Ok(()),
        Keyed::Keys(all) => rising(&format!("{path}.keys"), all.iter().map(|k| k.0)),
    }
}

fn rising(path: &str, frames: impl Iterator<Item = f64>) -> Result<()> {
    let mut before = f64::NEG_INFINITY;
    let mut count = 0;
    for frame in frames {
        range(&format!("{path}[{count}][0]"), frame, -HUGE, HUGE)?;
        if frame <= before {
            let message = format!("frame {frame} follows frame {before}: frames must rise");
            return Err(Error::scene(format!("{path}[{count}]"), message));
        }
        (before, count) = (frame, count + 1);
    }
    if count == 0 {
        Err(Error::scene(path, "the list is empty: give at least one [frame, value]"))
    } else {
        Ok(())
    }
}

/// Names of files at rising frames.
pub(super) fn files_at_frames(path: &str, files: &[(f64, String)]) -> Result<()> {
    rising(path, files.iter().map(|f| f.0))?;
    files.iter().enumerate().try_for_each(|(i, f)| file(&format!("{path}[{i}][1]"), &f.1))
}

pub(super) fn text(path: &str, text: &str) -> Result<()> {
    if text.chars().count() > 200 {
        return Err(Error::scene(path, "a name has at most 200 characters"));
    }
    match printable(text) == text && !text.contains('\n') {
        true => Ok(()),
        false => Err(Error::scene(path, "control characters are not allowed")),
    }
}

fn file(path: &str, name: &str) -> Result<()> {
    if name.is_empty() {
        return Err(Error::scene(path, "the name of a file or folder is missing"));
    }
    match printable(name) == name && !name.contains('\n') && name.len() <= 4096 {
        true => Ok(()),
        false => Err(Error::scene(path, "control characters are not allowed in the name of a file")),
    }
}

/// Names of solids become names of files, so they are unique and hold no separators.
fn file_name<'a>(path: &str, name: &'a str, seen: &mut BTreeSet<&'a str>) -> Result<()> {
    text(path, name)?;
    if name.is_empty()
        || name.starts_with('.')
        || name.contains(['/', '\\', ':', '*', '?', '"', '<', '>', '|'])
    {
        let message = format!(
            "\"{name}\" cannot be the name of a file: leave out / \\ : * ? \" < > | and a leading dot"
        );
        return Err(Error::scene(path, message));
    }
    match seen.insert(name) {
        true => Ok(()),
        false => Err(Error::scene(path, format!("another solid is called \"{name}\" as well"))),
    }
}
