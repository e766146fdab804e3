//! Changing one value of a scene text by its path, and helps for messages about paths.

use crate::error::{Error, Result};
use serde_json::Value;

/// Set `path` (as `liquids[0].viscosity`) in a JSON scene to `value`, which is JSON or else a word.
/// Missing objects on the way are made; elements of lists must exist. Returns the new text, unchecked.
pub fn set(text: &str, path: &str, value: &str) -> Result<String> {
    let unreadable = |e: serde_json::Error| Error::scene(excerpt(path), excerpt(&e.to_string()));
    let mut root: Value = serde_json::from_str(text).map_err(unreadable)?;
    let value = serde_json::from_str(value).unwrap_or_else(|_| Value::String(value.to_string()));
    *place(&mut root, path)? = value;
    serde_json::to_string_pretty(&root).map_err(unreadable)
}

fn place<'a>(root: &'a mut Value, path: &str) -> Result<&'a mut Value> {
    let fault = |message: &str| Error::scene(excerpt(path), message);
    let mut here = root;
    for part in path.split('.') {
        let (key, indices) = part.split_once('[').map_or((part, None), |(k, i)| (k, Some(i)));
        if key.is_empty() {
            return Err(fault("a path looks like liquids[0].viscosity"));
        }
        if here.is_null() {
            *here = Value::Object(Default::default());
        }
        let object = here
            .as_object_mut()
            .ok_or_else(|| fault(&format!("\"{}\" is not in an object", excerpt(key))))?;
        here = object.entry(key).or_insert(Value::Null);
        for index in indices.into_iter().flat_map(|i| i.split('[')) {
            let number = index.strip_suffix(']').and_then(|n| n.parse::<usize>().ok());
            let number = number.ok_or_else(|| fault("a path looks like liquids[0].viscosity"))?;
            let list =
                here.as_array_mut().ok_or_else(|| fault(&format!("\"{}\" is not a list", excerpt(key))))?;
            let count = list.len();
            here = list
                .get_mut(number)
                .ok_or_else(|| fault(&format!("there are {count} in the list, counted from 0")))?;
        }
    }
    Ok(here)
}

/// Text for a terminal: control characters become `�`.
pub fn printable(text: &str) -> String {
    let safe = |c: char| if c.is_control() && c != '\n' || is_invisible(c) { '\u{fffd}' } else { c };
    text.chars().map(safe).collect()
}

/// Words of the input for a message: safe to print, and cut where they are very long.
pub(super) fn excerpt(text: &str) -> String {
    const LONGEST: usize = 1000;
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => printable(&text[..end]) + "…",
        None => printable(text),
    }
}

/// Marks that reorder or hide text on a terminal.
fn is_invisible(c: char) -> bool {
    matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
}

/// The known word that needs the fewest changes to become this one, if that is few enough to be a slip.
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let allowed = 1 + word.chars().count() / 3;
    let closest = known.into_iter().map(|k| (edits(word, k), k)).min();
    closest.filter(|(n, _)| *n <= allowed).map(|(_, k)| k)
}

/// Levenshtein's distance between two words of which one is short.
fn edits(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().take(64).enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for j in 0..b.len() {
            let change = diagonal + usize::from(x != b[j]);
            diagonal = row[j + 1];
            row[j + 1] = change.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_of_the_finger_finds_its_key() {
        let keys = ["density", "viscosity", "name", "surface_tension"];
        assert_eq!(nearest("viscsity", keys), Some("viscosity"));
        assert_eq!(nearest("surfacetension", keys), Some("surface_tension"));
        assert_eq!(nearest("colour", keys), None);
    }

    #[test]
    fn one_value_is_set_by_its_path() {
        let text = r#"{"liquids": [{"name": "a"}, {"viscosity": 3}]}"#;
        let read = |t: String| serde_json::from_str::<Value>(&t).expect("json");
        assert_eq!(
            read(set(text, "liquids[1].viscosity", "12").expect("set"))["liquids"][1]["viscosity"],
            12
        );
        assert_eq!(
            read(set(text, "simulator.transfer", "apic").expect("set"))["simulator"]["transfer"],
            "apic"
        );
        for path in ["liquids[2].viscosity", "liquids.viscosity", "", "liquids[x]", "liquids[0", "a..b"] {
            assert!(set(text, path, "1").is_err(), "{path}");
        }
    }

    #[test]
    fn nothing_moves_the_cursor_of_a_terminal() {
        assert_eq!(printable("a\x1b[2Jb\x07\u{9b}c\u{202e}"), "a\u{fffd}[2Jb\u{fffd}\u{fffd}c\u{fffd}");
    }
}
