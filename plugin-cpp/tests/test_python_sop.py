"""The Python SOP with a stand-in for `hou`."""

import json
import math
import pathlib
import sys
import unittest

import numpy

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "houdini" / "python")]

import fake_hou  # noqa: E402
import meniscus  # noqa: E402
import meniscus_sop  # noqa: E402

# Houdini's polygons turn clockwise seen from outside.
QUADS = [[2, 6, 4, 0], [5, 7, 3, 1], [4, 5, 1, 0], [3, 7, 6, 2], [1, 3, 2, 0], [6, 7, 5, 4]]


def box(low, high, angle=0.0):
    corners = numpy.array([[(low, high)[i >> a & 1][a] for a in range(3)] for i in range(8)], float)
    c, s = math.cos(angle), math.sin(angle)
    middle = corners.mean(axis=0)
    turned = (corners - middle) @ numpy.array([[c, s, 0], [-s, c, 0], [0, 0, 1]]) + middle
    return fake_hou.Geometry(turned, [fake_hou.Prim(q) for q in QUADS])


def pool(_frame):
    return box((0, 0, 0), (0.16, 0.2, 0.2))


def node(paddle=True, **parms):
    inputs = [fake_hou.Input(pool)]
    if paddle:
        inputs.append(fake_hou.Input(lambda f: box((0.2, 0.02, 0.02), (0.24, 0.2, 0.18), 0.1 * f), moves=True))
    settings = dict(particlesep=0.02, startframe=1001, domain_min=(0.0, 0.0, 0.0), domain_max=(0.4, 0.3, 0.2), collider_samples=2)
    return fake_hou.Node(inputs, **{**settings, **parms})


def cook(sop, frame, session=None):
    session = session or fake_hou.Session()
    session.now = frame
    meniscus_sop.cook(sop, session)
    return sop.geometry()


class PythonSop(unittest.TestCase):
    def test_a_jump_gives_the_bits_of_playing_through(self):
        played, jumped = node(viscosity=lambda f: 0.01 * f), node(viscosity=lambda f: 0.01 * f)
        for frame in range(1001, 1009):
            a = cook(played, frame)
        b = cook(jumped, 1008)
        numpy.testing.assert_array_equal(a.positions, b.positions)
        numpy.testing.assert_array_equal(a.attributes["v"], b.attributes["v"])
        self.assertGreater(len(a.prims()), 100)
        self.assertIn(1004.5, jumped._inputs[1].reads)

    def test_a_jump_back_restores_the_nearest_state(self):
        through, sop = node(), node(cachemaxsize=0.0)
        expected = cook(through, 1013).positions
        cook(sop, 1016)
        numpy.testing.assert_array_equal(cook(sop, 1013).positions, expected)

    def test_a_changed_value_resets_and_an_animated_one_does_not(self):
        sop = node(viscosity=lambda f: 0.1 * f)
        cook(sop, 1003)
        first = meniscus_sop._shots[sop.sessionId()]
        sop.set(viscosity=lambda f: 0.2 * f)
        cook(sop, 1004)
        self.assertIs(meniscus_sop._shots[sop.sessionId()], first)
        sop.set(viscosity=5.0)
        cook(sop, 1004)
        self.assertIsNot(meniscus_sop._shots[sop.sessionId()], first)

    def test_escape_shows_the_last_whole_frame(self):
        sop, session = node(), fake_hou.Session()
        cook(sop, 1002, session)
        before = sop.geometry().positions
        session.stop = lambda percent: True
        cook(sop, 1009, session)
        numpy.testing.assert_array_equal(sop.geometry().positions, before)

    def test_what_is_wrong_is_said(self):
        empty = fake_hou.Node([fake_hou.Input(lambda f: fake_hou.Geometry())])
        with self.assertRaisesRegex(fake_hou.NodeError, "nothing to simulate"):
            cook(empty, 1)
        with self.assertRaisesRegex(fake_hou.NodeError, "flip_blend"):
            cook(node(paddle=False, flip_blend=7.0), 1001)

    def test_the_surface_looks_outward(self):
        geometry = cook(node(paddle=False, wall_overlap=0.0), 1002)
        triangles = numpy.array([p.corners for p in geometry.prims()])
        a, b, c = (geometry.positions[triangles[:, i]].astype(float) for i in range(3))
        # Houdini's normal of a clockwise triangle leaves the liquid: the enclosed volume is negative by the other rule.
        volume = -numpy.einsum("ij,ij->i", a, numpy.cross(b, c)).sum() / 6
        self.assertAlmostEqual(volume / geometry.details["sim_volume"], 1, delta=0.2)


class Table(unittest.TestCase):
    def setUp(self):
        self.table = json.loads((HERE.parent / "node" / "parameters.json").read_text())

    def test_rows_are_complete(self):
        folders = {f["name"] for f in self.table["folders"]}
        names = [r["name"] for r in self.table["parameters"]]
        self.assertEqual(len(names), len(set(names)))
        for row in self.table["parameters"]:
            self.assertIn(row["folder"], folders, row["name"])
            for key in ("label", "type", "of", "effect", "animated", "level", "does", "cost", "touch"):
                self.assertIn(key, row, row["name"])
            for key in ("does", "touch"):
                self.assertTrue(row[key].endswith("."), row[key])
            if row["type"] == "menu":
                self.assertIn(row["default"], [i["value"] for i in row["items"]])
            if "when" in row:
                self.assertIn(row["when"][0], names)

    def test_presets_are_those_of_the_library(self):
        scene = {"meniscus": 1, "domain": {"min": [0, 0, 0], "max": [1, 1, 1]}}
        preset = next(r for r in self.table["parameters"] if r["name"] == "preset")
        for item in preset["items"]:
            if "sets" in item:
                meniscus.estimate({**scene, "liquids": [{"preset": item["value"]}]})
        with self.assertRaises(meniscus.Error) as refused:
            meniscus.estimate({**scene, "liquids": [{"preset": "none such"}]})
        for item in preset["items"][1:]:
            self.assertIn(item["value"], str(refused.exception))


if __name__ == "__main__":
    unittest.main()
