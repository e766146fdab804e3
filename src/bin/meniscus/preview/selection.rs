//! Which frames are drawn: `1-48`, `7`, `1-10,20,30-`, `-5..10`, and every n-th of them.

use meniscus::{Error, Result};

/// First and last frame of each range; an open end reaches as far as there are frames.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selection(Vec<[i64; 2]>);

impl Default for Selection {
    /// All frames.
    fn default() -> Self {
        Self(vec![[i64::MIN, i64::MAX]])
    }
}

impl Selection {
    /// Read a list of frames and ranges.
    pub fn parse(text: &str) -> Result<Self, String> {
        let number = |n: &str, open: i64| match n.trim() {
            "" => Ok(open),
            n => n
                .parse::<i64>()
                .map_err(|_| format!("'{n}' is not a frame number; frames are like 1-48 or 1,5,9")),
        };
        // Two dots also serve where a minus sign would be taken for a range.
        let range = |part: &str| match part.split_once("..").or_else(|| part.split_once('-')) {
            Some((from, to)) => Ok([number(from, i64::MIN)?, number(to, i64::MAX)?]),
            None if part.trim().is_empty() => Err("frames are like 1-48 or 1,5,9".to_string()),
            None => number(part, 0).map(|n| [n, n]),
        };
        let ranges = text.split(',').map(range).collect::<Result<Vec<_>, String>>()?;
        if let Some([from, to]) = ranges.iter().find(|[from, to]| from > to) {
            return Err(format!("{from}-{to} runs backwards; write {to}-{from}"));
        }
        Ok(Self(ranges))
    }

    /// Those of the frames that exist, in order, every n-th; an error if none is left.
    pub fn of(&self, frames: &[i64], every: usize) -> Result<Vec<i64>> {
        let wanted = |f: &&i64| self.0.iter().any(|[from, to]| from <= *f && *f <= to);
        let chosen: Vec<i64> = frames.iter().filter(wanted).step_by(every.max(1)).copied().collect();
        if chosen.is_empty() {
            let there = match (frames.first(), frames.last()) {
                (Some(first), Some(last)) => format!("the cache holds {first} to {last}"),
                _ => "the cache holds no frames yet".to_string(),
            };
            return Err(Error::invalid("--frames", format!("no such frame; {there}")));
        }
        Ok(chosen)
    }
}

/// At most `count` of the frames, evenly spread, first and last among them.
pub fn spread(frames: &[i64], count: usize) -> Vec<i64> {
    if frames.len() <= count || count < 2 {
        return frames.iter().take(count.max(1)).copied().collect();
    }
    let last = frames.len() - 1;
    (0..count).map(|i| frames[(i * last + (count - 1) / 2) / (count - 1)]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_choose_the_frames_that_are_there() {
        let frames: Vec<i64> = (1..=10).collect();
        let of = |text: &str, every| Selection::parse(text).unwrap().of(&frames, every);
        assert_eq!(of("2-4,9", 1).unwrap(), [2, 3, 4, 9]);
        assert_eq!(of("8-", 1).unwrap(), [8, 9, 10]);
        assert_eq!(of("-3", 2).unwrap(), [1, 3]);
        assert_eq!(of("-5..2", 1).unwrap(), [1, 2]);
        assert!(of("20-30", 1).unwrap_err().to_string().contains("1 to 10"));
        for bad in ["", "a", "4-2", "1,,2"] {
            assert!(Selection::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_spread_keeps_both_ends() {
        let frames: Vec<i64> = (1..=48).collect();
        let chosen = spread(&frames, 12);
        assert_eq!((chosen.len(), chosen[0], chosen[11]), (12, 1, 48));
        assert!(chosen.windows(2).all(|w| (3..=5).contains(&(w[1] - w[0]))), "{chosen:?}");
        assert_eq!(spread(&frames[..5], 12), [1, 2, 3, 4, 5]);
    }
}
