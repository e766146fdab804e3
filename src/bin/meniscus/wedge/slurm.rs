//! A wedge as one script for Slurm: two arrays and a last job that wait for each other.
//!
//! Run by hand it submits itself three times; inside a job it does its part. Codes 3 and 4 of the command
//! (something is missing, somebody asked to stop) put a task back into the queue, from where it goes on at
//! its checkpoint; any other fault ends it. What is missing may be missing for ever, and what kills a task may kill it
//! again, so these are tried `RESTARTS` times, 5 when absent; being asked to stop is no fault and does not count.
//! Slurm's SIGTERM before its SIGKILL is enough for a checkpoint.

use super::Wedge;

pub fn script(wedge: &Wedge) -> String {
    let last = wedge.tasks.len().saturating_sub(1);
    let mut cases = String::new();
    for (i, task) in wedge.tasks.iter().enumerate() {
        let sets = wedge
            .sweeps
            .iter()
            .zip(&task.values)
            .map(|(s, v)| format!(" --set {}", quoted(&format!("{}={v}", s.path))));
        cases += &format!(
            "    {i}) name={}; set=({}) ;;\n",
            quoted(&task.name),
            sets.collect::<String>().trim_start()
        );
    }
    let first = quoted(wedge.tasks.first().map_or("", |t| &t.name));
    let title: String =
        wedge.title.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).take(40).collect();
    let tiles = wedge.tiles;
    format!(
        r#"#!/bin/bash
#SBATCH --job-name={title}
#SBATCH --requeue
#SBATCH --open-mode=append
#SBATCH --signal=TERM@60
# Run this by hand to submit: MENISCUS=/path/to/meniscus ./slurm.sh [options of sbatch]
set -uo pipefail

if [ -z "${{SLURM_JOB_ID:-}}" ]; then
    folder=$(cd "$(dirname "$0")" && pwd)
    mkdir -p "$folder/out"
    export WEDGE_FOLDER=$folder MENISCUS=${{MENISCUS:-meniscus}}
    submit() {{ sbatch --parsable --export=ALL --output="$folder/out/slurm_$1_%A_%a.log" "${{@:2}}" "$folder/slurm.sh" "$1"; }}
    simulate=$(submit simulate --array=0-{last} "$@") || exit
    preview=$(submit preview --array=0-{last} --dependency="afterok:$simulate" "$@") || exit
    gather=$(submit gather --dependency="afterok:$preview" "$@") || exit
    echo "$simulate $preview $gather"
    exit 0
fi

cd "$WEDGE_FOLDER" || exit 3
case "${{SLURM_ARRAY_TASK_ID:-0}}" in
{cases}    *) echo "there is no task $SLURM_ARRAY_TASK_ID" >&2; exit 2 ;;
esac
case "$1" in
    simulate)
        "$MENISCUS" run scene/scene.json "${{set[@]}}" -o "out/$name" --resume --no-report --progress json &
        # The signal goes to this shell first and must reach the command.
        child=$!
        trap 'kill -TERM $child' TERM
        code=999
        while [ $code -gt 128 ]; do wait $child; code=$?; kill -0 $child 2> /dev/null || break; done
        again=no
        if [ $code -eq 4 ]; then again=yes; fi
        if [ $code -eq 3 ] || [ $code -gt 128 ]; then
            if [ "${{SLURM_RESTART_COUNT:-0}}" -lt "${{RESTARTS:-5}}" ]; then again=yes; else
                echo "given up after ${{SLURM_RESTART_COUNT:-0}} restarts" >&2
            fi
        fi
        if [ $again = yes ]; then
            scontrol requeue "${{SLURM_ARRAY_JOB_ID}}_${{SLURM_ARRAY_TASK_ID}}"
        fi
        exit $code ;;
    preview) exec "$MENISCUS" preview "out/$name" --tiles {tiles} --columns {tiles} --camera-from out/{first} ;;
    gather) exec "$MENISCUS" gather out ;;
    *) echo "simulate, preview or gather?" >&2; exit 2 ;;
esac
"#
    )
}

/// A word for the shell, whatever is in it.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}
