//! Wedges: the jobs that are written, and what a farm does with them.

use super::*;
use serde_json::Value;

fn json(folder: &Folder, name: &str) -> Value {
    serde_json::from_slice(&bytes_of(folder, name)).unwrap()
}

/// The arguments of a step of a job, with the values of a task put in.
fn arguments(job: &Value, step: usize, task: usize, folder: &str) -> Vec<String> {
    let step = &job["steps"][step];
    let mut words: Vec<String> = step["script"]["actions"]["onRun"]["args"]
        .as_array()
        .unwrap()
        .iter()
        .map(|w| w.as_str().unwrap().to_string())
        .collect();
    let mut values = vec![
        ("{{Param.Scene}}".to_string(), format!("{folder}/scene/scene.json")),
        ("{{Param.Out}}".into(), format!("{folder}/out")),
    ];
    for p in step["parameterSpace"]["taskParameterDefinitions"].as_array().into_iter().flatten() {
        values.push((
            format!("{{{{Task.Param.{}}}}}", p["name"].as_str().unwrap()),
            p["range"][task].as_str().unwrap().to_string(),
        ));
    }
    for word in &mut words {
        values.iter().for_each(|(name, value)| *word = word.replace(name, value));
    }
    words
}

fn run_words(folder: &Folder, words: &[String]) -> Output {
    folder.run(&words.iter().map(String::as_str).collect::<Vec<_>>())
}

#[test]
fn a_wedge_is_jobs_for_two_schedulers_that_end_in_one_sheet() {
    let folder = Folder::new("wedge");
    let rock =
        r#""colliders": [{"name": "rock", "shape": {"mesh": {"file": "models/rock.obj"}}}], "initial""#;
    fs::create_dir(folder.0.join("models")).unwrap();
    folder.write(
        "models/rock.obj",
        "v .6 0 .4\nv .8 0 .4\nv .7 .2 .5\nv .7 0 .6\nf 1 3 2\nf 2 3 4\nf 1 4 3\nf 1 2 4\n",
    );
    folder.write("scene.json", with("\"initial\"", rock));
    let sweeps = ["--sweep", "gravity=[0,-9.8,0],[0,-1.6,0]", "--sweep", "resolution.divisions=8,12,16"];
    let write = [&["wedge", "scene.json", "-o", "jobs"][..], &sweeps].concat();
    let output = folder.run(&write);
    expect(&output, 0, &[]);
    assert!(text(&output.stdout).contains("6 tasks"));
    expect(&folder.run(&write), 2, &["already holds a wedge"]);
    for (wrong, words) in
        [("resolution.divisions=8,-3", "resolution"), ("gravity", "PATH=A,B,C"), ("seed=1,,2", "values")]
    {
        expect(&folder.run(&["wedge", "scene.json", "-o", "none", "--sweep", wrong]), 2, &[words]);
    }
    assert!(!folder.0.join("none").exists());
    assert!(folder.0.join("jobs/scene/models/rock.obj").exists(), "meshes go with the scene");
    if let Ok(bash) = Command::new("bash").args(["-n", "jobs/slurm.sh"]).current_dir(&folder.0).output() {
        expect(&bash, 0, &[]);
    }
    // Two of the tasks as a scheduler would run them, one of them stopped and started again.
    let job = json(&folder, "jobs/job.json");
    assert_eq!(
        job["steps"][0]["parameterSpace"]["taskParameterDefinitions"][0]["range"].as_array().unwrap().len(),
        6
    );
    for task in [1, 4] {
        if task == 4 {
            let short = [arguments(&job, 0, task, "jobs"), vec!["--frames".into(), "1-2".into()]].concat();
            expect(&run_words(&folder, &short), 0, &[]);
        }
        let done = run_words(&folder, &arguments(&job, 0, task, "jobs"));
        expect(&done, 0, &[]);
        assert!(text(&done.stdout).lines().any(|l| l == "openjd_progress: 100.0"), "{}", text(&done.stdout));
    }
    // The automatic camera is that of the first task, which is not there yet.
    expect(&run_words(&folder, &arguments(&job, 1, 1, "jobs")), 3, &["0_gravity"]);
    expect(&run_words(&folder, &arguments(&job, 0, 0, "jobs")), 0, &[]);
    expect(&run_words(&folder, &arguments(&job, 2, 0, "jobs")), 2, &["contact", "meniscus preview"]);
    for task in [0, 1, 4] {
        let quick = [
            arguments(&job, 1, task, "jobs"),
            vec!["--quality".into(), "draft".into(), "--size".into(), "96x54".into()],
        ];
        expect(&run_words(&folder, &quick.concat()), 0, &[]);
    }
    expect(&run_words(&folder, &arguments(&job, 2, 0, "jobs")), 0, &[]);
    assert!(bytes_of(&folder, "jobs/out/contact.png").starts_with(b"\x89PNG"));
}
