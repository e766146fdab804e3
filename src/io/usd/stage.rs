//! One stage for all frames of a run, by value clips: each frame stays in its own file.
//!
//! The stage refers to the first file for its prims and takes the samples of each time code from the
//! file of that frame, so that a run can be opened as a whole while it is still being written. Volumes are
//! OpenVDB assets of one `Volume` prim, a file a frame.

use super::super::frame::frame_name;
use crate::scene::Fps;
use std::fmt::Write;

/// What a stage joins.
#[derive(Clone, Copy, Debug)]
pub struct StageOf<'a> {
    /// First and last frame.
    pub range: [i64; 2],
    pub fps: Fps,
    /// The ending of the surfaces, if they are USD.
    pub surfaces: Option<&'a str>,
    /// Frames that have volumes.
    pub volumes: &'a [i64],
    /// The grids in them.
    pub fields: &'a [&'a str],
}

/// The text of `liquid.usda`; nothing where the names of surfaces are not four digits, which is all that templates
/// of clips can say.
pub fn stage(of: &StageOf) -> Option<String> {
    let [first, last] = of.range;
    if of.surfaces.is_some() && (first < 0 || last > 9999) {
        return None;
    }
    let rate = of.fps.value();
    let clips = of.surfaces.map_or(String::new(), |ending| clips(of.range, ending));
    Some(format!(
        r#"#usda 1.0
(
    defaultPrim = "liquid"
    endTimeCode = {last}
    framesPerSecond = {rate}
    metersPerUnit = 1
    startTimeCode = {first}
    timeCodesPerSecond = {rate}
    upAxis = "Y"
)

def Xform "liquid"{clips}
{{
{}}}
"#,
        volumes(of)
    ))
}

fn clips([first, last]: [i64; 2], ending: &str) -> String {
    let start = frame_name(first);
    format!(
        r#" (
    prepend references = @./surface/{start}.{ending}@
    clips = {{
        dictionary default = {{
            string primPath = "/liquid"
            string templateAssetPath = "./surface/####.{ending}"
            double templateEndTime = {last}
            double templateStartTime = {first}
            double templateStride = 1
        }}
    }}
)"#
    )
}

/// A prim for the volumes, with one for each grid in their files.
fn volumes(of: &StageOf) -> String {
    let mut text = String::new();
    if of.volumes.is_empty() || of.fields.is_empty() {
        return text;
    }
    text += "    def Volume \"volumes\"\n    {\n";
    for name in of.fields {
        // Writing into a text cannot fail.
        let _ = writeln!(text, "        rel field:{name} = </liquid/volumes/{name}>");
    }
    for name in of.fields {
        let (class, kind) = match *name {
            "surface" | "collision" => ("levelSet", "float"),
            "vel" => ("staggered", "float3"),
            _ => ("fogVolume", "float"),
        };
        let _ = write!(
            text,
            "\n        def OpenVDBAsset \"{name}\"\n        {{\n            token fieldClass = \"{class}\"\n            \
             token fieldDataType = \"{kind}\"\n            token fieldName = \"{name}\"\n            \
             asset filePath.timeSamples = {{\n"
        );
        for frame in of.volumes {
            let _ = writeln!(text, "                {frame}: @./vdb/{}.vdb@,", frame_name(*frame));
        }
        text += "            }\n        }\n";
    }
    text + "    }\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stage_names_its_frames_where_it_can() {
        let of =
            |range, surfaces| StageOf { range, fps: Fps::default(), surfaces, volumes: &[], fields: &[] };
        let text = stage(&of([1, 24], Some("usdc"))).unwrap();
        assert!(text.contains("@./surface/0001.usdc@") && text.contains("templateEndTime = 24"));
        assert!(!text.contains("Volume"));
        assert_eq!(stage(&of([-1, 24], Some("usdc"))), None);
        assert_eq!(stage(&of([1, 10_000], Some("usdc"))), None);
    }

    #[test]
    fn volumes_are_assets_of_their_frames() {
        let of = StageOf {
            range: [-1, 0],
            fps: Fps::default(),
            surfaces: None,
            volumes: &[-1, 0],
            fields: &["surface", "vel"],
        };
        let text = stage(&of).unwrap();
        assert!(
            text.contains("-1: @./vdb/-0001.vdb@") && text.contains("rel field:vel = </liquid/volumes/vel>"),
            "{text}"
        );
    }
}
