//! The form of a layer that people can read: `.usda`.

use super::layer::{Attribute, Layer, Prim, Value};
use std::fmt::Write;

/// The text of a layer.
pub(super) fn to_text(layer: &Layer) -> String {
    let mut out = String::from("#usda 1.0\n(\n");
    for (key, value) in &layer.metadata {
        out += &format!("    {key} = {}\n", in_words(value));
    }
    out += ")\n\n";
    prim(&layer.root, layer.time, 0, &mut out);
    out
}

fn prim(prim_: &Prim, time: f64, depth: usize, out: &mut String) {
    let indent = "    ".repeat(depth);
    let kind = if prim_.type_name.is_empty() { String::new() } else { format!("{} ", prim_.type_name) };
    out.push_str(&format!("{indent}def {kind}\"{}\"\n{indent}{{\n", prim_.name));
    for a in &prim_.attributes {
        attribute(a, time, &format!("{indent}    "), out);
    }
    for child in &prim_.children {
        out.push('\n');
        prim(child, time, depth + 1, out);
    }
    out.push_str(&format!("{indent}}}\n"));
}

fn attribute(a: &Attribute, time: f64, indent: &str, out: &mut String) {
    let value = in_words(&a.value);
    let uniform = if a.uniform { "uniform " } else { "" };
    let mut notes = String::new();
    if let Some(word) = a.interpolation {
        notes += &format!("{indent}    interpolation = \"{word}\"\n");
    }
    if a.element_size > 1 {
        notes += &format!("{indent}    elementSize = {}\n", a.element_size);
    }
    let head = format!("{indent}{uniform}{} {}", a.type_name, a.name);
    let notes = if notes.is_empty() { notes } else { format!(" (\n{notes}{indent})") };
    if a.uniform {
        out.push_str(&format!("{head} = {value}{notes}\n"));
        return;
    }
    // Notes belong to the name and not to the samples, so the name stands once for each.
    if !notes.is_empty() {
        out.push_str(&format!("{head}{notes}\n"));
    }
    out.push_str(&format!("{head}.timeSamples = {{\n{indent}    {time}: {value},\n{indent}}}\n"));
}

fn quoted(text: &str) -> String {
    let escaped = text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
    format!("\"{escaped}\"")
}

fn list<T>(values: &[T], one: impl Fn(&mut String, &T)) -> String {
    let mut out = String::from("[");
    for (i, v) in values.iter().enumerate() {
        if i > 0 {
            out.push_str(", ");
        }
        one(&mut out, v);
    }
    out.push(']');
    out
}

/// Rust writes the shortest digits that give the number back.
fn tuple<T: std::fmt::Display>(out: &mut String, values: &[T]) {
    for (i, v) in values.iter().enumerate() {
        // Writing into a text cannot fail.
        let _ = write!(out, "{}{v}", if i > 0 { ", " } else { "(" });
    }
    out.push(')');
}

fn number<T: std::fmt::Display>(out: &mut String, value: &T) {
    let _ = write!(out, "{value}");
}

fn in_words(value: &Value) -> String {
    match value {
        Value::Token(text) => quoted(text),
        Value::Double(x) => x.to_string(),
        Value::Tokens(words) => list(words, |out, w| out.push_str(&quoted(w))),
        Value::Ints(values) => list(values, number),
        Value::Longs(values) => list(values, number),
        Value::Floats(values) => list(values, number),
        Value::Pairs(values) => list(values, |out, v| tuple(out, v)),
        Value::Triples(values) => list(values, |out, v| tuple(out, v)),
        Value::Matrix(rows) => {
            let mut out = String::from("( ");
            for (i, row) in rows.chunks(4).enumerate() {
                out.push_str(if i > 0 { ", " } else { "" });
                tuple(&mut out, row);
            }
            out + " )"
        }
    }
}
