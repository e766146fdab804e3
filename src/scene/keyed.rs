//! A value that may change with the frame.
//!
//! In JSON either the value itself or `{"keys": [[frame, value], …]}` with rising frames. Between keys
//! numbers and vectors are linear and switches keep the value of the key before; outside the keys the
//! first and the last value hold.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::{BoolDeserializer, F64Deserializer, MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{Error, IntoDeserializer, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

/// A type whose values lie between two keys.
pub trait Blend: Copy {
    /// What a reader of an error message is told to write.
    const EXPECTED: &'static str;
    /// The value a fraction `t` in [0, 1) of the way from `self` to `next`.
    fn blend(self, next: Self, t: f64) -> Self;
    /// Whether every number in it is finite.
    fn is_finite(self) -> bool;
}

impl Blend for f64 {
    const EXPECTED: &'static str = "a number";
    fn blend(self, next: Self, t: f64) -> Self {
        self + (next - self) * t
    }
    fn is_finite(self) -> bool {
        f64::is_finite(self)
    }
}

impl Blend for [f64; 3] {
    const EXPECTED: &'static str = "[x, y, z]";
    fn blend(self, next: Self, t: f64) -> Self {
        std::array::from_fn(|a| self[a].blend(next[a], t))
    }
    fn is_finite(self) -> bool {
        self.iter().all(|x| x.is_finite())
    }
}

impl Blend for bool {
    const EXPECTED: &'static str = "true or false";
    fn blend(self, _: Self, _: f64) -> Self {
        self
    }
    fn is_finite(self) -> bool {
        true
    }
}

/// A constant or a list of (frame, value) with rising frames.
#[derive(Clone, Debug, PartialEq)]
pub enum Keyed<T> {
    Constant(T),
    Keys(Vec<(f64, T)>),
}

impl<T: Default> Default for Keyed<T> {
    fn default() -> Self {
        Keyed::Constant(T::default())
    }
}

impl<T> From<T> for Keyed<T> {
    fn from(value: T) -> Self {
        Keyed::Constant(value)
    }
}

impl<T: Blend> Keyed<T> {
    /// The value at a frame, whole or not. An empty list of keys is refused before it comes here.
    pub fn at(&self, frame: f64) -> T {
        match self {
            Keyed::Constant(value) => *value,
            Keyed::Keys(keys) => {
                let after = keys.partition_point(|k| k.0 <= frame);
                if after == 0 || after == keys.len() {
                    return keys[after.saturating_sub(1)].1;
                }
                let ((f0, a), (f1, b)) = (keys[after - 1], keys[after]);
                a.blend(b, (frame - f0) / (f1 - f0))
            }
        }
    }

    /// Whether the value changes with the frame.
    pub fn is_animated(&self) -> bool {
        matches!(self, Keyed::Keys(keys) if keys.len() > 1)
    }

    /// Every value that was written, in order.
    pub fn values(&self) -> impl Iterator<Item = T> + '_ {
        let (one, many) = match self {
            Keyed::Constant(value) => (Some(*value), &[][..]),
            Keyed::Keys(keys) => (None, &keys[..]),
        };
        one.into_iter().chain(many.iter().map(|k| k.1))
    }

    /// The same keys with other values.
    pub fn map(&self, f: impl Fn(T) -> T) -> Self {
        match self {
            Keyed::Constant(value) => Keyed::Constant(f(*value)),
            Keyed::Keys(keys) => Keyed::Keys(keys.iter().map(|&(frame, value)| (frame, f(value))).collect()),
        }
    }
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Keys<T> {
    keys: Vec<(f64, T)>,
}

impl<T: Serialize + Clone> Serialize for Keyed<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Keyed::Constant(value) => value.serialize(serializer),
            Keyed::Keys(keys) => Keys { keys: keys.clone() }.serialize(serializer),
        }
    }
}

