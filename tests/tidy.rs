//! The house rules that a program can check: layers, headers, no panics, citations.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Modules by layer, lowest first; a module uses only lower layers and its own.
const LAYERS: &[&[&str]] = &[
    &["error", "cancel", "math", "Error", "Result", "Cancel"],
    &["geometry", "linalg"],
    &["grid", "mesh"],
    &["field"],
    &["scene", "surface"],
    &["solver"],
    &["simulation"],
    &["io"],
    &["ffi", "bin"],
];

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn files_below(folder: &Path, extensions: &[&str], found: &mut Vec<PathBuf>) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for path in entries.map(|e| e.unwrap().path()) {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() && name != "target" && !name.starts_with('.') {
            files_below(&path, extensions, found);
        } else if path.extension().is_some_and(|e| extensions.iter().any(|x| e == *x)) {
            found.push(path);
        }
    }
    found.sort();
}

/// Every file of a folder with its path from the root and its text.
fn texts(folder: &str, extensions: &[&str]) -> Vec<(String, String)> {
    let mut found = Vec::new();
    files_below(&root().join(folder), extensions, &mut found);
    let name = |p: &Path| p.strip_prefix(root()).unwrap().to_string_lossy().replace('\\', "/");
    found.iter().map(|p| (name(p), fs::read_to_string(p).unwrap())).collect()
}

/// The part of a file that ships: tests stand at its end.
fn shipped<'a>(name: &str, text: &'a str) -> &'a str {
    if name.ends_with("tests.rs") || name.contains("/tests/") {
        return "";
    }
    let tests = text.lines().scan(0, |at, line| {
        let here = *at;
        *at += line.len() + 1;
        Some((here, line))
    });
    let module = tests.clone().zip(tests.skip(1)).find(|((_, a), (_, b))| {
        a.trim() == "#[cfg(test)]" && b.trim_start().starts_with("mod ") && b.trim_end().ends_with('{')
    });
    module.map_or(text, |((at, _), _)| &text[..at])
}

/// Lines of code, without comments, numbered.
fn code_lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.lines().enumerate().filter(|(_, l)| !l.trim_start().starts_with("//")).map(|(i, l)| (i + 1, l))
}

fn assert_none(what: &str, faults: Vec<String>) {
    assert!(faults.is_empty(), "{what}:\n{}", faults.join("\n"));
}

#[test]
fn every_file_opens_with_its_purpose() {
    let mut faults = Vec::new();
    for folder in ["src", "tests", "benches", "examples"] {
        for (name, text) in texts(folder, &["rs"]) {
            if !text.starts_with("//! ") {
                faults.push(name);
            }
        }
    }
    assert_none("files without a //! header", faults);
}

#[test]
fn files_can_be_read_in_one_sitting() {
    let long = texts("src", &["rs"]).into_iter().filter(|(_, t)| t.lines().count() > 700);
    assert_none(
        "files of more than 700 lines",
        long.map(|(n, t)| format!("{n}: {}", t.lines().count())).collect(),
    );
}

#[test]
fn modules_use_only_lower_layers() {
    let layer = |module: &str| LAYERS.iter().position(|l| l.contains(&module));
    let mut faults = Vec::new();
    for (name, text) in texts("src", &["rs"]) {
        let own = name.trim_start_matches("src/").split('/').next().unwrap().trim_end_matches(".rs");
        if own == "lib" {
            continue;
        }
        let Some(own_layer) = layer(own) else {
            faults.push(format!("{name}: the module \"{own}\" has no layer"));
            continue;
        };
        for (number, line) in code_lines(shipped(&name, &text)) {
            for rest in line.split("crate::").skip(1) {
                let used: String = rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
                let list: Vec<&str> = match rest.strip_prefix('{') {
                    Some(inner) => {
                        inner.split(['}', ';']).next().unwrap_or("").split(',').map(str::trim).collect()
                    }
                    None => vec![used.as_str()],
                };
                for module in list.iter().map(|m| m.split("::").next().unwrap_or(m)).filter(|m| !m.is_empty())
                {
                    if module != own
                        && layer(module).is_none_or(|l| l > own_layer || l == own_layer && own != "bin")
                    {
                        // Modules of one layer may lean on each other in the lowest layer only.
                        if !(own_layer == 0 && layer(module) == Some(0)) {
                            faults.push(format!("{name}:{number}: {own} uses {module}"));
                        }
                    }
                }
            }
        }
    }
    assert_none("imports against the layers", faults);
}

/// Whether a line calls `expect` with a message alone; other functions of that name take more.
fn expects(line: &str) -> bool {
    let message = line.split(".expect(\"").nth(1).and_then(|rest| rest.split_once('"'));
    message.is_some_and(|(_, after)| after.starts_with(')'))
}

#[test]
fn the_library_neither_panics_nor_prints() {
    let never = [".unwrap()", "panic!(", "todo!(", "unimplemented!(", "unreachable!(", "dbg!("];
    let printing = ["println!(", "eprintln!(", "print!(", "eprint!("];
    let mut faults = Vec::new();
    for (name, text) in texts("src", &["rs"]) {
        let command = name.starts_with("src/bin/");
        for (number, line) in code_lines(shipped(&name, &text)) {
            let panics =
                never.iter().filter(|n| line.contains(**n)).chain(expects(line).then_some(&".expect("));
            let prints = printing.iter().filter(|n| !command && line.contains(**n));
            faults.extend(panics.chain(prints).map(|n| format!("{name}:{number}: {n}")));
        }
    }
    assert_none("panics and prints", faults);
}

