//! Values of a sweep, and every combination of several.

use super::Task;
use meniscus::{Error, Result};

/// One path with the values to try.
#[derive(Clone, Debug, PartialEq)]
pub struct Sweep {
    /// As `liquids[0].viscosity`.
    pub path: String,
    /// The last word of the path, for names: `viscosity`.
    pub word: String,
    pub values: Vec<String>,
}

impl Sweep {
    /// Read `PATH=A,B,C`; commas inside brackets and quotes belong to a value.
    pub fn parse(text: &str) -> Result<Self> {
        let wrong = |message: &str| Error::invalid("--sweep", format!("{text}: {message}"));
        let (path, list) =
            text.split_once('=').ok_or_else(|| wrong("write PATH=A,B,C, as liquids[0].viscosity=1,10"))?;
        let values: Vec<String> = split(list).into_iter().map(|v| v.trim().to_string()).collect();
        if path.trim().is_empty() || values.iter().any(|v| v.is_empty()) {
            return Err(wrong("a path and values are needed, as liquids[0].viscosity=1,10"));
        }
        if values.iter().any(|v| v.contains("{{") || v.len() > 1000 || v.chars().any(char::is_control)) {
            return Err(wrong("a value may not hold {{ or control characters, nor be very long"));
        }
        let letters = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
        let word = path.trim().rsplit('.').next().unwrap_or_default();
        let word: String = word.split('[').next().unwrap_or_default().chars().map(letters).take(40).collect();
        Ok(Sweep { path: path.trim().into(), word, values })
    }
}

/// Parts between commas that stand in no bracket and no quotes.
fn split(list: &str) -> Vec<&str> {
    let (mut depth, mut quoted, mut begin) = (0i32, false, 0);
    let mut parts = Vec::new();
    for (i, c) in list.char_indices() {
        match c {
            '"' => quoted = !quoted,
            '[' | '{' if !quoted => depth += 1,
            ']' | '}' if !quoted => depth -= 1,
            ',' if !quoted && depth == 0 => {
                parts.push(&list[begin..i]);
                begin = i + 1;
            }
            _ => {}
        }
    }
    parts.push(&list[begin..]);
    parts
}

/// Every combination, the last sweep changing fastest. Names sort in this order.
pub fn tasks(sweeps: &[Sweep]) -> Vec<Task> {
    let count: usize = sweeps.iter().map(|s| s.values.len()).product();
    let digits = (count.saturating_sub(1)).max(1).ilog10() as usize + 1;
    (0..count)
        .map(|index| {
            let mut rest = index;
            let mut values: Vec<String> = sweeps
                .iter()
                .rev()
                .map(|s| {
                    let value = s.values[rest % s.values.len()].clone();
                    rest /= s.values.len();
                    value
                })
                .collect();
            values.reverse();
            let words = sweeps.iter().zip(&values).map(|(s, v)| format!("_{}={}", s.word, for_a_name(v)));
            Task { name: format!("{index:0digits$}{}", words.collect::<String>()), values }
        })
        .collect()
}

/// What a file may be called on every system.
fn for_a_name(value: &str) -> String {
    let safe = |c: char| if c.is_ascii_alphanumeric() || "+-.".contains(c) { c } else { '_' };
    value.chars().map(safe).take(24).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_combination_has_a_name_in_order() {
        let sweeps = ["liquids[0].viscosity=1,10,100", "resolution.divisions=64, 128"]
            .map(|s| Sweep::parse(s).unwrap());
        let tasks = tasks(&sweeps);
        assert_eq!(tasks.len(), 6);
        assert_eq!(tasks[1].name, "1_viscosity=1_divisions=128");
        assert_eq!(tasks[5].values, ["100", "128"]);
        let names: Vec<&String> = tasks.iter().map(|t| &t.name).collect();
        assert!(names.is_sorted());
    }

    #[test]
    fn commas_in_a_value_belong_to_it() {
        let sweep = Sweep::parse("gravity=[0,-9.8,0],[0,-1.6,0]").unwrap();
        assert_eq!(sweep.values, ["[0,-9.8,0]", "[0,-1.6,0]"]);
        assert_eq!(Sweep::parse("name=\"a,b\",c").unwrap().values, ["\"a,b\"", "c"]);
        for wrong in ["gravity", "=1", "a=1,,2", "a={{Param.Out}}"] {
            assert!(Sweep::parse(wrong).is_err(), "{wrong}");
        }
    }
}
