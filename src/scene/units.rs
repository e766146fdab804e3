//! Scene units to metres, once at the door.
//!
//! Positions, sizes of shapes and velocities are multiplied by `unit_length`, which then is 1. Values
//! whose unit is named in metres, litres or kilograms are SI already. Meshes are files, so their scale
//! changes instead of their vertices.

use super::{Attributes, Domain, Force, Joint, Keyed, Scene, ShapeSpec, Transform, Volume};

impl Scene {
    /// The same scene with every length in metres and `unit_length` 1.
    pub fn to_si(&self) -> Scene {
        let u = self.unit_length;
        let mut scene = Scene { unit_length: 1.0, ..self.clone() };
        if let Some(domain) = &mut scene.domain {
            scale_all(u, [&mut domain.min, &mut domain.max]);
        }
        for volume in &mut scene.initial {
            place(u, &mut volume.shape, &mut volume.transform);
            scale(u, &mut volume.velocity);
        }
        for emitter in &mut scene.emitters {
            place(u, &mut emitter.shape, &mut emitter.transform);
            emitter.velocity = keyed(u, &emitter.velocity);
        }
        for sink in &mut scene.sinks {
            place(u, &mut sink.shape, &mut sink.transform);
        }
        if let Some(line) = &mut scene.water_line {
            line.height *= u;
            line.width = line.width.map(|w| u * w);
            for wave in &mut line.waves {
                wave.height *= u;
                wave.length *= u;
            }
        }
        for collider in &mut scene.colliders {
            place(u, &mut collider.shape, &mut collider.transform);
        }
        for body in &mut scene.bodies {
            place(u, &mut body.shape, &mut body.transform);
            scale(u, &mut body.velocity);
            if let Joint::Hinge { point, .. } = &mut body.joint {
                scale(u, point);
            }
        }
        let sizing = &mut scene.simulator.sizing;
        for region in &mut sizing.regions {
            region.shape = region.shape.scaled(u);
        }
        if let Some(camera) = &mut sizing.camera {
            scale_all(u, [&mut camera.eye, &mut camera.look_at]);
        }
        if let Some(change) = &mut sizing.velocity_change {
            *change *= u;
        }
        for field in &mut scene.fields {
            field.scale *= u;
        }
        for force in &mut scene.forces {
            scale_force(u, force);
        }
        if let (Some(_), Some(domain)) = (&scene.smoke, &scene.domain) {
            scene.initial.insert(0, air(domain));
        }
        scene
    }
}

/// Air without smoke in all of the domain, for the volumes of the scene to colour.
fn air(domain: &Domain) -> Volume {
    Volume {
        name: "air".into(),
        liquid: None,
        shape: ShapeSpec::Box { min: domain.min, max: domain.max, rounding: 0.0 },
        transform: Transform::default(),
        velocity: [0.0; 3],
        angular_velocity: [0.0; 3],
        velocity_gradient: None,
        attributes: Attributes::default(),
    }
}

fn scale(u: f64, v: &mut [f64; 3]) {
    *v = v.map(|x| x * u);
}

fn scale_all<const N: usize>(u: f64, all: [&mut [f64; 3]; N]) {
    all.into_iter().for_each(|v| scale(u, v));
}

fn keyed(u: f64, v: &Keyed<[f64; 3]>) -> Keyed<[f64; 3]> {
    v.map(|x| x.map(|x| x * u))
}

fn place(u: f64, shape: &mut ShapeSpec, transform: &mut Transform) {
    transform.translate = keyed(u, &transform.translate);
    scale(u, &mut transform.pivot);
    *shape = shape.scaled(u);
}

fn scale_force(u: f64, force: &mut Force) {
    match force {
        Force::Uniform { .. } => {}
        Force::Vortex { center, radius, .. } | Force::Point { center, radius, .. } => {
            *center = keyed(u, center);
            *radius *= u;
        }
        Force::Curve { points, radius, .. } => {
            points.iter_mut().for_each(|p| scale(u, p));
            *radius *= u;
        }
        Force::Wind { velocity, depth, .. } => {
            *velocity = keyed(u, velocity);
            *depth = depth.map(|d| u * d);
        }
    }
}
