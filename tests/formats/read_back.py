"""What the command writes as Alembic and BGEO, read by libraries that nobody here wrote."""

import json
import os
import pathlib
import subprocess
import tempfile
import unittest

import imath
import numpy
from alembic3d.Abc import IArchive, ISampleSelector, OArchive
from alembic3d.AbcCoreAbstract import TimeSampling
from alembic3d.AbcGeom import IC3fGeomParam, IFloatGeomParam, IPoints, IPolyMesh, OPolyMesh, OPolyMeshSchemaSample

COMMAND = os.environ["MENISCUS_COMMAND"]
SCENE = {
    "meniscus": 1,
    "name": "dam",
    "frames": [3, 8],
    "fps": 25,
    "domain": {"min": [0, 0, 0], "max": [0.8, 0.5, 0.4]},
    "resolution": {"divisions": 32},
    "outputs": {"particles": True},
    "initial": [{"shape": {"box": {"min": [0, 0, 0], "max": [0.3, 0.3, 0.4]}}}],
}
TYPES = {"float": "<f4", "float32": "<f4", "double": "<f8", "uchar": "u1", "uint8": "u1", "int": "<i4", "int32": "<i4",
         "uint": "<u4", "uint32": "<u4", "ulong": "<u8", "uint64": "<u8", "short": "<i2", "ushort": "<u2"}


def ply(path):
    """Vertices and triangles of a binary PLY, by its own header."""
    raw = path.read_bytes()
    end = raw.index(b"end_header\n") + 11
    elements = []
    for line in raw[:end].decode().splitlines():
        words = line.split()
        if words[0] == "element":
            elements.append((words[1], int(words[2]), []))
        elif words[0] == "property" and words[1] != "list":
            elements[-1][2].append((words[2], TYPES[words[1]]))
        elif words[0] == "property":
            elements[-1][2].extend([("count", TYPES[words[2]]), ("corners", TYPES[words[3]], (3,))])
    found = {}
    for name, count, properties in elements:
        kind = numpy.dtype(properties)
        found[name] = numpy.frombuffer(raw, kind, count, end)
        end += count * kind.itemsize
    return found


def vectors(table, names):
    return numpy.stack([table[n] for n in names], axis=1).astype(numpy.float32)


def velocity_names(table):
    for names in (("vx", "vy", "vz"), ("velocity_x", "velocity_y", "velocity_z"), ("velocity_0", "velocity_1", "velocity_2")):
        if names[0] in table.dtype.names:
            return names
    raise KeyError(table.dtype.names)


def rows(array):
    return numpy.array([[v.x, v.y, v.z] for v in array], dtype=numpy.float32).reshape(-1, 3)


