//! The C header: it says what the library does, and every C and C++ compiler accepts it.

use meniscus::ffi::{array::*, lattice::*, records::*};
use std::fs;
use std::mem::{offset_of, size_of};
use std::path::PathBuf;
use std::process::Command;

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn header() -> String {
    fs::read_to_string(root().join("include/meniscus.h")).unwrap()
}

/// The header as cbindgen writes it, with comments of one line on one line and signs in brackets.
fn generated() -> String {
    let config = cbindgen::Config::from_file(root().join("cbindgen.toml")).unwrap();
    let builder = cbindgen::Builder::new().with_config(config).with_src(root().join("src/ffi/mod.rs"));
    let mut text = Vec::new();
    builder.generate().unwrap().write(&mut text);
    let text = String::from_utf8(text).unwrap();
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    let (mut out, mut i) = (String::new(), 0);
    while i < lines.len() {
        let indent = &lines[i][..lines[i].len() - lines[i].trim_start().len()];
        let short = lines[i].trim() == "/*" && lines.get(i + 2).is_some_and(|l| l.trim() == "*/");
        if short {
            out += &format!("{indent}/* {} */\n", lines[i + 1].trim());
            i += 3;
            continue;
        }
        let negative = lines[i].strip_prefix("#define ").and_then(|d| d.split_once(" -"));
        match negative {
            Some((name, number)) => out += &format!("#define {name} (-{number})\n"),
            // Comments to the end of the line are not C89.
            None => {
                out += &format!("{}\n", lines[i].split("  //").next().unwrap().split(" //").next().unwrap())
            }
        }
        // Constants of one group stand together.
        let gap = lines[i].starts_with("#define MNS_") && lines.get(i + 1).is_some_and(|l| l.is_empty());
        let group = lines[i].get(..16);
        let more = lines.get(i + 4..i + 6).is_some_and(|l| l.iter().any(|l| l.get(..16) == group));
        i += if gap && more { 2 } else { 1 };
    }
    out
}

#[test]
fn the_header_is_current() {
    let (path, now) = (root().join("include/meniscus.h"), generated());
    if std::env::var_os("MENISCUS_WRITE_HEADER").is_some() {
        fs::write(&path, &now).unwrap();
    }
    assert!(
        header() == now,
        "include/meniscus.h is old: MENISCUS_WRITE_HEADER=1 cargo test --release --test ffi_header"
    );
}

