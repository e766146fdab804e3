//! Liquids by name, each number with its source.
//!
//! Newtonian numbers for one temperature. What is marked indicative varies widely between samples, or
//! stands for a liquid that is not Newtonian at one rate of shear; the note says which.

/// A liquid with its numbers and where they come from (keys of `references.md`).
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct Preset {
    /// The word for a scene.
    pub name: &'static str,
    /// Density in kg/m³.
    pub density: f64,
    /// Dynamic viscosity in Pa·s.
    pub viscosity: f64,
    /// Surface tension against air in N/m.
    pub surface_tension: f64,
    /// Whether samples differ so much that the numbers only indicate.
    pub indicative: bool,
    /// Temperature, meaning and sources.
    pub note: &'static str,
}

const fn liquid(
    name: &'static str,
    [density, viscosity, surface_tension]: [f64; 3],
    indicative: bool,
    note: &'static str,
) -> Preset {
    Preset { name, density, viscosity, surface_tension, indicative, note }
}

/// Every preset, thin to thick.
pub const PRESETS: &[Preset] = &[
    liquid("ethanol", [785.1, 0.001074, 0.02197], false, "25 °C, all from [CRC]"),
    liquid("water", [998.2, 0.001002, 0.07274], false, "20 °C; [CRC], tension [IAPWS14]"),
    liquid("seawater", [1024.8, 0.001077, 0.0737], false, "20 °C, 35 g/kg; [SLZ10], tension [NPL14]"),
    liquid("mercury", [13534.0, 0.001526, 0.4855], false, "25 °C, all from [CRC]"),
    liquid("milk", [1029.0, 0.0021, 0.047], true, "whole milk at 20 °C; [WWG06]"),
    liquid("blood", [1060.0, 0.004, 0.056], true, "37 °C at high rates of shear; tension at 22 °C [HR97]"),
    liquid("olive_oil", [911.0, 0.084, 0.032], true, "20 °C; [CRC], oils differ by a fifth"),
    liquid("glycerin", [1261.0, 1.41, 0.0634], false, "20 °C, free of water; viscosity [SO51], others [CRC]"),
    liquid(
        "chocolate",
        [1270.0, 1.9, 0.025],
        true,
        "molten milk chocolate at 40 °C, Casson's plastic viscosity [NETZSCH], yield stress of 14 Pa left out",
    ),
    liquid(
        "honey_35c",
        [1410.0, 3.2, 0.05],
        true,
        "6.12 Pa·s at 30 °C [PJF18] taken to 35 °C with 98.8 kJ/mol [JF06]",
    ),
    liquid(
        "honey_20c",
        [1420.0, 23.0, 0.05],
        true,
        "6.12 Pa·s at 30 °C [PJF18] taken to 20 °C with 98.8 kJ/mol [JF06]",
    ),
    liquid(
        "ketchup",
        [1140.0, 51.0, 0.05],
        true,
        "25 °C at 1/s from yield stress and power law [STE96]; thinner when sheared",
    ),
    liquid(
        "lava",
        [2600.0, 1000.0, 0.35],
        true,
        "basalt near 1150 °C; viscosity spans 10 to 10⁴ Pa·s [GRD08], tension [WM81]",
    ),
];

/// The preset of that name.
pub fn preset(name: &str) -> Option<&'static Preset> {
    PRESETS.iter().find(|p| p.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_preset_is_a_liquid_with_a_source() {
        for p in PRESETS {
            assert!((500.0..2e4).contains(&p.density), "{}", p.name);
            assert!((1e-4..1e5).contains(&p.viscosity), "{}", p.name);
            assert!((0.01..1.0).contains(&p.surface_tension), "{}", p.name);
            assert!(p.note.contains('['), "{} names no source", p.name);
            assert_eq!(preset(p.name), Some(p));
        }
    }

    #[test]
    fn honey_follows_its_activation_energy() {
        // Arrhenius from 30 °C with the mean of [JF06]'s 92.34 and 105.25 kJ/mol, as the notes say.
        let at =
            |celsius: f64| 6.12 * (98_795.0 / 8.314_46 * (1.0 / (273.15 + celsius) - 1.0 / 303.15)).exp();
        for (name, celsius) in [("honey_20c", 20.0), ("honey_35c", 35.0)] {
            let written = preset(name).map_or(0.0, |p| p.viscosity);
            // The table is rounded to two digits.
            assert!((written / at(celsius) - 1.0).abs() < 0.02, "{name}: {written} and {}", at(celsius));
        }
    }
}
