"""How long a million vertices take in Blender, in and out. Not a test: times belong to the machine.

    python figures.py COMMAND FOLDER      with bpy installed and the add-on's folder and python/ on PYTHONPATH
"""

import os
import pathlib
import resource
import subprocess
import sys
import time

import bpy
import numpy

COMMAND, FOLDER = sys.argv[1], pathlib.Path(sys.argv[2])
SIDE = 1000


def grid(phase):
    x, y = numpy.meshgrid(numpy.arange(SIDE) / SIDE, numpy.arange(SIDE) / SIDE)
    z = 0.05 * numpy.sin(20 * x + phase) * numpy.cos(20 * y)
    points = numpy.column_stack([x.ravel(), z.ravel(), y.ravel()]).astype(numpy.float32)
    corner = (numpy.arange(SIDE - 1)[:, None] * SIDE + numpy.arange(SIDE - 1)).ravel()
    low = numpy.column_stack([corner, corner + SIDE, corner + 1])
    high = numpy.column_stack([corner + 1, corner + SIDE, corner + SIDE + 1])
    return points, numpy.concatenate([low, high]).astype(numpy.int32)


def main():
    import meniscus_liquids
    from meniscus_liquids import meshes, playback

    bpy.ops.wm.read_factory_settings(use_empty=True)
    meniscus_liquids.register()
    surface = FOLDER / "v001" / "surface"
    surface.mkdir(parents=True, exist_ok=True)
    for frame in range(1, 9):
        points, triangles = grid(frame)
        velocity = {f"v{axis}": points[:, 0] for axis in "xyz"}
        ply = FOLDER / "grid.ply"
        ply.write_bytes(meshes.to_bytes(points, meshes.triangles(triangles), velocity))
        begin = time.monotonic()
        subprocess.run([COMMAND, "cache", "convert", str(ply), str(surface / f"{frame:04d}.usdc")], check=True)
        print(f"convert frame {frame}: {time.monotonic() - begin:.2f} s, {(surface / f'{frame:04d}.usdc').stat().st_size} bytes")
    bpy.ops.mesh.primitive_cube_add()
    domain = bpy.context.object
    domain.meniscus.role = "DOMAIN"
    playback.show(bpy.context, domain, FOLDER / "v001")
    for frame in range(1, 9):
        begin, cpu = time.monotonic(), time.process_time()
        bpy.context.scene.frame_set(frame)
        data = domain.meniscus.domain.result.evaluated_get(bpy.context.evaluated_depsgraph_get()).data
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
        print(f"show frame {frame}: {len(data.vertices)} vertices in {time.monotonic() - begin:.2f} s "
              f"({time.process_time() - cpu:.2f} s of processor), peak memory {peak} MB")
    mesh = bpy.data.meshes.new("wall")
    points, triangles = grid(0)
    mesh.vertices.add(len(points))
    mesh.vertices.foreach_set("co", points.ravel())
    mesh.loops.add(triangles.size)
    mesh.loops.foreach_set("vertex_index", triangles.ravel())
    mesh.polygons.add(len(triangles))
    mesh.polygons.foreach_set("loop_start", numpy.arange(0, triangles.size, 3, dtype=numpy.int32))
    mesh.update(calc_edges=True)
    wall = bpy.data.objects.new("Wall", mesh)
    bpy.context.scene.collection.objects.link(wall)
    for _ in range(3):
        begin, cpu = time.monotonic(), time.process_time()
        found = meshes.arrays(wall, bpy.context.evaluated_depsgraph_get())
        meshes.write(FOLDER / "geometry", meshes.placed(found[0], wall.matrix_world), *found[1:])
        print(f"export {len(found[0])} vertices: {time.monotonic() - begin:.2f} s ({time.process_time() - cpu:.2f} s of processor)")


if __name__ == "__main__":
    try:
        main()
    finally:
        sys.stdout.flush()
        os._exit(0)
