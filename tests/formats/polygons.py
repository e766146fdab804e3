"""PLY, OBJ and VTK read by meshio, trimesh and VTK itself, and their sizes beside those that these make."""

import json
import os
import pathlib
import subprocess
import tempfile
import unittest

import meshio
import numpy
import pyvista
import trimesh

COMMAND = os.environ["MENISCUS_COMMAND"]
SCENE = {
    "meniscus": 1,
    "name": "dam",
    "frames": [1, 4],
    "domain": {"min": [0, 0, 0], "max": [0.8, 0.5, 0.4]},
    "resolution": {"divisions": 32},
    "outputs": {"particles": True},
    "initial": [{"shape": {"box": {"min": [0, 0, 0], "max": [0.3, 0.3, 0.4]}}}],
}
LATTICE = {**SCENE, "simulator": {"type": "bcc"}, "outputs": {"cells": True, "surface": "vtp", "wall_overlap": 0}, "frames": [1, 2],
           "resolution": {"divisions": 16}}


class Polygons(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.keep = tempfile.TemporaryDirectory(prefix="meniscus_polygons_")
        cls.folder = pathlib.Path(cls.keep.name)
        (cls.folder / "scene.json").write_text(json.dumps(SCENE))
        (cls.folder / "lattice.json").write_text(json.dumps(LATTICE))
        cls.run_command("run", "scene.json", "-o", "cache", "--no-report", "--progress", "none")
        cls.run_command("run", "lattice.json", "-o", "bcc", "--no-report", "--progress", "none")
        for ending in ("obj", "vtp", "usda"):
            cls.run_command("cache", "convert", "cache", ending, "--to", ending)
        cls.truth = meshio.read(cls.folder / "cache/surface/0004.ply")

    @classmethod
    def tearDownClass(cls):
        cls.keep.cleanup()

    @classmethod
    def run_command(cls, *words):
        subprocess.run([COMMAND, *words], cwd=cls.folder, check=True, stdout=subprocess.DEVNULL)

    def velocity(self):
        return numpy.stack([self.truth.point_data[n] for n in ("vx", "vy", "vz")], axis=1)

    def test_ply_is_the_same_for_two_readers(self):
        other = trimesh.load(self.folder / "cache/surface/0004.ply", process=False)
        numpy.testing.assert_array_equal(other.vertices.astype("f4"), self.truth.points.astype("f4"))
        numpy.testing.assert_array_equal(other.faces, self.truth.cells_dict["triangle"])
        raw = other.metadata["_ply_raw"]["vertex"]["data"]
        numpy.testing.assert_array_equal(numpy.stack([raw[n] for n in ("vx", "vy", "vz")], 1).reshape(-1, 3), self.velocity())
        self.assertGreater(abs(self.velocity()).max(), 0.1)

    def test_obj_keeps_places_and_other_readers_pass_over_its_comments(self):
        for found in (meshio.read(self.folder / "obj/surface/0004.obj"), trimesh.load(self.folder / "obj/surface/0004.obj", process=False)):
            points = found.points if hasattr(found, "points") else found.vertices
            faces = found.cells_dict["triangle"] if hasattr(found, "cells_dict") else found.faces
            numpy.testing.assert_array_equal(numpy.asarray(points).astype("f4"), self.truth.points.astype("f4"))
            numpy.testing.assert_array_equal(faces, self.truth.cells_dict["triangle"])

    def test_velocities_come_back_from_every_format_to_the_last_bit(self):
        for ending in ("obj", "vtp", "usda"):
            self.run_command("cache", "convert", ending, f"{ending}_back", "--to", "ply")
            back = meshio.read(self.folder / f"{ending}_back/surface/0004.ply")
            numpy.testing.assert_array_equal(back.points, self.truth.points)
            numpy.testing.assert_array_equal(numpy.stack([back.point_data[n] for n in ("vx", "vy", "vz")], 1), self.velocity())

    def test_vtp_surfaces_are_read_by_vtk(self):
        found = pyvista.read(self.folder / "vtp/surface/0004.vtp")
        numpy.testing.assert_array_equal(found.points, self.truth.points.astype("f4"))
        numpy.testing.assert_array_equal(found.faces.reshape(-1, 4)[:, 1:], self.truth.cells_dict["triangle"])
        numpy.testing.assert_array_equal(found["velocity"], self.velocity())
        theirs = self.folder / "theirs.vtp"
        found.save(theirs)
        sizes = (self.folder / "vtp/surface/0004.vtp").stat().st_size, theirs.stat().st_size
        print(f"VTP: {sizes[0]} bytes, VTK's writer {sizes[1]}, ratio {sizes[0] / sizes[1]:.3f}")
        self.assertLessEqual(*sizes)

    def test_ply_and_obj_are_no_larger_than_others_write_them(self):
        # The same points, triangles and velocities by meshio; OBJ has no place for velocities, so both are without.
        points, faces = self.truth.points.astype("f4"), self.truth.cells_dict["triangle"].astype("i4")
        data = {n: self.truth.point_data[n].astype("f4") for n in ("vx", "vy", "vz")}
        meshio.write(self.folder / "theirs.ply", meshio.Mesh(points, [("triangle", faces)], data))
        meshio.write(self.folder / "bare.ply", meshio.Mesh(points, [("triangle", faces)]))
        meshio.write(self.folder / "theirs.obj", meshio.Mesh(points, [("triangle", faces)]))
        self.run_command("cache", "convert", "bare.ply", "ours.obj")
        for ours, theirs in (("cache/surface/0004.ply", "theirs.ply"), ("ours.obj", "theirs.obj")):
            sizes = (self.folder / ours).stat().st_size, (self.folder / theirs).stat().st_size
            print(f"{theirs[-3:].upper()}: {sizes[0]} bytes, meshio's writer {sizes[1]}, ratio {sizes[0] / sizes[1]:.3f}")
            self.assertLessEqual(*sizes)

    def test_what_liquid_carries_is_read_by_others_to_the_last_bit(self):
        scene = dict(SCENE, frames=[1, 3], outputs={"particles": True, "attributes": ["age", "viscosity"]})
        scene["initial"] = [dict(SCENE["initial"][0], attributes={"Cd": [0.9, 0.3, 0.1], "heat": 7})]
        (self.folder / "carried.json").write_text(json.dumps(scene))
        self.run_command("run", "carried.json", "-o", "carried", "--no-report", "--progress", "none")
        self.run_command("cache", "convert", "carried", "carried_vtp", "--to", "vtp")
        self.run_command("cache", "convert", "carried", "carried_points", "--particles", "--to", "vtp")
        for mesh, ply in (("carried_vtp/surface/0003.vtp", "carried/surface/0003.ply"), ("carried_points/0003.vtp", "carried/particles/0003.ply")):
            ours, theirs = pyvista.read(self.folder / mesh), meshio.read(self.folder / ply)
            for name in ("age", "viscosity", "heat"):
                numpy.testing.assert_array_equal(ours[name], theirs.point_data[name])
            numpy.testing.assert_array_equal(ours["Cd"], numpy.stack([theirs.point_data[f"Cd_{c}"] for c in range(3)], axis=1))
            self.assertEqual(set(theirs.point_data["heat"]), {7.0})
            self.assertGreater(theirs.point_data["age"].max(), 0)

    def test_vtp_particles_keep_their_numbers(self):
        self.run_command("cache", "convert", "cache", "points", "--particles", "--to", "vtp")
        found = pyvista.read(self.folder / "points/0004.vtp")
        truth = meshio.read(self.folder / "cache/particles/0004.ply")
        numpy.testing.assert_array_equal(found.points, truth.points.astype("f4"))
        numpy.testing.assert_array_equal(found["id"], truth.point_data["id"])
        numpy.testing.assert_array_equal(found["velocity"][:, 1], truth.point_data["vy"])
        self.assertEqual(found.n_verts, len(truth.points))

    def test_vtu_cells_are_read_by_vtk(self):
        path = self.folder / "bcc/cells/0002.vtu"
        found = pyvista.read(path)
        self.assertTrue((found.celltypes == pyvista.CellType.TETRA).all() and found.n_cells > 1000)
        self.assertEqual(set(found.cell_data.keys()), {"cell", "width", "pressure", "liquid", "velocity"})
        # The tets fill the box of the lattice and none is inside out.
        volumes = found.compute_cell_sizes(length=False, area=False)["Volume"]
        self.assertGreater(volumes.min(), 0)
        low, high = found.points.min(axis=0), found.points.max(axis=0)
        self.assertAlmostEqual(volumes.sum() / numpy.prod(high - low), 1, 6)
        wet = found["liquid"] < 0
        print(f"VTU: {1e3 * volumes[wet].sum():.1f} l in cells of liquid of 36 l")
        self.assertLess(abs(volumes[wet].sum() / 0.036 - 1), 0.15)
        theirs = self.folder / "theirs.vtu"
        found.save(theirs)
        sizes = path.stat().st_size, theirs.stat().st_size
        print(f"VTU: {sizes[0]} bytes, VTK's writer {sizes[1]}, ratio {sizes[0] / sizes[1]:.3f}")
        self.assertLessEqual(*sizes)
        surface = pyvista.read(self.folder / "bcc/surface/0002.vtp")
        self.assertLess(abs(surface.volume / 0.036 - 1), 0.05)


if __name__ == "__main__":
    unittest.main()
