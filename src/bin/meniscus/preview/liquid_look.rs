//! The look of a liquid from its preset in the scene: clear and tinted, or opaque.

use super::image::Rgb;
use super::stage::Shade;
use meniscus::scene::Scene;
use std::path::Path;

/// How the first liquid of the scene in a cache is painted, and its tint. Water if nothing is known.
pub fn liquid_look(cache: &Path) -> (Shade, Rgb) {
    let scene =
        std::fs::read_to_string(cache.join("scene.json")).ok().and_then(|t| Scene::from_json(&t).ok());
    let preset = scene.and_then(|s| s.liquids.into_iter().next()).and_then(|l| l.preset);
    look_of_preset(preset.as_deref().unwrap_or("water"))
}

fn look_of_preset(name: &str) -> (Shade, Rgb) {
    const WATER: Rgb = Rgb::new(0.50, 0.80, 0.88);
    let clear = |r: f64, g: f64, b: f64| (Shade::Water, Rgb::new(r, g, b));
    let opaque = |r: f64, g: f64, b: f64| (Shade::Paint(Rgb::new(r, g, b)), WATER);
    match name {
        "ethanol" | "glycerin" => clear(0.82, 0.90, 0.92),
        "olive_oil" => clear(0.80, 0.70, 0.12),
        "honey_35c" | "honey_20c" => clear(0.90, 0.42, 0.03),
        "milk" => opaque(0.86, 0.83, 0.78),
        "blood" => opaque(0.30, 0.012, 0.012),
        "chocolate" => opaque(0.17, 0.075, 0.035),
        "ketchup" => opaque(0.48, 0.045, 0.015),
        "lava" => opaque(0.85, 0.20, 0.03),
        "mercury" => opaque(0.62, 0.63, 0.65),
        _ => (Shade::Water, WATER),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_preset_but_the_waters_has_a_look_of_its_own() {
        let water = look_of_preset("water");
        for preset in meniscus::scene::PRESETS {
            let like_water = ["water", "seawater"].contains(&preset.name);
            assert_eq!(look_of_preset(preset.name) == water, like_water, "{}", preset.name);
        }
        assert_eq!(liquid_look(Path::new("no/such/cache")), water);
    }
}
