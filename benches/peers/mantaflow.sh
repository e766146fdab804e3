#!/usr/bin/env bash
# Seconds a frame of Blender's Mantaflow and of Meniscus on the same tank, one after the other on the same
# machine. Needs the package blender (Debian 12: 3.4.1).
#   benches/peers/mantaflow.sh [DIVISIONS] [FRAMES] [VISCOSITY]
# With a VISCOSITY, the kinematic one in m²/s, both solve for it: Mantaflow by its own solver for thick liquid. .05 is honey-like.
set -eu
cd "$(dirname "$0")/../.."
divisions=${1:-128} frames=${2:-30} viscosity=${3:-0}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cargo bench --quiet --bench frame --no-run
blender -b --factory-startup --python benches/peers/mantaflow_bake.py -- \
    --divisions "$divisions" --frames "$frames" --viscosity "$viscosity" --cache "$work" 2>&1 | grep '^{'
cargo bench --quiet --bench frame -- tank "$divisions" "$(nproc)" "$frames" "$viscosity"