/// Compile C or C++ text without linking.
fn compile(name: &str, compiler: &str, standard: &str, text: &str) {
    let folder = std::env::temp_dir().join(format!("meniscus_header_{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let ending = if standard.contains("++") { "cpp" } else { "c" };
    let file = folder.join(format!("{name}_{}.{ending}", standard.replace('+', "p")));
    fs::write(&file, text).unwrap();
    let done = Command::new(compiler)
        .args([
            &format!("-std={standard}"),
            "-pedantic",
            "-Wall",
            "-Wextra",
            "-Werror",
            "-fsyntax-only",
            "-I",
        ])
        .arg(root().join("include"))
        .arg(&file)
        .output()
        .unwrap_or_else(|e| panic!("{compiler}: {e}"));
    assert!(done.status.success(), "{name} as {standard}: {}", String::from_utf8_lossy(&done.stderr));
    fs::remove_file(file).unwrap();
}

#[test]
fn header_is_plain_c() {
    let text =
        "#include \"meniscus.h\"\n#include \"meniscus.h\"\nint main(void) { return mns_version() == 0; }\n";
    for standard in ["c89", "c99", "c11"] {
        compile("plain", "cc", standard, text);
    }
    for standard in ["c++11", "c++17"] {
        compile("plain", "c++", standard, text);
    }
}

#[test]
fn the_cpp_header_needs_only_cpp11() {
    let text = "#include \"meniscus.hpp\"\n#include \"meniscus.hpp\"\nint main() { return meniscus::version() == 0; }\n";
    for standard in ["c++11", "c++17"] {
        compile("shim", "c++", standard, text);
    }
}

#[test]
fn the_version_is_that_of_the_package() {
    let part = |text: &str| text.parse::<i32>().unwrap();
    let version = 10000 * part(env!("CARGO_PKG_VERSION_MAJOR"))
        + 100 * part(env!("CARGO_PKG_VERSION_MINOR"))
        + part(env!("CARGO_PKG_VERSION_PATCH"));
    assert_eq!(version, meniscus::ffi::info::MNS_VERSION);
    assert!(header().contains(&format!("#define MNS_VERSION {version}\n")));
}

/// Assertions that a C compiler checks: size of a struct and place of each field.
macro_rules! layout {
    ($out:ident, $($struct:ident { $($field:ident),* $(,)? })*) => {$(
        let mut fields = 0;
        $out.push((stringify!($struct).to_string(), "sizeof".to_string(), size_of::<$struct>()));
        $(
            fields += 1;
            let name = stringify!($field).trim_start_matches("r#").to_string();
            $out.push((stringify!($struct).to_string(), name, offset_of!($struct, $field)));
        )*
        assert_eq!(fields, fields_in_header(stringify!($struct)), stringify!($struct));
    )*};
}

fn fields_in_header(name: &str) -> usize {
    let text = header();
    let body = text.split(&format!("typedef struct {name} {{")).nth(1).unwrap_or_else(|| panic!("{name}"));
    let body = body.split(&format!("}} {name};")).next().unwrap();
    body.lines().filter(|l| l.trim_end().ends_with(';')).count()
}

#[test]
fn c_and_rust_agree_on_every_struct() {
    let mut facts = Vec::new();
    layout!(facts,
        mns_array { data, count, stride, r#type, width }
        mns_settings { struct_size, threads, memory_limit, mesh_folder, meshes, mesh_count, fields, field_count }
        mns_attribute { struct_size, reserved, name, values }
        mns_field { struct_size, reserved, name, frame, counts, origin, steps, values }
        mns_named_mesh { struct_size, reserved, name, positions, triangles, attributes, attribute_count }
        mns_mesh_sample { struct_size, reserved, frame, positions, velocities, triangles, attributes, attribute_count }
        mns_progress { struct_size, substeps, frame, fraction, stage, volume }
        mns_report {
            struct_size, substeps, frame, time, seconds, stage_seconds, volume, volume_expected, max_speed,
            residual, iterations, particles, liquid_cells, memory_bytes, warnings,
        }
        mns_estimate {
            struct_size, reserved, domain_cells, liquid_cells, particles, memory_bytes, disk_bytes_per_frame,
        }
        mns_grid_options { struct_size, threads, cells, reserved, origin, cell }
        mns_pressure_options { struct_size, scheme, dt, tolerance, expansion }
        mns_stokes_options { struct_size, reserved, dt, tolerance }
        mns_lattice_options { struct_size, threads, cells, depth, origin, cell }
        mns_lattice_solve_options { struct_size, coupling, slide, reserved, dt, tolerance, density }
        mns_solve_info { struct_size, iterations, residual, closed_regions, refused_inflow, unknowns }
    );
    let structs = header().matches("typedef struct mns_").count()
        - header().matches("typedef struct mns_grid mns_grid;").count()
        - header().matches("typedef struct mns_lattice mns_lattice;").count()
        - header().matches("typedef struct mns_simulation mns_simulation;").count();
    assert_eq!(facts.iter().filter(|f| f.1 == "sizeof").count(), structs);
    let mut text = String::from("#include \"meniscus.h\"\n");
    for (i, (name, field, value)) in facts.iter().enumerate() {
        let found = match field.as_str() {
            "sizeof" => format!("sizeof({name})"),
            _ => format!("offsetof({name}, {field})"),
        };
        text += &format!("typedef char fact_{i}[({found} == {value}u) ? 1 : -1]; /* {name} {field} */\n");
    }
    compile("layout", "cc", "c89", &text);
}