class Formats(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="meniscus_formats_")
        cls.work = pathlib.Path(cls.folder.name)
        (cls.work / "scene.json").write_text(json.dumps(SCENE))
        cls.run_command("run", "scene.json", "-o", "cache", "--no-report", "--progress", "none")
        cls.frames = list(range(3, 9))

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    @classmethod
    def run_command(cls, *words):
        subprocess.run([COMMAND, *words], cwd=cls.work, check=True, stdout=subprocess.DEVNULL)

    def surface(self, frame):
        found = ply(self.work / "cache" / "surface" / f"{frame:04}.ply")
        table = found["vertex"]
        return vectors(table, "xyz"), vectors(table, velocity_names(table)), found["face"]["corners"]

    def test_alembic_surfaces_are_the_same_to_the_last_bit(self):
        self.run_command("cache", "convert", "cache", "shot.abc")
        schema = IPolyMesh(IArchive(str(self.work / "shot.abc")).getTop(), "liquid").getSchema()
        self.assertEqual(schema.getNumSamples(), len(self.frames))
        times = schema.getTimeSampling()
        for index, frame in enumerate(self.frames):
            self.assertAlmostEqual(times.getSampleTime(index), frame / 25.0, places=12)
            position, velocity, corners = self.surface(frame)
            sample = schema.getValue(index)
            numpy.testing.assert_array_equal(rows(sample.getPositions()), position)
            numpy.testing.assert_array_equal(rows(sample.getVelocities()), velocity)
            counts = numpy.array(list(sample.getFaceCounts()))
            self.assertTrue((counts == 3).all() and len(counts) == len(corners))
            # Alembic's faces run the other way round.
            indices = numpy.array(list(sample.getFaceIndices())).reshape(-1, 3)
            numpy.testing.assert_array_equal(indices, corners[:, [0, 2, 1]])
            box = sample.getSelfBounds()
            numpy.testing.assert_allclose([box.min().x, box.max().y], [position[:, 0].min(), position[:, 1].max()], atol=1e-6)

    def test_alembic_is_no_larger_than_the_reference_library_makes_it(self):
        self.run_command("cache", "convert", "cache", "ours.abc")
        theirs = self.work / "theirs.abc"
        archive = OArchive(str(theirs), asOgawa=True)
        index = archive.addTimeSampling(TimeSampling(1 / 25.0, 3 / 25.0))
        mesh = OPolyMesh(archive.getTop(), "liquid")
        schema = mesh.getSchema()
        schema.setTimeSampling(index)
        for frame in self.frames:
            position, velocity, corners = self.surface(frame)
            points, speeds = imath.V3fArray(len(position)), imath.V3fArray(len(position))
            for i, (p, v) in enumerate(zip(position.tolist(), velocity.tolist())):
                points[i], speeds[i] = imath.V3f(*p), imath.V3f(*v)
            indices, counts = imath.IntArray(3 * len(corners)), imath.IntArray(len(corners))
            for i, c in enumerate(corners.reshape(-1).tolist()):
                indices[i] = c
            for i in range(len(corners)):
                counts[i] = 3
            sample = OPolyMeshSchemaSample(points, indices, counts)
            sample.setVelocities(speeds)
            schema.set(sample)
        del schema, mesh, archive
        ours = (self.work / "ours.abc").stat().st_size
        print(f"Alembic: {ours} bytes, the reference library {theirs.stat().st_size}")
        self.assertLessEqual(ours, theirs.stat().st_size)

    def test_alembic_carries_what_liquid_carries_and_comes_back(self):
        scene = dict(SCENE, frames=[3, 5], outputs={"particles": True, "attributes": ["age", "phase"]})
        scene["initial"] = [dict(SCENE["initial"][0], attributes={"Cd": [0.9, 0.3, 0.1]})]
        (self.work / "carried.json").write_text(json.dumps(scene))
        self.run_command("run", "carried.json", "-o", "carried", "--no-report", "--progress", "none")
        self.run_command("cache", "convert", "carried", "carried.abc")
        self.run_command("cache", "convert", "carried", "carried_points.abc", "--particles")
        schema = IPolyMesh(IArchive(str(self.work / "carried.abc")).getTop(), "liquid").getSchema()
        params = schema.getArbGeomParams()
        names = [params.getPropertyHeader(i).getName() for i in range(params.getNumProperties())]
        self.assertEqual(sorted(names), ["Cd", "age", "phase"])
        ages, colours = IFloatGeomParam(params, "age"), IC3fGeomParam(params, "Cd")
        for frame in (3, 4, 5):
            table = ply(self.work / "carried" / "surface" / f"{frame:04}.ply")["vertex"]
            theirs = numpy.array(list(ages.getExpandedValue(ISampleSelector(frame / 25.0)).getVals()), dtype=numpy.float32)
            numpy.testing.assert_array_equal(theirs, table["age"])
            shades = numpy.array([[c.r, c.g, c.b] for c in colours.getExpandedValue(ISampleSelector(frame / 25.0)).getVals()], dtype=numpy.float32)
            numpy.testing.assert_array_equal(shades, vectors(table, ("Cd_0", "Cd_1", "Cd_2")))
        # And back, bit for bit, as surfaces and as points.
        for source, kind in (("carried.abc", "surface"), ("carried_points.abc", "particles")):
            self.run_command("cache", "convert", source, f"back_{kind}", "--to", "ply")
            for frame in (3, 4, 5):
                before = ply(self.work / "carried" / kind / f"{frame:04}.ply")
                after = ply(self.work / f"back_{kind}" / f"{frame:04}.ply")
                for name in before["vertex"].dtype.names:
                    if name not in ("radius",):
                        numpy.testing.assert_array_equal(after["vertex"][name], before["vertex"][name], name)
                if kind == "surface":
                    numpy.testing.assert_array_equal(after["face"]["corners"], before["face"]["corners"])

    def test_alembic_of_the_reference_library_is_read(self):
        archive = OArchive(str(self.work / "foreign.abc"), asOgawa=True)
        index = archive.addTimeSampling(TimeSampling(1 / 25.0, 3 / 25.0))
        mesh = OPolyMesh(archive.getTop(), "somebody")
        schema = mesh.getSchema()
        schema.setTimeSampling(index)
        # Corners of a cube and its sides, clockwise seen from outside as Alembic has them, which stay while the points move.
        corners = [(x, y, z) for x in (0, 1) for y in (0, 1) for z in (0, 1)]
        faces = [[4, 6, 2, 0], [3, 7, 5, 1], [1, 5, 4, 0], [6, 7, 3, 2], [2, 3, 1, 0], [5, 7, 6, 4]]
        for frame in range(3):
            points, indices, counts = imath.V3fArray(8), imath.IntArray(24), imath.IntArray(6)
            for i, (x, y, z) in enumerate(corners):
                points[i] = imath.V3f(x, y, z + frame)
            for i, corner in enumerate(sum(faces, [])):
                indices[i] = corner
            for i in range(6):
                counts[i] = 4
            schema.set(OPolyMeshSchemaSample(points, indices, counts))
        del schema, mesh, archive
        self.run_command("cache", "convert", "foreign.abc", "foreign", "--to", "ply")
        for frame in range(3):
            found = ply(self.work / "foreign" / f"{frame + 3:04}.ply")
            place = vectors(found["vertex"], "xyz")
            numpy.testing.assert_array_equal(place, numpy.array(corners, numpy.float32) + [0, 0, frame])
            a, b, c = (place[found["face"]["corners"][:, i]] - place.mean(axis=0) for i in range(3))
            # Twelve triangles that enclose the cube: a volume of one, outward.
            self.assertEqual(len(a), 12)
            self.assertAlmostEqual(float((numpy.cross(a, b) * c).sum()) / 6, 1.0, places=5)

    def test_alembic_points_keep_place_and_velocity(self):
        self.run_command("cache", "convert", "cache", "points.abc", "--particles")
        schema = IPoints(IArchive(str(self.work / "points.abc")).getTop(), "particles").getSchema()
        for index, frame in enumerate(self.frames):
            table = ply(self.work / "cache" / "particles" / f"{frame:04}.ply")["vertex"]
            sample = schema.getValue(index)
            numpy.testing.assert_array_equal(rows(sample.getPositions()), vectors(table, "xyz"))
            numpy.testing.assert_array_equal(rows(sample.getVelocities()), vectors(table, velocity_names(table)))
            # A particle keeps its number from frame to frame, so they are not merely counted.
            numpy.testing.assert_array_equal(numpy.array(list(sample.getIds())), table["id"])
        self.assertFalse((table["id"] == numpy.arange(len(table))).all())

    def test_large_numbers_of_particles_pass_through_every_format(self):
        count = 300
        kind = numpy.dtype([("x", "<f4"), ("y", "<f4"), ("z", "<f4"), ("id", "<i4"), ("radius", "<f4"), ("vx", "<f4"), ("vy", "<f4"), ("vz", "<f4")])
        table = numpy.zeros(count, kind)
        # More than a float can count.
        table["id"] = 2 ** 24 + 1 + 7 * numpy.arange(count)
        for name in ("x", "y", "z", "vx", "vy", "vz"):
            table[name] = numpy.random.default_rng(len(name)).random(count)
        names = {"<f4": "float", "<i4": "int"}
        properties = "".join(f"property {names[kind[n].str]} {n}\n" for n in kind.names)
        header = f"ply\nformat binary_little_endian 1.0\nelement vertex {count}\n{properties}end_header\n"
        (self.work / "many.ply").write_bytes(header.encode() + table.tobytes())
        before = "many.ply"
        for ending in ("bgeo", "usdc", "vtp", "usda"):
            self.run_command("cache", "convert", before, f"many.{ending}", "--particles")
            before = f"many.{ending}"
        self.run_command("cache", "convert", before, "again.ply", "--particles")
        again = ply(self.work / "again.ply")["vertex"]
        for name in ("x", "y", "z", "id", "vx", "vy", "vz"):
            numpy.testing.assert_array_equal(again[name], table[name])

    def test_particles_of_a_usd_cache_are_the_same(self):
        self.run_command("run", "scene.json", "-o", "usd", "--set", "outputs.surface=usda", "--no-report", "--progress", "none")
        self.run_command("cache", "convert", "usd", "usd_bgeo", "--to", "bgeo")
        self.run_command("cache", "convert", "cache", "ply_bgeo", "--to", "bgeo")
        for frame in self.frames:
            self.assertEqual(*((self.work / f / f"{frame:04}.bgeo").read_bytes() for f in ("usd_bgeo", "ply_bgeo")))
        self.run_command("cache", "convert", "usd", "usd.abc", "--particles")

    def test_bgeo_points_are_read_by_splashsurf(self):
        self.run_command("cache", "convert", "cache", "bgeo", "--to", "bgeo")
        import pysplashsurf

        table = ply(self.work / "cache" / "particles" / "0008.ply")["vertex"]
        raw = (self.work / "bgeo" / "0008.bgeo").read_bytes()
        # The points by hand, as Partio lays them out.
        header = raw.index(b"\x00\x02id") + 4 + 2 + 4 + 4
        points = numpy.frombuffer(raw, ">f4", 9 * len(table), header).reshape(-1, 9)
        numpy.testing.assert_array_equal(points[:, :3].astype(numpy.float32), vectors(table, "xyz"))
        numpy.testing.assert_array_equal(points[:, 4:7].astype(numpy.float32), vectors(table, velocity_names(table)))
        # And by a reader that is not ours: a surface about the points is about as large as the liquid.
        out = self.work / "surface.obj"
        words = ["reconstruct", str(self.work / "bgeo" / "0008.bgeo"), "-r", "0.0063", "-l", "2.0", "-c", "0.5", "-o", str(out)]
        script = pathlib.Path(os.sys.executable).parent / "pysplashsurf"
        subprocess.run([str(script), *words], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        read = numpy.array([line.split()[1:4] for line in out.read_text().splitlines() if line.startswith("v ")], float)
        place = vectors(table, "xyz")
        self.assertTrue(pysplashsurf and (abs(read.min(axis=0) - place.min(axis=0)) < 0.03).all())
        self.assertTrue((abs(read.max(axis=0) - place.max(axis=0)) < 0.03).all())


if __name__ == "__main__":
    unittest.main()
