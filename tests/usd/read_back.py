"""What the command writes as USD, read by Pixar's library: the same numbers, and no larger than its own files."""

import json
import os
import pathlib
import subprocess
import tempfile
import unittest

import numpy
from pxr import Sdf, Usd, UsdGeom, UsdVol

COMMAND = os.environ["MENISCUS_COMMAND"]
SCENE = {
    "meniscus": 1,
    "name": "dam",
    "frames": [1, 6],
    "fps": [24000, 1001],
    "domain": {"min": [0, 0, 0], "max": [0.8, 0.5, 0.4]},
    "resolution": {"divisions": 40},
    "initial": [{"shape": {"box": {"min": [0, 0, 0], "max": [0.3, 0.3, 0.4]}}}],
    "colliders": [
        {
            "name": "Rock.001",
            "shape": {"sphere": {"radius": 0.06}},
            "transform": {
                "translate": {"keys": [[1, [0.6, 0.06, 0.2]], [6, [0.5, 0.06, 0.2]]]},
                "rotate": [0, 0, 90],
                "scale": 1.5,
            },
        }
    ],
    "outputs": {"surface": "usdc", "particles": True},
}


def run(*words):
    subprocess.run([COMMAND, *map(str, words)], check=True, capture_output=True)


def read_ply(path):
    """Positions with velocities and triangles of a file that the command wrote."""
    data = path.read_bytes()
    end = data.index(b"end_header\n") + 11
    header = data[:end].decode().split("\n")
    vertices, faces = (int(next(l for l in header if l.startswith(f"element {w}")).split()[2]) for w in ("vertex", "face"))
    floats = sum(l.startswith("property float") for l in header)
    values = numpy.frombuffer(data, "<f4", vertices * floats, end).reshape(vertices, floats)
    rows = numpy.frombuffer(data, numpy.dtype([("n", "u1"), ("v", "<i4", 3)]), faces, end + 4 * vertices * floats)
    return values, rows["v"]


