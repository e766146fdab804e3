"""The pictures of docs/blender.md: a scene of Add > Meniscus, baked and rendered by Cycles.

    python pictures.py KIND DIVISIONS FRAME PICTURE      with bpy, the add-on's folder and python/ on PYTHONPATH
"""

import os
import pathlib
import sys
import tempfile
import traceback

import bpy

KIND, DIVISIONS, FRAME, PICTURE = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), pathlib.Path(sys.argv[4]).resolve()


def main(folder):
    import meniscus_liquids

    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
    meniscus_liquids.register()
    bpy.ops.meniscus.add_scene(kind=KIND)
    bpy.ops.wm.save_as_mainfile(filepath=str(pathlib.Path(folder) / f"{KIND}.blend"))
    scene, settings = bpy.context.scene, bpy.context.object.meniscus.domain
    settings.divisions, scene.frame_end = DIVISIONS, FRAME
    bpy.ops.meniscus.bake()
    scene.render.engine = "CYCLES"
    scene.cycles.samples, scene.cycles.device, scene.cycles.use_denoising = 16, "CPU", True
    scene.render.resolution_x, scene.render.resolution_y, scene.render.resolution_percentage = 640, 400, 100
    scene.render.use_motion_blur = True
    scene.frame_set(FRAME)
    scene.render.filepath = str(PICTURE)
    bpy.ops.render.render(write_still=True)


if __name__ == "__main__":
    code = 0
    with tempfile.TemporaryDirectory() as folder:
        try:
            main(folder)
        except BaseException:
            traceback.print_exc()
            code = 1
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)
