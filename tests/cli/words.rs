//! The command explains itself: examples that run, completions, pages of the manual.

use super::*;
use meniscus::Cancel;
use meniscus::linalg::{Identity, KrylovParams, cases, cg, dump};
use std::io::Write;

/// The words after `Example: meniscus` in a help text.
fn example(help: &str) -> Option<Vec<String>> {
    let line = help.lines().find_map(|l| l.trim().strip_prefix("Example: meniscus "))?;
    // What goes into a file in the example is read here.
    let line = line.split('>').next().unwrap();
    Some(line.split_whitespace().map(str::to_string).collect())
}

/// Words of the command, from its own help.
fn subcommands(folder: &Folder) -> Vec<String> {
    let help = text(&folder.run(&["--help"]).stdout);
    let list = help.split("Commands:").nth(1).unwrap().split("Options:").next().unwrap();
    let words = list.lines().filter(|l| l.starts_with("  ") && !l.starts_with("   "));
    words.filter_map(|l| l.split_whitespace().next()).filter(|w| *w != "help").map(str::to_string).collect()
}

/// What makes an example short without changing what it shows.
fn shortened(word: &str) -> &'static [&'static str] {
    match word {
        "run" => &["--set", "resolution.cell=0.05", "--set", "frames=[1,24]", "--threads", "1"],
        "demo" => &["--set", "resolution.cell=0.05", "--set", "frames=[1,3]"],
        "validate" => &["--quick"],
        "bench" => &["poisson-16-amg"],
        "preview" => &["--quality", "draft", "--size", "96x54", "--tiles", "2"],
        "report" => &["--quality", "draft", "--tiles", "2"],
        _ => &[],
    }
}

fn a_dump(folder: &Path) {
    let a = cases::splash(6).unwrap();
    let b = cases::random_vector(a.rows(), 1);
    let params = KrylovParams { tolerance: 1e-8, max_iterations: 2, ..Default::default() };
    let (_, kept) =
        dump::record(|| cg(&a, &mut Identity, &b, &mut vec![0.0; a.rows()], &params, &Cancel::new()));
    fs::create_dir_all(folder).unwrap();
    let mut put = |name: &str, fill: &dyn Fn(&mut dyn Write) -> std::io::Result<()>| {
        fill(&mut fs::File::create(folder.join(name)).unwrap()).unwrap();
        Ok(())
    };
    kept.solve.unwrap().files(&mut put).unwrap();
}

/// Honey so thick that rounding alone is larger than the tolerance asked for.
const FAILS: &str = r#"{
    "meniscus": 1, "name": "fails", "frames": [1, 4], "debug": {"dump_dir": "failures"},
    "domain": {"min": [0, 0, 0], "max": [1, 1, 1]}, "resolution": {"divisions": 8},
    "simulator": {"viscosity_tolerance": 1e-14, "pressure_tolerance": 1e-14},
    "liquids": [{"viscosity": 1e7}],
    "initial": [{"name": "block", "shape": {"box": {"min": [0.2, 0.2, 0.2], "max": [0.7, 0.7, 0.7]}},
        "angular_velocity": [30, 50, 70]}]
}"#;

/// A tolerance that rounding does not allow: the frame fails, leaves what is needed, and the solve fails again alone.
#[test]
fn a_failed_solve_is_left_behind_and_repeated() {
    let folder = Folder::new("failed");
    folder.write("scene.json", FAILS);
    let run = folder.run(&["run", "scene.json", "--out", "cache", "--no-report", "--progress", "json"]);
    assert!(!run.status.success(), "{}", text(&run.stdout));
    let error = text(&run.stderr) + &text(&run.stdout);
    assert!(error.contains("what failed is in") && error.contains("frame_0002"), "{error}");
    let files = folder.files();
    for name in ["message.txt", "scene.json", "state.bin", "matrix.mtx", "rhs.mtx", "start.mtx", "solve.json"]
    {
        assert!(files.contains(&format!("failures/frame_0002/{name}")), "{name}: {files:?}");
    }
    assert!(files.iter().any(|f| f.contains("weight_open_x")), "{files:?}");
    let replay = folder.run(&["replay", "failures/frame_0002"]);
    expect(&replay, 0, &[]);
    let said = text(&replay.stdout);
    let line = |start: &str| said.lines().find(|l| l.starts_with(start)).unwrap_or_default().to_string();
    for line in [line("then:"), line("now:")] {
        assert!(line.contains("residual") && !line.contains("Converged"), "{said}");
    }
}

