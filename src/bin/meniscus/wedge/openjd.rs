//! A wedge as an Open Job Description template, version jobtemplate-2023-09.
//!
//! Three steps that depend on each other. The parameters of a task go together (`(Task, viscosity, …)`),
//! one entry a task, so that names need no rules of their own. The command reports progress in the
//! protocol's own lines.

use super::Wedge;
use serde_json::{Map, Value, json};

pub fn template(wedge: &Wedge) -> Value {
    json!({
        "specificationVersion": "jobtemplate-2023-09",
        "name": plain(&wedge.title),
        "parameterDefinitions": [
            {"name": "Scene", "type": "PATH", "objectType": "FILE", "dataFlow": "IN", "default": "scene/scene.json",
             "description": "The scene; its meshes lie beside it."},
            {"name": "Out", "type": "PATH", "objectType": "DIRECTORY", "dataFlow": "OUT", "default": "out",
             "description": "Where the caches and the contact sheet go."},
            {"name": "Meniscus", "type": "STRING", "default": "meniscus", "description": "The command."},
        ],
        "steps": [
            step("simulate", None, Some(space(wedge)), simulate(wedge)),
            step("preview", Some("simulate"), Some(space(wedge)), preview(wedge)),
            step("gather", Some("preview"), None, words(&["gather", "{{Param.Out}}"])),
        ],
    })
}

fn step(name: &str, after: Option<&str>, space: Option<Value>, arguments: Vec<String>) -> Value {
    let action = json!({"command": "{{Param.Meniscus}}", "args": arguments});
    let mut step = Map::new();
    step.insert("name".into(), json!(name));
    if let Some(after) = after {
        step.insert("dependencies".into(), json!([{"dependsOn": after}]));
    }
    if let Some(space) = space {
        step.insert("parameterSpace".into(), space);
    }
    step.insert("script".into(), json!({"actions": {"onRun": action}}));
    Value::Object(step)
}

/// The names of the parameters of the sweeps: each its own.
fn parameters(wedge: &Wedge) -> Vec<String> {
    (0..wedge.sweeps.len())
        .map(|i| format!("{}_{}", wedge.sweeps[i].word, i))
        .map(|n| {
            // A name begins with a letter.
            if n.starts_with(|c: char| c.is_ascii_alphabetic()) { n } else { format!("v{n}") }
        })
        .collect()
}

fn space(wedge: &Wedge) -> Value {
    let names = parameters(wedge);
    let tasks: Vec<&str> = wedge.tasks.iter().map(|t| t.name.as_str()).collect();
    let mut definitions = vec![json!({"name": "Task", "type": "STRING", "range": tasks})];
    for (i, name) in names.iter().enumerate() {
        let range: Vec<&str> = wedge.tasks.iter().map(|t| t.values[i].as_str()).collect();
        definitions.push(json!({"name": name, "type": "STRING", "range": range}));
    }
    json!({"taskParameterDefinitions": definitions, "combination": format!("(Task, {})", names.join(", "))})
}

fn simulate(wedge: &Wedge) -> Vec<String> {
    let mut arguments = words(&["run", "{{Param.Scene}}"]);
    for (sweep, name) in wedge.sweeps.iter().zip(parameters(wedge)) {
        arguments.extend(["--set".into(), format!("{}={{{{Task.Param.{name}}}}}", sweep.path)]);
    }
    arguments.extend(words(&[
        "-o",
        "{{Param.Out}}/{{Task.Param.Task}}",
        "--resume",
        "--no-report",
        "--progress",
        "openjd",
    ]));
    arguments
}

fn preview(wedge: &Wedge) -> Vec<String> {
    let tiles = wedge.tiles.to_string();
    let first = format!("{{{{Param.Out}}}}/{}", wedge.tasks.first().map_or("", |t| &t.name));
    words(&[
        "preview",
        "{{Param.Out}}/{{Task.Param.Task}}",
        "--tiles",
        &tiles,
        "--columns",
        &tiles,
        "--camera-from",
        &first,
    ])
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|w| w.to_string()).collect()
}

/// A title without format strings, of at most the length that is allowed.
fn plain(title: &str) -> String {
    title.replace("{{", "{").chars().filter(|c| !c.is_control()).take(100).collect()
}
