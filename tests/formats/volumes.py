"""What the command writes as OpenVDB, read by OpenVDB's own Python module from Debian."""

import json
import os
import pathlib
import subprocess
import tempfile
import unittest

import numpy
import pyopenvdb

COMMAND = os.environ["MENISCUS_VDB_COMMAND"]
CELL = 0.02
SPHERE = ((0.5, 0.1, 0.2), 0.08)
SCENE = {
    "meniscus": 1,
    "name": "dam",
    "frames": [1, 5],
    "domain": {"min": [0, 0, 0], "max": [0.8, 0.5, 0.4]},
    "resolution": {"cell": CELL},
    "liquids": [{"density": 1000, "viscosity": 5, "surface_tension": 0}],
    "initial": [{"shape": {"box": {"min": [0, 0, 0], "max": [0.46, 0.3, 0.4]}}}],
    "colliders": [{"name": "ball", "shape": {"sphere": {"radius": SPHERE[1]}}, "transform": {"translate": list(SPHERE[0])}}],
    "outputs": {"volumes": True, "surface": "ply", "particles": False},
}
TANK = {
    "meniscus": 1,
    "name": "tank",
    "frames": [1, 4],
    "domain": {"min": [0, 0, 0], "max": [0.4, 0.5, 0.4]},
    "resolution": {"cell": CELL},
    "initial": [{"shape": {"box": {"min": [-1, -1, -1], "max": [1, 0.3, 1]}}}],
    "outputs": {"volumes": True, "surface": "usdc"},
}


def run(*words, **more):
    return subprocess.run([COMMAND, *map(str, words)], check=True, capture_output=True, **more)


def ply(path):
    """Positions with velocities and triangles of a file that the command wrote."""
    data = path.read_bytes()
    end = data.index(b"end_header\n") + 11
    header = data[:end].decode().split("\n")
    vertices, faces = (int(next(l for l in header if l.startswith(f"element {w}")).split()[2]) for w in ("vertex", "face"))
    floats = sum(l.startswith("property float") for l in header)
    values = numpy.frombuffer(data, "<f4", vertices * floats, end).reshape(vertices, floats)
    rows = numpy.frombuffer(data, numpy.dtype([("n", "u1"), ("v", "<i4", 3)]), faces, end + 4 * vertices * floats)
    return values, rows["v"]


def write_ply(path, points, triangles):
    header = f"ply\nformat binary_little_endian 1.0\nelement vertex {len(points)}\nproperty float x\nproperty float y\nproperty float z\n"
    header += f"element face {len(triangles)}\nproperty list uchar int vertex_indices\nend_header\n"
    rows = numpy.empty(len(triangles), numpy.dtype([("n", "u1"), ("v", "<i4", 3)]))
    rows["n"], rows["v"] = 3, triangles
    path.write_bytes(header.encode() + numpy.asarray(points, "<f4").tobytes() + rows.tobytes())


def dense(grid):
    """Values of a grid in the box of its active voxels and three round it, and the index of its corner."""
    low, high = grid.evalActiveVoxelBoundingBox()
    low, high = numpy.array(low) - 3, numpy.array(high) + 3
    shape = tuple(high - low + 1)
    vector = isinstance(grid, pyopenvdb.Vec3SGrid)
    array = numpy.zeros(shape + (3,) if vector else shape, numpy.float32)
    grid.copyToArray(array, ijk=tuple(int(c) for c in low))
    return array, low


def sample(array, at):
    """Linear interpolation at places in voxels from the corner."""
    base = numpy.floor(at).astype(int)
    share = at - base
    value = 0
    for corner in numpy.ndindex(2, 2, 2):
        weight = numpy.prod(numpy.where(corner, share, 1 - share), axis=1)
        place = base + corner
        value = value + weight * array[place[:, 0], place[:, 1], place[:, 2]]
    return value


def to_index(grid, points):
    return numpy.array([grid.transform.worldToIndex(tuple(map(float, p))) for p in points])


