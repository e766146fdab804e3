//! Pages that are one file: the report of a run and the viewer.

use super::*;

/// Whether a page asks for nothing from anywhere.
#[track_caller]
fn is_whole(page: &str) {
    assert!(page.starts_with("<!doctype html>") && page.trim_end().ends_with("</html>"));
    for address in ["http://", "https://", "src=\"/", "href=", "@import", "url("] {
        assert!(!page.contains(address), "the page asks for {address}");
    }
    assert!(page.contains("default-src 'none'"));
}

/// The JSON inside an element of a page.
fn data_of(page: &str) -> serde_json::Value {
    let begin = page.find("id=\"data\">").expect("a page with data") + 10;
    let end = begin + page[begin..].find("</script>").unwrap();
    serde_json::from_str(&page[begin..end]).unwrap()
}

#[test]
fn a_run_ends_with_a_page_about_it() {
    let folder = Folder::new("page");
    folder.write("scene.json", with("\"name\": \"small\"", "\"name\": \"a <b>drop</b> & more\""));
    expect(&folder.run(&["run", "scene.json", "-o", "out"]), 0, &[]);
    let page = text(&bytes_of(&folder, "out/report.html"));
    is_whole(&page);
    assert!(page.contains("a &lt;b&gt;drop&lt;/b&gt; &amp; more") && !page.contains("<b>drop"));
    assert_eq!(page.matches("data:image/png;base64,").count(), 4 + 1, "four frames and a large one");
    for words in
        ["Volume error", "Solver iterations", "Energy", "Where the time went", "of 4", "scene.json", ">done<"]
    {
        assert!(page.contains(words), "{words}");
    }
    let data = data_of(&page);
    assert_eq!(data["frames"], serde_json::json!([1, 2, 3, 4]));
    assert!(
        data["charts"]
            .as_array()
            .unwrap()
            .iter()
            .all(|c| c["lines"][0]["values"].as_array().unwrap().len() == 4)
    );
    // Again by hand, elsewhere and without pictures.
    expect(&folder.run(&["report", "out", "-o", "plain.html", "--tiles", "0"]), 0, &[]);
    let plain = text(&bytes_of(&folder, "plain.html"));
    is_whole(&plain);
    assert!(!plain.contains("<img"));
    expect(&folder.run(&["report", "nowhere"]), 3, &["nowhere"]);
    expect(&folder.run(&["run", "scene.json", "-o", "silent", "--no-report", "--frames", "1-2"]), 0, &[]);
    assert!(!folder.0.join("silent/report.html").exists());
}

#[test]
fn a_shot_is_one_page_that_holds_every_frame() {
    let folder = Folder::new("view");
    let rock = r#""colliders": [{"name": "rock", "shape": {"sphere": {"radius": 0.1}}, "transform": {"translate": [0.7, 0.1, 0.5]}}],
        "initial""#;
    folder.write("scene.json", with("\"initial\"", rock));
    expect(&folder.run(&["run", "scene.json", "-o", "out", "--no-report"]), 0, &[]);
    expect(&folder.run(&["view", "out", "-o", "shot.html"]), 0, &[]);
    let page = text(&bytes_of(&folder, "shot.html"));
    is_whole(&page);
    let data = data_of(&page);
    assert_eq!(data["frames"].as_array().unwrap().len(), 4);
    assert!((0..4).all(|i| page.contains(&format!("id=\"f{i}\">"))) && !page.contains("id=\"f4\""));
    assert_eq!((data["solids"][0]["name"].as_str(), data["coarser"].as_bool()), (Some("rock"), Some(false)));
    let triangles = |d: &serde_json::Value| d["frames"][3]["triangles"].as_u64().unwrap();
    assert!(triangles(&data) > 100);
    // A page too small for it shows the shot coarser, and says so.
    expect(&folder.run(&["view", "out", "-o", "small.html", "--size", "0.004"]), 0, &[]);
    let small = data_of(&text(&bytes_of(&folder, "small.html")));
    assert!(
        small["coarser"].as_bool().unwrap() && triangles(&small) < triangles(&data),
        "{} of {}",
        triangles(&small),
        triangles(&data)
    );
    expect(&folder.run(&["view", "out", "--size", "nan"]), 2, &["--size"]);
}