/// The words of `cache` have examples of their own, which run on the cache of the example of `run`.
fn examples_of_cache(folder: &Folder) {
    for word in ["info", "verify", "prune", "convert"] {
        let help = text(&folder.run(&["cache", word, "--help"]).stdout);
        let arguments = example(&help).unwrap_or_else(|| panic!("cache {word} has no example:\n{help}"));
        assert_eq!(&arguments[..2], ["cache", word]);
        let output = folder.run(&arguments.iter().map(String::as_str).collect::<Vec<_>>());
        assert!(output.status.success(), "{arguments:?}: {}", text(&output.stderr));
    }
}

#[test]
#[cfg(unix)]
fn the_example_of_every_command_runs() {
    let folder = Folder::new("examples");
    std::os::unix::fs::symlink(
        Path::new(env!("CARGO_MANIFEST_DIR")).join("examples"),
        folder.0.join("examples"),
    )
    .unwrap();
    a_dump(&folder.0.join("dumps/frame_0042"));
    let words = subcommands(&folder);
    assert!(words.len() >= 15, "{words:?}");
    for word in &words {
        let help = text(&folder.run(&[word, "--help"]).stdout);
        let mut arguments = example(&help).unwrap_or_else(|| panic!("{word} has no example:\n{help}"));
        assert_eq!(&arguments[0], word);
        // Examples name what others made: the cache of run, the wedge of wedge.
        match word.as_str() {
            "preview" => arguments[1] = "dam".into(),
            "gather" => {
                let cache = folder.0.join("dam_wedge/out/0_cell=0.02");
                fs::rename(folder.0.join("dam"), cache).unwrap();
            }
            _ => {}
        }
        if word == "cache" {
            examples_of_cache(&folder);
        }
        arguments.extend(shortened(word).iter().map(|w| w.to_string()));
        let begin = Instant::now();
        let output = folder.run(&arguments.iter().map(String::as_str).collect::<Vec<_>>());
        assert!(output.status.success(), "{arguments:?}: {}", text(&output.stderr));
        println!("{word}: {:.1} s", begin.elapsed().as_secs_f64());
    }
    for made in
        ["dam_view.html", "dam.html", "dam_usd/manifest.json", "dam_wedge/job.json", "man1/meniscus-run.1"]
    {
        assert!(folder.0.join(made).exists(), "{made}");
    }
}

#[test]
fn shells_and_the_manual_know_every_command() {
    let folder = Folder::new("words");
    let words = subcommands(&folder);
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let output = folder.run(&["completions", shell]);
        expect(&output, 0, &[]);
        let script = text(&output.stdout);
        assert!(words.iter().all(|w| script.contains(w.as_str())), "{shell}");
        folder.write(shell, &script);
    }
    let bash = Command::new("bash").args(["-n", "bash"]).current_dir(&folder.0).output();
    if let Ok(bash) = bash {
        expect(&bash, 0, &[]);
    }
    expect(&folder.run(&["manual", "pages"]), 0, &[]);
    let page = text(&bytes_of(&folder, "pages/meniscus-cache-verify.1"));
    assert!(
        page.contains(".SH SYNOPSIS")
            && words.iter().all(|w| folder.0.join(format!("pages/meniscus-{w}.1")).exists())
    );
}
