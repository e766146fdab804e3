#!/usr/bin/env bash
# Seconds a frame of Blender's Mantaflow and of Meniscus on the same tank, one after the other on the same
# machine. Needs the package blender (Debian 12: 3.4.1).
#   benches/peers/mantaflow.sh [DIVISIONS] [FRAMES]
set -eu
cd "$(dirname "$0")/../.."
divisions=${1:-128} frames=${2:-30}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cargo bench --quiet --bench frame --no-run
blender -b --factory-startup --python benches/peers/mantaflow_bake.py -- \
    --divisions "$divisions" --frames "$frames" --cache "$work" 2>&1 | grep '^{'
cargo bench --quiet --bench frame -- tank "$divisions" "$(nproc)" "$frames"