class ReadBack(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.keep = tempfile.TemporaryDirectory()
        cls.folder = pathlib.Path(cls.keep.name)
        (cls.folder / "scene.json").write_text(json.dumps(SCENE))
        run("run", cls.folder / "scene.json", "-o", cls.folder / "usd", "--progress", "none")
        run("cache", "convert", cls.folder / "usd", cls.folder / "ply", "--to", "ply")
        run("cache", "convert", cls.folder / "usd", cls.folder / "text", "--to", "usda")

    @classmethod
    def tearDownClass(cls):
        cls.keep.cleanup()

    def surface(self, path):
        stage = Usd.Stage.Open(str(path))
        return stage, UsdGeom.Mesh(stage.GetPrimAtPath("/liquid/surface"))

    def test_a_surface_is_the_same_to_the_last_bit(self):
        for folder, ending in (("usd", "usdc"), ("text", "usda")):
            for frame in (1, 6):
                values, triangles = read_ply(self.folder / f"ply/surface/{frame:04d}.ply")
                stage, mesh = self.surface(self.folder / f"{folder}/surface/{frame:04d}.{ending}")
                points = numpy.array(mesh.GetPointsAttr().Get(frame))
                self.assertGreater(len(points), 1000)
                self.assertTrue((points == values[:, :3]).all())
                self.assertTrue((numpy.array(mesh.GetVelocitiesAttr().Get(frame)) == values[:, 3:6]).all())
                indices = numpy.array(mesh.GetFaceVertexIndicesAttr().Get(frame)).reshape(-1, 3)
                self.assertTrue((indices == triangles).all())
                self.assertTrue((numpy.array(mesh.GetFaceVertexCountsAttr().Get(frame)) == 3).all())
                extent = numpy.array(mesh.GetExtentAttr().Get(frame))
                self.assertTrue((extent == [points.min(0), points.max(0)]).all())

    def test_the_stage_has_units_axes_and_time(self):
        stage, mesh = self.surface(self.folder / "usd/surface/0003.usdc")
        self.assertEqual(UsdGeom.GetStageMetersPerUnit(stage), 1.0)
        self.assertEqual(UsdGeom.GetStageUpAxis(stage), "Y")
        self.assertAlmostEqual(stage.GetTimeCodesPerSecond(), 24000 / 1001, 12)
        self.assertEqual(stage.GetStartTimeCode(), 3)
        self.assertEqual(str(stage.GetDefaultPrim().GetPath()), "/liquid")
        self.assertEqual(mesh.GetSubdivisionSchemeAttr().Get(), "none")

    def test_particles_and_solids_are_there(self):
        stage = Usd.Stage.Open(str(self.folder / "usd/surface/0006.usdc"))
        points = UsdGeom.Points(stage.GetPrimAtPath("/liquid/particles"))
        ids = numpy.array(points.GetIdsAttr().Get(6))
        self.assertEqual(len(ids), len(points.GetPointsAttr().Get(6)))
        self.assertEqual(len(numpy.unique(ids)), len(ids))
        self.assertEqual(points.GetWidthsInterpolation(), "constant")
        self.assertAlmostEqual(points.GetWidthsAttr().Get(6)[0], 0.01, 6)
        rock = UsdGeom.Xformable(stage.GetPrimAtPath("/liquid/solids/Rock_001"))
        x_axis = rock.ComputeLocalToWorldTransform(6).Transform((1, 0, 0))
        self.assertTrue(numpy.allclose(x_axis, (0.5, 0.06 + 1.5, 0.2)), x_axis)

    def test_all_frames_open_as_one_stage(self):
        stage, mesh = self.surface(self.folder / "usd/liquid.usda")
        self.assertEqual((stage.GetStartTimeCode(), stage.GetEndTimeCode()), (1, 6))
        for frame in range(1, 7):
            _, alone = self.surface(self.folder / f"usd/surface/{frame:04d}.usdc")
            both = [numpy.array(m.GetPointsAttr().Get(frame)) for m in (mesh, alone)]
            self.assertTrue(numpy.array_equal(*both), frame)

    @unittest.skipUnless(os.environ.get("MENISCUS_VDB_COMMAND"), "MENISCUS_VDB_COMMAND names no command with OpenVDB")
    def test_volumes_are_assets_that_lead_to_their_files(self):
        words = ["run", self.folder / "scene.json", "-o", self.folder / "volumes", "--frames", "1-3", "--set", "outputs.volumes=true",
                 "--no-report", "--progress", "none"]
        subprocess.run([os.environ["MENISCUS_VDB_COMMAND"], *map(str, words)], check=True, capture_output=True)
        stage = Usd.Stage.Open(str(self.folder / "volumes/liquid.usda"))
        volume = UsdVol.Volume(stage.GetPrimAtPath("/liquid/volumes"))
        fields = volume.GetFieldPaths()
        self.assertEqual(set(fields), {"surface", "vel", "pressure", "collision"})
        for name, path in fields.items():
            asset = UsdVol.OpenVDBAsset(stage.GetPrimAtPath(path))
            self.assertEqual(asset.GetFieldNameAttr().Get(), name)
            for frame in (1, 2, 3):
                file = pathlib.Path(asset.GetFilePathAttr().Get(frame).resolvedPath)
                self.assertEqual(file.name, f"{frame:04}.vdb")
                self.assertTrue(file.is_file())
        self.assertEqual(len(UsdGeom.Mesh(stage.GetPrimAtPath("/liquid/surface")).GetPointsAttr().Get(2)) > 1000, True)

    def test_no_file_is_larger_than_pixars(self):
        for frame in (1, 6):
            ours = self.folder / f"usd/surface/{frame:04d}.usdc"
            theirs = self.folder / "theirs.usdc"
            Sdf.Layer.FindOrOpen(str(ours)).Export(str(theirs))
            sizes = ours.stat().st_size, theirs.stat().st_size
            print(f"frame {frame}: {sizes[0]} bytes, Pixar's writer {sizes[1]}, ratio {sizes[0] / sizes[1]:.4f}")
            self.assertLessEqual(*sizes)

    def test_carried_attributes_of_every_kind_come_through(self):
        ply = self.folder / "carried.ply"
        n = 300
        rng = numpy.random.default_rng(1)
        names = ["x", "y", "z", "viscosity", "phase", "age", "s", "t"]
        values = rng.random((n, len(names))).astype("<f4")
        values[:, 3] = numpy.where(values[:, 3] > 0.5, 10.25, 0.001)
        values[:, 4] = numpy.floor(3 * values[:, 4])
        faces = numpy.empty(n - 2, numpy.dtype([("n", "u1"), ("v", "<i4", 3)]))
        faces["n"], faces["v"] = 3, numpy.arange(n - 2)[:, None] + numpy.arange(3)
        properties = "".join(f"property float {x}\n" for x in names)
        header = f"ply\nformat binary_little_endian 1.0\nelement vertex {n}\n{properties}element face {n - 2}\n"
        ply.write_bytes((header + "property list uchar int vertex_indices\nend_header\n").encode()
                        + values.tobytes() + faces.tobytes())
        for ending in ("usdc", "usda"):
            out = self.folder / f"carried.{ending}"
            run("cache", "convert", ply, out)
            stage = Usd.Stage.Open(str(out))
            primvars = UsdGeom.PrimvarsAPI(stage.GetPrimAtPath("/liquid/surface"))
            for name, columns in (("viscosity", [3]), ("phase", [4]), ("age", [5]), ("st", [6, 7])):
                primvar = primvars.GetPrimvar(name)
                got = numpy.array(primvar.Get(1)).reshape(n, -1)
                self.assertTrue((got == values[:, columns]).all(), (ending, name))
                self.assertEqual(primvar.GetInterpolation(), "vertex")

    def test_pixars_files_can_be_converted(self):
        path = self.folder / "foreign.usdc"
        stage = Usd.Stage.CreateNew(str(path))
        mesh = UsdGeom.Mesh.Define(stage, "/a/quad")
        mesh.CreatePointsAttr([(0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0)])
        mesh.CreateFaceVertexCountsAttr([4])
        mesh.CreateFaceVertexIndicesAttr([0, 1, 2, 3])
        stage.Save()
        run("cache", "convert", path, self.folder / "foreign.ply")
        values, triangles = read_ply(self.folder / "foreign.ply")
        self.assertEqual((values.shape, triangles.shape), ((4, 3), (2, 3)))


if __name__ == "__main__":
    unittest.main()
