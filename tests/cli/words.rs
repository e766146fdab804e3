//! The command explains itself: examples that run, completions, pages of the manual.

use super::*;
use meniscus::linalg::{KrylovParams, Method, PreconditionerKind, Recipe, cases, dump};

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
    let (b, start) = (cases::random_vector(a.rows(), 1), vec![0.0; a.rows()]);
    let recipe = Recipe { method: Method::Cg, preconditioner: PreconditionerKind::Mic0 };
    let params = KrylovParams { tolerance: 1e-8, max_iterations: 2, ..Default::default() };
    let solve =
        dump::Solve { stage: "pressure", recipe, matrix: &a, rhs: &b, start: &start, labels: None, params };
    dump::write(folder, &solve, &Err(meniscus::Error::diverged("pressure", "made for a test"))).unwrap();
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
    a_dump(&folder.0.join("dumps/0042-pressure"));
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
