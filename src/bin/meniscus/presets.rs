//! `meniscus presets` and `meniscus schema`.

use super::terminal::say;
use meniscus::scene::{PRESETS, Scene};
use meniscus::{Error, Result};

/// The liquids as a table or as JSON.
pub fn presets(json: bool) -> Result<()> {
    if json {
        return print_json(&PRESETS);
    }
    say("name         density  viscosity  tension");
    say("               kg/m³       Pa·s      N/m");
    for p in PRESETS {
        let mark = if p.indicative { "indicative: " } else { "" };
        say(&format!(
            "{:<11} {:>8} {:>10} {:>8}  {mark}{}",
            p.name, p.density, p.viscosity, p.surface_tension, p.note
        ));
    }
    say("\nThe keys in brackets are listed in src/references.md.");
    Ok(())
}

/// The JSON Schema of scenes.
pub fn schema() -> Result<()> {
    print_json(&schemars::schema_for!(Scene))
}

/// A value as JSON on standard output.
pub fn print_json(value: &impl serde::Serialize) -> Result<()> {
    let text = serde_json::to_string_pretty(value).map_err(|e| Error::invalid("JSON", e.to_string()))?;
    say(&text);
    Ok(())
}
