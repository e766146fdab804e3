"""Bake the tank of benches/frame.rs with Blender's Mantaflow and print one JSON line.

A tank of 2 x 1 x 1 m with a column of water at one end, meshed, with adaptive steps and the defaults of
Blender otherwise: CFL number 4, at most 4 steps a frame, particles in a band of 3 cells.
"""

import argparse
import json
import resource
import sys
import time

import bpy

parser = argparse.ArgumentParser()
parser.add_argument("--divisions", type=int, default=128)
parser.add_argument("--frames", type=int, default=30)
parser.add_argument("--viscosity", type=float, default=0.0)
parser.add_argument("--cache", required=True)
options = parser.parse_args(sys.argv[sys.argv.index("--") + 1:])


def box(name, low, high):
    """A box between two corners, linked to the scene."""
    corners = [(x, y, z) for z in (low[2], high[2]) for y in (low[1], high[1]) for x in (low[0], high[0])]
    faces = [(0, 2, 3, 1), (4, 5, 7, 6), (0, 1, 5, 4), (1, 3, 7, 5), (3, 2, 6, 7), (2, 0, 4, 6)]
    mesh = bpy.data.meshes.new(name)
    mesh.from_pydata(corners, [], faces)
    thing = bpy.data.objects.new(name, mesh)
    bpy.context.scene.collection.objects.link(thing)
    return thing


bpy.ops.wm.read_factory_settings(use_empty=True)
scene = bpy.context.scene
scene.frame_start, scene.frame_end, scene.render.fps = 1, options.frames, 24
tank = box("tank", (-1, -0.5, 0), (1, 0.5, 1))
water = box("water", (-0.98, -0.48, 0.02), (-0.2, 0.48, 0.7))
domain = tank.modifiers.new("Fluid", "FLUID")
domain.fluid_type = "DOMAIN"
settings = domain.domain_settings
settings.domain_type = "LIQUID"
settings.resolution_max = options.divisions
settings.cache_type = "ALL"
settings.cache_directory = options.cache
settings.cache_frame_start, settings.cache_frame_end = 1, options.frames
settings.use_adaptive_timesteps = True
settings.use_mesh = True
if options.viscosity > 0:
    settings.use_viscosity, settings.viscosity_value = True, options.viscosity
flow = water.modifiers.new("Fluid", "FLUID")
flow.fluid_type = "FLOW"
flow.flow_settings.flow_type, flow.flow_settings.flow_behavior = "LIQUID", "GEOMETRY"
bpy.context.view_layer.objects.active = tank
tank.select_set(True)

start = time.time()
bpy.ops.fluid.bake_all()
seconds = time.time() - start
scene.frame_set(options.frames)
shown = tank.evaluated_get(bpy.context.evaluated_depsgraph_get())
print(json.dumps({
    "case": "mantaflow",
    "blender": bpy.app.version_string,
    "divisions": options.divisions,
    "frames": options.frames,
    "seconds_a_frame": seconds / options.frames,
    "particles": sum(len(p.particles) for p in shown.particle_systems),
    "vertices": len(shown.data.vertices),
    "peak_megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3,
}), flush=True)