#[test]
fn validation_has_a_page_too() {
    let folder = Folder::new("validation");
    let arguments = ["validate", "mac", "--case", "free-fall", "--quick", "--report", "known.html"];
    expect(&folder.run(&arguments), 0, &[]);
    let page = text(&bytes_of(&folder, "known.html"));
    is_whole(&page);
    assert!(page.contains("free-fall") && page.contains("all met") && page.contains("u = u₀ + g t"));
    assert_eq!(page.matches("<svg").count(), 1);
}

#[test]
fn every_format_of_surfaces_ends_well_with_its_pictures() {
    let folder = Folder::new("usda");
    folder.write("scene.json", SMALL);
    for format in ["usda", "obj", "vtp"] {
        let set = format!("outputs.surface={format}");
        let output = folder.run(&["run", "scene.json", "-o", format, "--frames", "1-2", "--set", &set]);
        expect(&output, 0, &[]);
        let page = text(&bytes_of(&folder, &format!("{format}/report.html")));
        assert_eq!(page.matches("data:image/png;base64,").count(), 2 + 1, "{format}");
        expect(&folder.run(&["cache", "verify", format]), 0, &[]);
        expect(&folder.run(&["cache", "convert", format, &format!("{format}_ply"), "--to", "ply"]), 0, &[]);
    }
    let frame = |name: &str| bytes_of(&folder, &format!("{name}/surface/0002.ply"));
    assert!(frame("usda_ply") == frame("vtp_ply") && frame("usda_ply") == frame("obj_ply"));
    expect(&folder.run(&["view", "usda", "-o", "shot.html"]), 0, &[]);
}

#[test]
fn a_report_tells_the_energy_of_the_liquid() {
    let folder = Folder::new("energy");
    folder.write("scene.json", SMALL);
    expect(&folder.run(&["run", "scene.json", "-o", "out"]), 0, &[]);
    let numbers = |frame: usize| {
        let report: serde_json::Value =
            serde_json::from_slice(&bytes_of(&folder, &format!("out/report/{frame:04}.json"))).unwrap();
        ["kinetic_energy", "potential_energy", "litres"].map(|name| report[name].as_f64().unwrap())
    };
    // Water at rest, half a metre deep: its middle is a quarter of a metre above the floor.
    let [motion, height, mass] = numbers(1);
    let exact = mass * 9.81 * 0.25;
    assert!(motion == 0.0 && (height / exact - 1.0).abs() < 0.02, "{motion} J and {height} J of {exact}");
    // As it falls, height becomes motion. Velocity is a substep ahead of place, by what gravity does in that time.
    let [later, low, _] = numbers(4);
    let ahead = mass * 9.81 * (2.0 * later / mass).sqrt() / 24.0;
    assert!(later > 0.0 && low < height && later + low < height + ahead, "{later} J and {low} J");
    let page = text(&bytes_of(&folder, "out/report.html"));
    assert!(page.contains("<b>Energy</b>"));
}

#[test]
fn the_published_tables_have_a_page_with_plots() {
    let folder = Folder::new("tables");
    let arguments = ["validate", "stokes", "--table", "4.1", "--n", "32", "--report", "tables.html"];
    expect(&folder.run(&arguments), 0, &[]);
    let page = text(&bytes_of(&folder, "tables.html"));
    is_whole(&page);
    assert!(page.contains("Table 4.1") && page.contains("data:image/png;base64,") && page.contains("[Bat10"));
}

#[test]
fn volumes_need_a_build_that_can_write_them() {
    let folder = Folder::new("volumes");
    folder.write("scene.json", SMALL);
    let output =
        folder.run(&["run", "scene.json", "-o", "out", "--set", "outputs.volumes=true", "--frames", "1-2"]);
    match meniscus::io::vdb::AVAILABLE {
        true => {
            expect(&output, 0, &[]);
            assert!(bytes_of(&folder, "out/vdb/0002.vdb").len() > 1000);
            expect(&folder.run(&["cache", "verify", "out"]), 0, &[]);
        }
        false => {
            expect(&output, 2, &["outputs.volumes", "--features openvdb"]);
            expect(&folder.run(&["check", "scene.json", "--set", "outputs.volumes=true"]), 2, &["openvdb"]);
        }
    }
}