#[test]
fn unsafe_code_says_why() {
    let word = concat!("un", "safe");
    let mut faults = Vec::new();
    for (name, text) in texts("src", &["rs"]) {
        let header: String = text.lines().take_while(|l| l.starts_with("//!")).collect();
        let header_says = header.contains(word) || header.contains("without bounds checks");
        let lines: Vec<&str> = text.lines().collect();
        for (number, line) in code_lines(&text) {
            let used = line.contains(&format!("{word} {{"))
                || line.contains(&format!("{word} fn"))
                || line.contains(&format!("{word} impl"));
            if !used {
                continue;
            }
            if !name.starts_with("src/ffi/") && !header_says {
                faults.push(format!("{name}:{number}: outside ffi and not explained in the header"));
            }
            // A comment above a statement of a few lines still counts.
            let above = lines[number.saturating_sub(6)..number].iter();
            if line.contains('{') && !line.contains("fn ") && !above.clone().any(|l| l.contains("SAFETY:")) {
                faults.push(format!("{name}:{number}: no SAFETY comment"));
            }
        }
    }
    assert_none("unexplained blocks", faults);
}

/// Citation keys in a text: letters and two digits in square brackets, or the few handbooks without a year.
fn citations(text: &str) -> BTreeSet<String> {
    let handbooks = ["CRC", "NETZSCH"];
    let inner = text.match_indices('[').filter_map(|(i, _)| {
        // A key may be followed by the place: [Key14, section 3].
        let rest = &text[i + 1..];
        rest.find([']', ',']).map(|end| &rest[..end]).filter(|key| key.len() <= 10)
    });
    let is_key = |key: &&str| {
        let letters = key.chars().take_while(|c| c.is_ascii_alphabetic()).count();
        let year = &key[letters..];
        let digits = year.chars().filter(|c| c.is_ascii_digit()).count();
        let tail = year.trim_start_matches(|c: char| c.is_ascii_digit());
        let dated = (2..=6).contains(&letters)
            && digits == 2
            && tail.len() <= 1
            && tail.chars().all(|c| c.is_ascii_lowercase());
        key.is_ascii()
            && (handbooks.contains(key) || dated && key.starts_with(|c: char| c.is_ascii_uppercase()))
    };
    inner.filter(is_key).map(str::to_string).collect()
}

#[test]
fn every_citation_is_in_the_references_and_is_used() {
    let references = fs::read_to_string(root().join("src/references.md")).unwrap();
    let defined: BTreeSet<String> = references
        .lines()
        .filter_map(|l| l.strip_prefix("- ["))
        .filter_map(|l| l.split(']').next())
        .map(str::to_string)
        .collect();
    let mut cited: BTreeMap<String, String> = BTreeMap::new();
    for folder in ["src", "tests", "benches", "docs"] {
        for (name, text) in texts(folder, &["rs", "md"]) {
            if name != "src/references.md" && name != "tests/tidy.rs" {
                cited.extend(citations(&text).into_iter().map(|key| (key, name.clone())));
            }
        }
    }
    let missing =
        cited.iter().filter(|(key, _)| !defined.contains(*key)).map(|(key, name)| format!("{name}: [{key}]"));
    assert_none("citations without a reference", missing.collect());
    let unused = defined.iter().filter(|key| !cited.contains_key(*key)).cloned();
    assert_none("references that nothing cites", unused.collect());
}

#[test]
fn no_leftovers_and_no_paths_of_one_machine() {
    let words = [
        concat!("TO", "DO"),
        concat!("FIX", "ME"),
        concat!("XX", "X"),
        concat!("/wo", "rk/"),
        concat!("/ho", "me/"),
        concat!("/ro", "ot/"),
        concat!("/t", "mp/"),
    ];
    let mut faults = Vec::new();
    for folder in ["src", "tests", "benches", "examples", "docs", "include", "python", "plugin-cpp"] {
        for (name, text) in texts(folder, &["rs", "md", "json", "h", "hpp", "cpp", "c", "py"]) {
            for (i, line) in text.lines().enumerate() {
                faults.extend(
                    words.iter().filter(|w| line.contains(**w)).map(|w| format!("{name}:{}: {w}", i + 1)),
                );
            }
        }
    }
    assert_none("leftovers", faults);
}

#[test]
fn links_between_documents_lead_somewhere() {
    let mut documents: Vec<(String, String)> = texts("docs", &["md"]);
    for name in ["README.md", "ARCHITECTURE.md", "CHANGELOG.md"] {
        documents.push((name.into(), fs::read_to_string(root().join(name)).unwrap()));
    }
    let mut faults = Vec::new();
    for (name, text) in documents {
        let folder = root().join(&name).parent().unwrap().to_path_buf();
        for link in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let file = link.split('#').next().unwrap();
            if !link.contains("://") && !file.is_empty() && !folder.join(file).exists() {
                faults.push(format!("{name}: {link}"));
            }
        }
    }
    assert_none("links to nothing", faults);
}
