//! Names of frames in files: `0001`, `-0012`, `12345`.

/// The number of a frame as it stands in file names: at least four digits, the sign before them.
pub fn frame_name(frame: i64) -> String {
    let sign = if frame < 0 { "-" } else { "" };
    format!("{sign}{:04}", frame.unsigned_abs())
}

/// The frame that a file name stands for, if it is one that [`frame_name`] makes.
pub fn frame_number(name: &str) -> Option<i64> {
    let frame = name.parse().ok()?;
    (frame_name(frame) == name).then_some(frame)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_have_four_digits_and_may_be_negative() {
        for (frame, name) in [(1, "0001"), (0, "0000"), (-12, "-0012"), (1001, "1001"), (123456, "123456")] {
            assert_eq!(frame_name(frame), name);
            assert_eq!(frame_number(name), Some(frame));
        }
        assert_eq!(frame_name(i64::MIN), "-9223372036854775808");
        for other in ["", "1", "+001", "abc", "0x12", "00001", "-0000"] {
            assert_eq!(frame_number(other), None, "{other}");
        }
    }
}
