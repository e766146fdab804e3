//! One stage for all frames of a run, by value clips: each frame stays in its own file.
//!
//! The stage refers to the first file for its prims and takes the samples of each time code from the
//! file of that frame, so that a run can be opened as a whole while it is still being written.

use super::super::frame::frame_name;
use crate::scene::Fps;

/// The text of `liquid.usda` for the frames from first to last; nothing where their names are not four
/// digits, which is all that templates of clips can say.
pub fn stage([first, last]: [i64; 2], fps: Fps, ending: &str) -> Option<String> {
    if first < 0 || last > 9999 {
        return None;
    }
    let (rate, start) = (fps.value(), frame_name(first));
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

def Xform "liquid" (
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
)
{{
}}
"#
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stage_names_its_frames_where_it_can() {
        let text = stage([1, 24], Fps::default(), "usdc").unwrap();
        assert!(text.contains("@./surface/0001.usdc@") && text.contains("templateEndTime = 24"));
        assert_eq!(stage([-1, 24], Fps::default(), "usdc"), None);
        assert_eq!(stage([1, 10_000], Fps::default(), "usdc"), None);
    }
}
