"""A million vertices in Blender, in and out: showing a frame, exporting an obstacle, and memory that does not grow.

    python figures.py COMMAND FOLDER      with bpy installed and the add-on's folder and python/ on PYTHONPATH

Fails if a shown frame takes a second, an exported obstacle 0.3 s, or if frame 50 holds more memory than frame 3. Times are
the shortest of a few, on the wall less what this thread waited for a processor that others had.
"""

import os
import pathlib
import subprocess
import sys
import time
import traceback

import bpy
import numpy

COMMAND, FOLDER = sys.argv[1], pathlib.Path(sys.argv[2])
SIDE, FILES, FRAMES = 1000, 4, 50
SHOWN, EXPORTED, GROWTH = 1.0, 0.3, 100.0


def quiet():
    waited = int(pathlib.Path("/proc/thread-self/schedstat").read_text().split()[1])
    return time.monotonic() - 1e-9 * waited


def resident():
    """Megabytes that the process holds now."""
    return int(pathlib.Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE") / 1e6


def grid(phase):
    x, y = numpy.meshgrid(numpy.arange(SIDE) / SIDE, numpy.arange(SIDE) / SIDE)
    z = 0.05 * numpy.sin(20 * x + phase) * numpy.cos(20 * y)
    points = numpy.column_stack([x.ravel(), z.ravel(), y.ravel()]).astype(numpy.float32)
    corner = (numpy.arange(SIDE - 1)[:, None] * SIDE + numpy.arange(SIDE - 1)).ravel()
    low = numpy.column_stack([corner, corner + SIDE, corner + 1])
    high = numpy.column_stack([corner + 1, corner + SIDE, corner + SIDE + 1])
    return points, numpy.concatenate([low, high]).astype(numpy.int32)


def write_frames(surface, meshes):
    """A few frames by the command, and the others as more names of the same files: Blender opens each by its name."""
    surface.mkdir(parents=True, exist_ok=True)
    for frame in range(1, FRAMES + 1):
        target = surface / f"{frame:04d}.usdc"
        target.unlink(missing_ok=True)
        if frame > FILES:
            os.link(surface / f"{(frame - 1) % FILES + 1:04d}.usdc", target)
            continue
        points, triangles = grid(frame)
        velocity = {f"v{axis}": points[:, 0] for axis in "xyz"}
        ply = FOLDER / "grid.ply"
        ply.write_bytes(meshes.to_bytes(points, meshes.triangles(triangles), velocity))
        subprocess.run([COMMAND, "cache", "convert", str(ply), str(target)], check=True)


def main():
    import meniscus_liquids
    from meniscus_liquids import meshes, playback

    bpy.ops.wm.read_factory_settings(use_empty=True)
    meniscus_liquids.register()
    write_frames(FOLDER / "v001" / "surface", meshes)
    bpy.ops.mesh.primitive_cube_add()
    domain = bpy.context.object
    domain.meniscus.role = "DOMAIN"
    playback.show(bpy.context, domain, FOLDER / "v001")
    times, held = [], {}
    for frame in range(1, FRAMES + 1):
        begin = quiet()
        bpy.context.scene.frame_set(frame)
        data = domain.meniscus.domain.result.evaluated_get(bpy.context.evaluated_depsgraph_get()).data
        times.append(quiet() - begin)
        assert len(data.vertices) == SIDE * SIDE
        held[frame] = resident()
    print(f"show a frame of {SIDE * SIDE} vertices: {min(times):.2f} s, at most {max(times):.2f} s")
    print(f"memory: {held[3]:.0f} MB at frame 3, {held[FRAMES]:.0f} MB at frame {FRAMES}")
    bpy.data.objects.remove(domain.meniscus.domain.result)

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
    exports = []
    for i in range(5):
        # Another mesh each time, so that it is written.
        mesh.vertices[0].co.y = 0.01 * i
        mesh.update()
        bpy.context.view_layer.update()
        begin = quiet()
        found = meshes.arrays(wall, bpy.context.evaluated_depsgraph_get())
        meshes.write(FOLDER / "geometry", meshes.placed(found[0], wall.matrix_world), *found[1:])
        exports.append(quiet() - begin)
    print(f"export {len(points)} vertices: {min(exports):.2f} s, at most {max(exports):.2f} s")
    assert min(times) < SHOWN and min(exports) < EXPORTED, (times, exports)
    assert held[FRAMES] < held[3] + GROWTH, held


if __name__ == "__main__":
    code = 0
    try:
        main()
    except BaseException:
        traceback.print_exc()
        code = 1
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)
