"""What the command writes, read by Blender: Alembic, USD, OpenVDB, PLY and OBJ."""

import json
import os
import pathlib
import subprocess
import tempfile
import unittest

import bpy
import numpy

COMMAND = os.environ["MENISCUS_COMMAND"]
VOLUMES = os.environ.get("MENISCUS_VDB_COMMAND")
SCENE = {
    "meniscus": 1,
    "name": "dam",
    "frames": [1, 5],
    "fps": 24,
    "domain": {"min": [0, 0, 0], "max": [0.8, 0.5, 0.4]},
    "resolution": {"divisions": 24},
    "outputs": {"particles": True, "surface": "usdc"},
    "initial": [{"shape": {"box": {"min": [0, 0, 0], "max": [0.3, 0.3, 0.4]}}}],
}
FRAME = 4


def ply(path):
    raw = path.read_bytes()
    end = raw.index(b"end_header\n") + 11
    header = raw[:end].decode().splitlines()
    count = int(next(l for l in header if l.startswith("element vertex")).split()[2])
    floats = sum(l.startswith("property float") for l in header)
    return numpy.frombuffer(raw, "<f4", count * floats, end).reshape(count, floats)


def points_of(blender_object):
    """Vertices or points of an object as it stands at the present frame, with Y up."""
    evaluated = blender_object.evaluated_get(bpy.context.evaluated_depsgraph_get())
    data = evaluated.data
    vertices = data.vertices if hasattr(data, "vertices") else data.points
    flat = numpy.empty(3 * len(vertices), numpy.float32)
    vertices.foreach_get("co", flat)
    matrix = numpy.array(evaluated.matrix_world)
    placed = flat.reshape(-1, 3) @ matrix[:3, :3].T + matrix[:3, 3]
    return placed[:, [0, 2, 1]] * [1, 1, -1]


class Blender(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.keep = tempfile.TemporaryDirectory(prefix="meniscus_blender_")
        cls.folder = pathlib.Path(cls.keep.name)
        (cls.folder / "scene.json").write_text(json.dumps(SCENE))
        cls.command("run", "scene.json", "-o", "usd", "--no-report", "--progress", "none")
        cls.command("cache", "convert", "usd", "ply", "--to", "ply")
        cls.surface = ply(cls.folder / f"ply/surface/{FRAME:04}.ply")

    @classmethod
    def tearDownClass(cls):
        cls.keep.cleanup()

    @classmethod
    def command(cls, *words, command=COMMAND):
        subprocess.run([command, *words], cwd=cls.folder, check=True, stdout=subprocess.DEVNULL)

    def setUp(self):
        bpy.ops.wm.read_factory_settings(use_empty=True)
        bpy.context.scene.render.fps = 24

    def only(self, kind):
        found = [o for o in bpy.data.objects if o.type == kind]
        self.assertEqual(len(found), 1, [(o.name, o.type) for o in bpy.data.objects])
        return found[0]

    def compare(self, found, name):
        self.assertEqual(len(found), len(self.surface))
        off = abs(found - self.surface[:, :3]).max()
        print(f"{name}: {len(found)} vertices, at most {off:.1e} m off")
        self.assertLess(off, 1e-6)

    def test_alembic_stands_where_it_should_at_a_frame(self):
        self.command("cache", "convert", "usd", "shot.abc")
        bpy.ops.wm.alembic_import(filepath=str(self.folder / "shot.abc"), as_background_job=False)
        bpy.context.scene.frame_set(FRAME)
        self.compare(points_of(self.only("MESH")), "Alembic")

    def test_alembic_particles_are_a_cloud_of_points(self):
        self.command("cache", "convert", "usd", "points.abc", "--particles")
        self.command("cache", "convert", "usd", "points", "--particles", "--to", "ply")
        bpy.ops.wm.alembic_import(filepath=str(self.folder / "points.abc"), as_background_job=False)
        bpy.context.scene.frame_set(FRAME)
        cloud = [o for o in bpy.data.objects if o.type in ("POINTCLOUD", "MESH")]
        self.assertEqual(len(cloud), 1)
        raw = (self.folder / f"points/{FRAME:04}.ply").read_bytes()
        count = int(raw.split(b"element vertex ")[1].split()[0])
        self.assertEqual(len(points_of(cloud[0])), count)

    def test_usd_plays_surface_and_particles(self):
        bpy.ops.wm.usd_import(filepath=str(self.folder / "usd/liquid.usda"))
        bpy.context.scene.frame_set(FRAME)
        self.compare(points_of(self.only("MESH")), "USD")
        self.assertGreater(len(points_of(self.only("POINTCLOUD"))), 1000)

    def test_polygons_are_read(self):
        self.command("cache", "convert", f"ply/surface/{FRAME:04}.ply", "frame.obj")
        bpy.ops.wm.ply_import(filepath=str(self.folder / f"ply/surface/{FRAME:04}.ply"), forward_axis="NEGATIVE_Z", up_axis="Y")
        self.compare(points_of(self.only("MESH")), "PLY")
        bpy.ops.wm.read_factory_settings(use_empty=True)
        bpy.ops.wm.obj_import(filepath=str(self.folder / "frame.obj"), forward_axis="NEGATIVE_Z", up_axis="Y")
        self.compare(points_of(self.only("MESH")), "OBJ")

    @unittest.skipUnless(VOLUMES, "no command with OpenVDB: volumes are left out")
    def test_volumes_have_their_grids(self):
        self.command("run", "scene.json", "-o", "vdb", "--set", "outputs.volumes=true", "--frames", "1-4",
                     "--no-report", "--progress", "none", command=VOLUMES)
        bpy.ops.object.volume_import(filepath=str(self.folder / "vdb/vdb/0004.vdb"))
        volume = self.only("VOLUME").data
        volume.grids.load()
        grids = {g.name: g.data_type for g in volume.grids}
        print("VDB:", grids)
        self.assertEqual(grids["surface"], "FLOAT")
        self.assertIn(grids["vel"], ("VECTOR_FLOAT", "FLOAT_VECTOR"))
        self.assertTrue({"pressure", "collision"} <= grids.keys())
        bpy.ops.wm.read_factory_settings(use_empty=True)
        bpy.ops.wm.usd_import(filepath=str(self.folder / "vdb/liquid.usda"))
        self.assertTrue([o for o in bpy.data.objects if o.type == "VOLUME"], [(o.name, o.type) for o in bpy.data.objects])


if __name__ == "__main__":
    unittest.main(argv=["blender_reads"])