impl<'de, T: Blend + Deserialize<'de>> Deserialize<'de> for Keyed<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(KeyedVisitor(PhantomData))
    }
}

struct KeyedVisitor<T>(PhantomData<T>);

impl<'de, T: Blend + Deserialize<'de>> Visitor<'de> for KeyedVisitor<T> {
    type Value = Keyed<T>;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{} or {{\"keys\": [[frame, value], …]}}", T::EXPECTED)
    }
    fn visit_bool<E: Error>(self, value: bool) -> Result<Self::Value, E> {
        let whole: BoolDeserializer<E> = value.into_deserializer();
        T::deserialize(whole).map(Keyed::Constant)
    }
    fn visit_i64<E: Error>(self, value: i64) -> Result<Self::Value, E> {
        self.visit_f64(value as f64)
    }
    fn visit_u64<E: Error>(self, value: u64) -> Result<Self::Value, E> {
        self.visit_f64(value as f64)
    }
    fn visit_f64<E: Error>(self, value: f64) -> Result<Self::Value, E> {
        let whole: F64Deserializer<E> = value.into_deserializer();
        T::deserialize(whole).map(Keyed::Constant)
    }
    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<Self::Value, A::Error> {
        T::deserialize(SeqAccessDeserializer::new(seq)).map(Keyed::Constant)
    }
    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
        Keys::deserialize(MapAccessDeserializer::new(map)).map(|k| Keyed::Keys(k.keys))
    }
}

impl<T: JsonSchema> JsonSchema for Keyed<T> {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        format!("Keyed_{}", T::schema_name()).into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let value = generator.subschema_for::<T>();
        json_schema!({
            "anyOf": [
                value,
                {
                    "type": "object",
                    "required": ["keys"],
                    "additionalProperties": false,
                    "properties": {"keys": {
                        "description": "Pairs of frame and value, frames rising.",
                        "type": "array",
                        "minItems": 1,
                        "items": {"type": "array", "prefixItems": [{"type": "number"}, value], "minItems": 2, "maxItems": 2}
                    }}
                }
            ]
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read<T: Blend + for<'a> Deserialize<'a>>(text: &str) -> Keyed<T> {
        serde_json::from_str(text).expect("a keyed value")
    }

    #[test]
    fn numbers_and_vectors_are_linear_between_keys_and_hold_outside() {
        let x: Keyed<f64> = read(r#"{"keys": [[1, 0], [5, 8], [6, 8]]}"#);
        assert_eq!([x.at(-3.0), x.at(1.0), x.at(2.5), x.at(5.5), x.at(99.0)], [0.0, 0.0, 3.0, 8.0, 8.0]);
        let v: Keyed<[f64; 3]> = read(r#"{"keys": [[0, [0, 0, 0]], [2, [2, -4, 6]]]}"#);
        assert_eq!(v.at(1.0), [1.0, -2.0, 3.0]);
        assert_eq!(read::<[f64; 3]>("[1, 2, 3]").at(7.0), [1.0, 2.0, 3.0]);
    }

    #[test]
    fn switches_step_at_their_keys() {
        let on: Keyed<bool> = read(r#"{"keys": [[1, false], [4, true], [8, false]]}"#);
        assert_eq!([0.0, 3.99, 4.0, 7.99, 8.0].map(|f| on.at(f)), [false, false, true, true, false]);
        assert!(read::<bool>("true").at(0.0));
    }

    #[test]
    fn a_keyed_value_survives_writing() {
        for text in ["3.5", r#"{"keys":[[1.0,2.0],[3.0,4.0]]}"#] {
            assert_eq!(serde_json::to_string(&read::<f64>(text)).expect("text"), text);
        }
    }

    #[test]
    fn the_wrong_type_is_told_what_is_allowed() {
        let message = serde_json::from_str::<Keyed<f64>>("\"fast\"").expect_err("refused").to_string();
        assert!(message.contains("a number or {\"keys\""), "{message}");
    }
}
