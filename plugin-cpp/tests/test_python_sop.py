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


def box(low, high, angle=0.0, name="", **values):
    corners = numpy.array([[(low, high)[i >> a & 1][a] for a in range(3)] for i in range(8)], float)
    c, s = math.cos(angle), math.sin(angle)
    middle = corners.mean(axis=0)
    turned = (corners - middle) @ numpy.array([[c, s, 0], [-s, c, 0], [0, 0, 1]]) + middle
    return fake_hou.Geometry(turned, [fake_hou.Prim(q, name, **values) for q in QUADS])


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


    def test_an_animated_tap_opens_closes_and_follows_its_rate(self):
        tap = fake_hou.Input(lambda f: box((0.16, 0.2, 0.06), (0.24, 0.28, 0.14), source_mode="emit"))
        settings = dict(particlesep=0.01, domain_min=(0.0, 0.0, 0.0), domain_max=(0.4, 0.3, 0.2), source_velocity=(0.0, -1.0, 0.0))
        def booked(sop, frame):
            details = cook(sop, frame).details
            return details["sim_volume"] / (1 + details["sim_volume_error"])

        shut = fake_hou.Node([tap], active=lambda f: f < 4, rate=lambda f: 600.0, **settings)
        early, late = booked(shut, 4), booked(shut, 9)
        opened = fake_hou.Node([tap], active=True, rate=lambda f: 600.0 if f < 4 else 2000.0, **settings)
        poured = booked(opened, 9) - booked(opened, 4)
        self.assertLess(abs(late - early), 0.03e-3)
        # Five frames of two litres a second, and at most once more what the region below the tap holds.
        self.assertTrue(0.4e-3 < poured < 0.4167e-3 + 0.512e-3, poured)

    def test_what_is_painted_on_a_source_comes_out_by_its_name(self):
        def pool(frame):
            made = box((0, 0, 0), (0.16, 0.2, 0.2))
            right = (made.positions[:, :1] > 0.1).astype(numpy.float32)
            made.attributes = {"viscosity": 60 * (1 - right) - right, "heat": right, "Cd": numpy.repeat(right, 3, axis=1), "rest": made.positions}
            return made

        sop = node(paddle=False, carry="* ^rest", viscosity=2.0)
        sop._inputs[0] = fake_hou.Input(pool)
        out = cook(sop, 1002)
        self.assertNotIn("rest", out.attributes)
        self.assertEqual(out.attributes["Cd"].shape, (len(out.positions), 3))
        left, right = out.positions[:, 0] < 0.03, out.positions[:, 0] > 0.14
        self.assertGreater(out.attributes["viscosity"][left].mean(), 25)
        self.assertLess(out.attributes["viscosity"][right].mean(), 15)
        self.assertGreaterEqual(out.attributes["viscosity"].min(), 1.99)
        self.assertGreater(out.attributes["heat"][right].mean(), out.attributes["heat"][left].mean() + 0.5)

    def test_paint_that_changes_follows_the_frame_rule(self):
        def tap(frame):
            made = box((0.16, 0.2, 0.06), (0.24, 0.28, 0.14), source_mode="emit")
            made.attributes = {"heat": numpy.full((8, 1), frame - 1000, numpy.float32)}
            return made

        def made():
            sop = node(paddle=False, source_velocity=(0.0, -1.0, 0.0))
            sop._inputs[0] = fake_hou.Input(tap, moves=True)
            return sop

        played, jumped = made(), made()
        for frame in range(1001, 1008):
            a = cook(played, frame)
        b = cook(jumped, 1007)
        numpy.testing.assert_array_equal(a.attributes["heat"], b.attributes["heat"])
        self.assertGreater(numpy.ptp(a.attributes["heat"]), 3)
        self.assertTrue(0.9 < a.attributes["heat"].min() and a.attributes["heat"].max() < 7.1)

    def test_friction_is_painted_on_colliders(self):
        floor = box((-0.1, -0.06, -0.1), (0.5, 0.04, 0.3))
        floor.attributes = {"friction": numpy.full((8, 1), 0.6, numpy.float32)}
        def speed(input):
            sop = node(paddle=False, wall=2, source_velocity=(1.0, 0.0, 0.0))
            sop._inputs = [fake_hou.Input(lambda f: box((0, 0.04, 0), (0.12, 0.1, 0.2))), fake_hou.Input(lambda f: input)]
            return cook(sop, 1004).attributes["v"][:, 0].mean()

        self.assertLess(speed(floor), 0.8 * speed(box((-0.1, -0.06, -0.1), (0.5, 0.04, 0.3))))

    def test_forces_push_and_may_move(self):
        def pull(f):
            points = fake_hou.Geometry([(0.4, 0.05 + 0.01 * (f - 1000), 0.1)])
            points.attributes = {"strength": numpy.array([[30.0]], numpy.float32), "radius": numpy.array([[1.0]], numpy.float32)}
            return points

        def middle(sop):
            return cook(sop, 1005).positions[:, 0].mean()

        still, pulled = node(paddle=False), node(paddle=False)
        pulled._inputs = [pulled._inputs[0], None, None, None, fake_hou.Input(pull, moves=True)]
        self.assertGreater(middle(pulled), middle(still) + 0.01)
        self.assertIn(1004, pulled._inputs[4].reads)

    def test_attributes_go_before_the_panel(self):
        def thick(f):
            left, right = box((0, 0, 0), (0.08, 0.2, 0.2), name="water"), box((0.32, 0, 0), (0.4, 0.2, 0.2), name="honey")
            prims = [fake_hou.Prim(p.corners, "water", viscosity=-1.0) for p in left.prims()]
            prims += [fake_hou.Prim([c + 8 for c in p.corners], "honey", viscosity=100.0) for p in right.prims()]
            return fake_hou.Geometry(numpy.concatenate([left.positions, right.positions]), prims)

        sop = node(paddle=False)
        sop._inputs = [fake_hou.Input(thick)]
        cooked = cook(sop, 1006)
        found = cooked.positions
        self.assertGreater(cooked.attributes["viscosity"][found[:, 0] > 0.34].min(), 50)
        self.assertGreater(found[found[:, 0] > 0.34][:, 1].max(), found[found[:, 0] < 0.06][:, 1].max() + 0.02)
        # A collider's friction is painted if it is on points, and a density is on the detail of a body.
        work = meniscus_sop.Cook(sop, fake_hou.Session())
        rock = box((0, 0, 0), (1, 1, 1))
        rock.attributes["friction"] = numpy.full((8, 1), 0.25, numpy.float32)
        read = meniscus_sop.pieces(rock, "collider", work.panel, fake_hou.Session(), 1001)["collider"]
        self.assertEqual((read.own, read.painted["friction"].tolist()), ({}, [[0.25]] * 8))
        rock = box((0, 0, 0), (1, 1, 1))
        rock.details["density"] = 7800.0
        self.assertEqual(meniscus_sop.pieces(rock, "body", work.panel, fake_hou.Session(), 1001)["body"].own, {"body_density": 7800.0})

    def test_bodies_and_particles_come_out(self):
        sop = node(paddle=False, output=2)
        stone = fake_hou.Input(lambda f: box((0.2, 0.2, 0.05), (0.26, 0.26, 0.11), name="stone", density=3000.0))
        sop._inputs = [sop._inputs[0], None, None, stone]

        def lowest(frame):
            geometry = cook(sop, frame)
            used = [c for p in geometry.prims() if p.name == "stone" for c in p.corners]
            return geometry.positions[used][:, 1].min()

        self.assertAlmostEqual(lowest(1001), 0.2, places=6)
        # Three frames of free fall are 77 mm.
        self.assertTrue(0.12 < lowest(1004) < 0.15)
        geometry = sop.geometry()
        ids = geometry.attributes["id"].ravel()
        self.assertGreater(len(set(ids.tolist())), 700)
        self.assertTrue((geometry.attributes["pscale"][ids > 0] == numpy.float32(0.01)).all())
        # With the surface alone there are fewer points, and asking for particles later computes the frame anew.
        sop.set(output=0)
        few = len(cook(sop, 1004).positions)
        sop.set(output=1, output_bodies=0)
        self.assertGreater(len(cook(sop, 1004).positions), 700)
        self.assertNotEqual(few, len(sop.geometry().positions))

    def test_states_do_not_grow_without_end(self):
        sop = node(paddle=False, cachemaxsize=0.0, checkpoint_every=1)
        cook(sop, 1012)
        shot = meniscus_sop._shots[sop.sessionId()]
        self.assertEqual(len(shot.frames), 1)
        self.assertLessEqual(len(shot.states), 2)
        self.assertIn(1001, shot.states)

    def test_what_cannot_be_animated_is_said(self):
        sop = node(paddle=False, density=lambda f: 1000.0 + f)
        with self.assertRaisesRegex(fake_hou.NodeWarning, "Density: is animated"):
            cook(sop, 1002)
        self.assertGreater(len(sop.geometry().positions), 100)

    def test_the_panel_is_that_of_the_compiled_node_and_its_buttons_work(self):
        sop, session = fake_hou.Node([fake_hou.Input(pool)]), fake_hou.Session()
        meniscus_sop.add_parameters(sop, session)
        names = {t.name for t in sop.templates}
        self.assertTrue({"viscosity", "particlesep", "simulator", "rate", "reset", "sim_volume"} - names <= {"sim_volume"})
        self.assertFalse(names & meniscus_sop.NOT_HERE)
        detail = next(t for t in sop.templates if t.name == "detail")
        self.assertEqual(detail.conditions, {"hidewhen": "{ simulator != bcc }"})
        # The scripts of the buttons run as Houdini runs them.
        preset = next(t for t in sop.templates if t.name == "preset")
        sop.set(preset=11)
        exec(preset.options["script_callback"], {"kwargs": {"node": sop}})
        self.assertEqual((sop.parm("viscosity").value, sop.parm("density").value), (23.0, 1420.0))
        sop._tuples["domain_min"] = [fake_hou.Parm(0.0)] * 3
        sop.set(particlesep=0.03)
        cook(sop, 2, session)
        shot = meniscus_sop._shots[sop.sessionId()]
        reset = next(t for t in sop.templates if t.name == "reset")
        exec(reset.options["script_callback"], {"kwargs": {"node": sop}})
        self.assertEqual(sop.cooked, 1)
        cook(sop, 2, session)
        self.assertIsNot(meniscus_sop._shots[sop.sessionId()], shot)

    def test_a_menu_that_points_nowhere_is_its_default(self):
        self.assertGreater(len(cook(node(paddle=False, wall=99, output=-3), 1001).positions), 100)


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
