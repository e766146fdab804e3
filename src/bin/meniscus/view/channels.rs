//! Numbers to colour by: the speed, and every single number that surfaces carry at their vertices.
//!
//! A channel has one range for the whole shot, from a few of its frames, so that a colour means the same everywhere.
//! One that spans more than two powers of ten above zero, as viscosities do, is shown by its logarithm.

use super::super::preview::cache::Cache;
use super::super::preview::speeds;
use meniscus::Result;
use meniscus::geometry::TriMesh;
use serde_json::{Value, json};

/// Speed and three more: what one vertex of a shader takes.
const MOST: usize = 4;
/// Frames that ranges are judged by.
const LOOKED_AT: usize = 5;
/// From this ratio of highest to lowest on the logarithm is shown.
const WIDE: f64 = 100.0;

/// A number to colour by.
#[derive(Clone, Debug, PartialEq)]
struct Channel {
    name: String,
    range: [f64; 2],
}

impl Channel {
    fn logarithmic(&self) -> bool {
        self.range[0] > 0.0 && self.range[1] > WIDE * self.range[0]
    }

    /// From 0 to 1 over the range.
    fn share(&self, x: f64) -> f64 {
        let [low, high] = self.range;
        let share = match self.logarithmic() {
            true => (x.max(low) / low).ln() / (high / low).ln(),
            false => (x - low) / (high - low).max(f64::MIN_POSITIVE),
        };
        if share.is_finite() { share.clamp(0.0, 1.0) } else { 0.0 }
    }

    fn unit(&self) -> &'static str {
        match self.name.as_str() {
            "speed" => "m/s",
            "viscosity" => "Pa·s",
            "age" => "s",
            _ => "",
        }
    }
}

/// All of a shot, speed first.
pub struct Channels(Vec<Channel>);

impl Channels {
    /// What the surfaces carry, by name.
    pub fn find(cache: &Cache, frames: &[i64], top_speed: f64) -> Result<Self> {
        let mut all = vec![Channel { name: "speed".into(), range: [0.0, top_speed.max(1e-9)] }];
        for frame in frames.iter().step_by(frames.len().div_ceil(LOOKED_AT).max(1)) {
            let surface = cache.surface(*frame)?;
            let n = surface.positions.len();
            for a in surface.attributes.iter().filter(|a| a.width == 1 && a.data.len() == n && n > 0) {
                let finite = a.data.iter().map(|v| f64::from(*v)).filter(|v| v.is_finite());
                let range = finite.fold([f64::INFINITY, f64::NEG_INFINITY], |[l, h], v| [l.min(v), h.max(v)]);
                match all.iter().position(|c| c.name == a.name) {
                    Some(i) => all[i].range = [all[i].range[0].min(range[0]), all[i].range[1].max(range[1])],
                    None if all.len() < MOST && range[0] <= range[1] => {
                        all.push(Channel { name: a.name.clone(), range });
                    }
                    None => {}
                }
            }
        }
        Ok(Self(all))
    }

    /// The channels of a surface, from 0 to 1.
    pub fn of(&self, surface: &TriMesh) -> Vec<Vec<f64>> {
        let one = |channel: &Channel| -> Vec<f64> {
            let values = match channel.name.as_str() {
                "speed" => speeds(surface),
                name => surface
                    .attribute(name)
                    .filter(|a| a.width == 1)
                    .map(|a| a.data.iter().map(|v| f64::from(*v)).collect()),
            };
            values.unwrap_or_default().into_iter().map(|v| channel.share(v)).collect()
        };
        self.0.iter().map(one).collect()
    }

    /// For the page's script.
    pub fn about(&self) -> Value {
        let one = |c: &Channel| json!({"name": c.name, "unit": c.unit(), "low": c.range[0], "high": c.range[1], "logarithmic": c.logarithmic()});
        self.0.iter().map(one).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wide_range_is_shown_by_its_logarithm() {
        let honey = Channel { name: "viscosity".into(), range: [1e-3, 10.0] };
        assert!(honey.logarithmic() && (honey.share(0.1) - 0.5).abs() < 1e-12);
        let water = Channel { name: "viscosity".into(), range: [1e-3, 1e-3] };
        assert!(!water.logarithmic() && water.share(1e-3) == 0.0);
        let speed = Channel { name: "speed".into(), range: [0.0, 2.0] };
        assert_eq!([speed.share(1.0), speed.share(9.0), speed.share(f64::NAN)], [0.5, 1.0, 0.0]);
    }
}