class Volumes(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.keep = tempfile.TemporaryDirectory(prefix="meniscus_volumes_")
        cls.folder = pathlib.Path(cls.keep.name)
        for name, scene in (("dam", SCENE), ("tank", TANK)):
            (cls.folder / f"{name}.json").write_text(json.dumps(scene))
            run("run", cls.folder / f"{name}.json", "-o", cls.folder / name, "--no-report", "--progress", "none")
        grids, _ = pyopenvdb.readAll(str(cls.folder / "dam/vdb/0005.vdb"))
        cls.grids = {g.name: g for g in grids}
        cls.values, cls.triangles = ply(cls.folder / "dam/surface/0005.ply")

    @classmethod
    def tearDownClass(cls):
        cls.keep.cleanup()

    def test_the_grids_have_houdinis_names_and_the_right_classes(self):
        classes = {name: grid.gridClass for name, grid in self.grids.items()}
        expected = {"surface": "level set", "collision": "level set", "vel": "staggered", "pressure": "unknown", "viscosity": "unknown"}
        self.assertEqual(classes, expected)
        self.assertAlmostEqual(self.grids["vel"].transform.voxelSize()[0], CELL, 12)
        self.assertAlmostEqual(self.grids["surface"].transform.voxelSize()[0], CELL / 2, 12)

    def test_the_level_set_is_zero_on_the_surface_and_negative_inside(self):
        grid = self.grids["surface"]
        array, low = dense(grid)
        points = self.values[:, :3]
        off = abs(sample(array, to_index(grid, points) - low)) / (CELL / 2)
        print(f"surface: vertices are {numpy.quantile(off, 0.5):.4f} voxels from zero in the middle, {numpy.quantile(off, 0.99):.3f} at 99 %")
        self.assertLess(numpy.quantile(off, 0.5), 0.05)
        self.assertLess(numpy.quantile(off, 0.99), 0.5)
        inside = grid.getConstAccessor().getValue(tuple(int(round(c)) for c in grid.transform.worldToIndex((0.1, 0.1, 0.2))))
        self.assertLess(inside, 0)
        # The volume inside is that of the mesh.
        a, b, c = (points[self.triangles[:, k]].astype(float) for k in range(3))
        mesh = numpy.einsum("ij,ij->i", a, numpy.cross(b, c)).sum() / 6
        h = CELL / 2
        ours = numpy.clip(0.5 - array / h, 0, 1).sum() * h ** 3
        print(f"surface: {1e3 * ours:.3f} l in the level set, {1e3 * mesh:.3f} l in the mesh")
        self.assertLess(abs(ours / mesh - 1), 0.01)

    def test_velocity_is_staggered_on_lower_faces(self):
        grid = self.grids["vel"]
        array, low = dense(grid)
        points, velocity = self.values[:, :3], self.values[:, 3:6]
        at = to_index(grid, points) - low
        ours = numpy.empty_like(velocity)
        for axis in range(3):
            moved = at.copy()
            moved[:, axis] += 0.5
            ours[:, axis] = sample(array[..., axis], moved)
        off = numpy.linalg.norm(ours - velocity, axis=1)
        # Drops by themselves fly with their particle's velocity.
        print(f"vel: {numpy.quantile(off, 0.95):.2e} m/s off at 95 % of the vertices, {numpy.linalg.norm(velocity, axis=1).max():.2f} m/s the fastest")
        self.assertLess(numpy.quantile(off, 0.95), 1e-5)

    def test_pressure_of_water_at_rest_grows_with_depth(self):
        grids, _ = pyopenvdb.readAll(str(self.folder / "tank/vdb/0004.vdb"))
        pressure = next(g for g in grids if g.name == "pressure")
        worst = 0
        for item in pressure.citerOnValues():
            if item.count == 1:
                x, y, z = pressure.transform.indexToWorld(item.min)
                worst = max(worst, abs(item.value - 1000 * 9.81 * (0.3 - y)))
        print(f"pressure: at most {worst:.2f} Pa from that of the depth, of {1000 * 9.81 * 0.3:.0f} Pa at the floor")
        self.assertLess(worst, 0.02 * 1000 * 9.81 * 0.3)
        self.assertNotIn("viscosity", [g.name for g in grids if g.activeVoxelCount() == 0])

    def test_viscosity_and_solids_are_those_of_the_scene(self):
        values = {item.value for item in self.grids["viscosity"].citerOnValues()}
        self.assertEqual(values, {5.0})
        grid = self.grids["collision"]
        centre, radius = SPHERE
        checked = 0
        for item in grid.citerOnValues():
            x = numpy.array(grid.transform.indexToWorld(item.min))
            walls = min(x[0], 0.8 - x[0], x[1], 0.5 - x[1], x[2], 0.4 - x[2])
            exact = numpy.linalg.norm(x - centre) - radius
            # Where two solids meet, the mean of nodes round a centre is not the distance.
            if item.count == 1 and abs(exact) < 1.5 * CELL and walls > exact + 2 * CELL:
                self.assertLess(abs(item.value - exact), 0.25 * CELL, x)
                checked += 1
        self.assertGreater(checked, 200)

    def test_a_stage_refers_to_the_volumes(self):
        text = (self.folder / "tank/liquid.usda").read_text()
        self.assertIn("4: @./vdb/0004.vdb@", text)
        self.assertIn("./surface/####.usdc", text)
        self.assertIn("4: @./vdb/0004.vdb@", (self.folder / "dam/liquid.usda").read_text())

    def test_a_file_is_no_more_than_a_tenth_larger_than_openvdbs_own(self):
        # A ball whose band lies in 256 voxels a side.
        n, radius = 200, 1.0
        u, v = numpy.meshgrid(numpy.linspace(0, numpy.pi, n), numpy.linspace(0, 2 * numpy.pi, 2 * n, endpoint=False), indexing="ij")
        points = radius * numpy.stack([numpy.sin(u) * numpy.cos(v), numpy.cos(u), numpy.sin(u) * numpy.sin(v)], axis=-1).reshape(-1, 3)
        a = (numpy.arange(n - 1)[:, None] * 2 * n + numpy.arange(2 * n)).ravel()
        b = (numpy.arange(n - 1)[:, None] * 2 * n + (numpy.arange(2 * n) + 1) % (2 * n)).ravel()
        triangles = numpy.concatenate([numpy.stack([a, b, a + 2 * n], 1), numpy.stack([b, b + 2 * n, a + 2 * n], 1)])
        write_ply(self.folder / "ball.ply", points, triangles)
        voxel = 2.0 / 250
        run("cache", "convert", self.folder / "ball.ply", self.folder / "ball.vdb", "--voxel", voxel)
        ours = (self.folder / "ball.vdb").stat().st_size
        theirs = pyopenvdb.FloatGrid.createLevelSetFromPolygons(
            points.astype(numpy.float32), triangles=triangles.astype(numpy.uint32),
            transform=pyopenvdb.createLinearTransform(voxelSize=voxel), halfWidth=3.0)
        theirs.name = "surface"
        pyopenvdb.write(str(self.folder / "theirs.vdb"), grids=[theirs])
        size = (self.folder / "theirs.vdb").stat().st_size
        low, high = theirs.evalActiveVoxelBoundingBox()
        print(f"VDB: {ours} bytes, OpenVDB's own {size}, ratio {ours / size:.4f}, band {numpy.array(high) - low + 1}")
        self.assertLessEqual(ours, 1.1 * size)
        grid = pyopenvdb.readAll(str(self.folder / "ball.vdb"))[0][0]
        # OpenVDB measures the voxels at the surface and extends their distances into the band.
        near = [i for n, i in enumerate(grid.citerOnValues()) if n % 50 == 0 and i.count == 1 and abs(i.value) < voxel]
        off = [abs(numpy.linalg.norm(grid.transform.indexToWorld(i.min)) - 1 - i.value) for i in near]
        print(f"VDB: distances of {len(off)} voxels at a ball at most {max(off) / voxel:.3f} voxels off")
        self.assertLess(max(off), 0.05 * voxel)

    def test_a_level_set_becomes_a_mesh_again(self):
        run("cache", "convert", self.folder / "dam/vdb/0005.vdb", self.folder / "back.ply")
        values, triangles = ply(self.folder / "back.ply")
        a, b, c = (values[triangles[:, k], :3].astype(float) for k in range(3))
        volume = numpy.einsum("ij,ij->i", a, numpy.cross(b, c)).sum() / 6
        a, b, c = (self.values[self.triangles[:, k], :3].astype(float) for k in range(3))
        before = numpy.einsum("ij,ij->i", a, numpy.cross(b, c)).sum() / 6
        self.assertGreater(volume, 0)
        self.assertLess(abs(volume / before - 1), 0.01)
        self.assertEqual(values.shape[1], 6)

    def test_a_cache_becomes_level_sets(self):
        run("cache", "convert", self.folder / "tank", self.folder / "sets", "--to", "vdb")
        grids, _ = pyopenvdb.readAll(str(self.folder / "sets/0003.vdb"))
        self.assertEqual([g.name for g in grids], ["surface"])


if __name__ == "__main__":
    unittest.main()
