//! Frames a second as an exact fraction: 24, [24000, 1001] or "24000/1001".

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Error, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;
use std::fmt;

/// Frames a second, numerator over denominator, both positive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fps {
    pub numerator: u32,
    pub denominator: u32,
}

impl Default for Fps {
    fn default() -> Self {
        Fps { numerator: 24, denominator: 1 }
    }
}

impl Fps {
    /// The duration of one frame in seconds.
    pub fn frame_seconds(&self) -> f64 {
        f64::from(self.denominator) / f64::from(self.numerator)
    }

    /// The rate meant by a number that a file holds: whole, as NTSC has it, or to a thousandth.
    pub fn nearest(rate: f64) -> Self {
        let rate = if rate.is_finite() { rate.clamp(1e-3, 1e6) } else { 24.0 };
        let (whole, ntsc) = (rate.round(), (rate * 1.001).round());
        let of = |n: f64, denominator| Fps { numerator: n as u32, denominator };
        if (rate - whole).abs() < 1e-6 * rate {
            of(whole, 1)
        } else if (rate * 1.001 - ntsc).abs() < 1e-6 * rate {
            of(1000.0 * ntsc, 1001)
        } else {
            of((1000.0 * rate).round(), 1000)
        }
    }

    /// Frames a second.
    pub fn value(&self) -> f64 {
        f64::from(self.numerator) / f64::from(self.denominator)
    }
}

impl fmt::Display for Fps {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self.denominator {
            1 => write!(f, "{}", self.numerator),
            d => write!(f, "{}/{d}", self.numerator),
        }
    }
}

impl Serialize for Fps {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.denominator {
            1 => self.numerator.serialize(serializer),
            d => [self.numerator, d].serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Fps {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(FpsVisitor)
    }
}

struct FpsVisitor;

fn fraction<E: Error>(numerator: u64, denominator: u64) -> Result<Fps, E> {
    match (u32::try_from(numerator), u32::try_from(denominator)) {
        (Ok(numerator @ 1..), Ok(denominator @ 1..)) => Ok(Fps { numerator, denominator }),
        _ => {
            Err(E::custom("frames a second must be a fraction of two positive whole numbers, as 24000/1001"))
        }
    }
}

impl<'de> Visitor<'de> for FpsVisitor {
    type Value = Fps;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("frames a second as 24, [24000, 1001] or \"24000/1001\"")
    }
    fn visit_u64<E: Error>(self, value: u64) -> Result<Fps, E> {
        fraction(value, 1)
    }
    fn visit_i64<E: Error>(self, _: i64) -> Result<Fps, E> {
        fraction(0, 1)
    }
    fn visit_f64<E: Error>(self, value: f64) -> Result<Fps, E> {
        if value.fract() == 0.0 && (1.0..4e9).contains(&value) {
            return fraction(value as u64, 1);
        }
        let nearest = value.ceil();
        let ntsc = nearest * 1000.0 / 1001.0;
        let hint = if (value - ntsc).abs() < 0.01 {
            format!("; for {value} write \"{}/1001\"", nearest * 1000.0)
        } else {
            String::new()
        };
        Err(E::custom(format!("frames a second must be exact: a whole number or a fraction{hint}")))
    }
    fn visit_str<E: Error>(self, text: &str) -> Result<Fps, E> {
        let (n, d) = text.split_once('/').unwrap_or((text, "1"));
        match (n.trim().parse(), d.trim().parse()) {
            (Ok(n), Ok(d)) => fraction(n, d),
            _ => fraction(0, 0),
        }
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Fps, A::Error> {
        let both = (seq.next_element::<u64>()?, seq.next_element::<u64>()?, seq.next_element::<u64>()?);
        match both {
            (Some(n), Some(d), None) => fraction(n, d),
            _ => fraction(0, 0),
        }
    }
}

impl JsonSchema for Fps {
    fn schema_name() -> Cow<'static, str> {
        "Fps".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "Frames a second: 24, [24000, 1001] or \"24000/1001\".",
            "anyOf": [
                {"type": "integer", "minimum": 1},
                {"type": "array", "items": {"type": "integer", "minimum": 1}, "minItems": 2, "maxItems": 2},
                {"type": "string", "pattern": "^[0-9]+(/[0-9]+)?$"}
            ]
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_spellings_of_a_rate() {
        let ntsc = Fps { numerator: 24000, denominator: 1001 };
        for (text, rate) in [
            ("24", Fps::default()),
            ("24.0", Fps::default()),
            ("[24000, 1001]", ntsc),
            ("\"24000/1001\"", ntsc),
            ("\"24\"", Fps::default()),
        ] {
            assert_eq!(serde_json::from_str::<Fps>(text).expect(text), rate);
        }
        assert_eq!(serde_json::to_string(&ntsc).expect("text"), "[24000,1001]");
        assert_eq!(ntsc.to_string(), "24000/1001");
    }

    #[test]
    fn a_decimal_rate_is_refused_with_its_fraction() {
        let message = serde_json::from_str::<Fps>("23.976").expect_err("refused").to_string();
        assert!(message.contains("24000/1001"), "{message}");
        for text in ["0", "-24", "[24, 0]", "[24]", "\"x\"", "1e30", "[1, 2, 3]"] {
            assert!(serde_json::from_str::<Fps>(text).is_err(), "{text}");
        }
    }
}
