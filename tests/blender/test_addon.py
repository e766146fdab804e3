"""The shipped zip in a real Blender: installed, used as an artist would, and removed.

    python test_addon.py ZIP FOLDER [TEST ...]      the tests run in their order and build on each other
"""

import importlib
import json
import math
import os
import pathlib
import signal
import subprocess
import sys
import time
import traceback
import types
import unittest

import bpy
import numpy

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from layout import Layout

ZIP, FOLDER = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
NAME = "bl_ext.user_default.meniscus_liquids"
BLEND = FOLDER / "pour.blend"


def part(name):
    return importlib.import_module(f"{NAME}.{name}")


def domain():
    return bpy.data.objects["Domain"]


def settings():
    return domain().meniscus.domain


def evaluated(frame):
    """World positions and the mesh of the liquid at a frame."""
    bpy.context.scene.frame_set(frame)
    obj = settings().result.evaluated_get(bpy.context.evaluated_depsgraph_get())
    points = numpy.empty(3 * len(obj.data.vertices), numpy.float32)
    obj.data.vertices.foreach_get("co", points)
    matrix = numpy.array(obj.matrix_world)
    return points.reshape(-1, 3) @ matrix[:3, :3].T + matrix[:3, 3], obj.data


def frame_bytes(cache, frame):
    return (pathlib.Path(cache) / f"surface/{frame:04d}.usdc").read_bytes()


def event(kind):
    return types.SimpleNamespace(type=kind)


def quiet():
    """Seconds on the wall less those in which this thread could have run and others had the processor."""
    waited = int(pathlib.Path("/proc/thread-self/schedstat").read_text().split()[1])
    return time.monotonic() - 1e-9 * waited


def drawn(panel="draw_bake"):
    """What the buttons and the readout of the domain say."""
    layout = Layout()
    if panel == "draw_bake":
        part("panels").draw_bake(layout, bpy.context, domain())
    else:
        context = types.SimpleNamespace(object=domain(), scene=bpy.context.scene)
        getattr(part("panels"), panel).draw(types.SimpleNamespace(layout=layout), context)
    return layout.texts()


def exported(folder="exported"):
    exporter = part("export").Exporter(bpy.context, domain(), FOLDER / folder)
    for _ in exporter.steps():
        pass
    return exporter


def keys_of(obj):
    """Frames of the keys of an object, and its place in the world at each."""
    found = {}
    for curve in part("playback").curves(obj.animation_data.action if obj.animation_data else None):
        for key in curve.keyframe_points:
            found[int(key.co[0])] = None
    now = bpy.context.scene.frame_current
    for frame in sorted(found):
        bpy.context.scene.frame_set(frame)
        found[frame] = obj.matrix_world.translation.copy()
    bpy.context.scene.frame_set(now)
    return found


def fails(operator, *words, **options):
    """An operator that must say an error with these words, and must not harm Blender."""
    try:
        operator(**options)
    except RuntimeError as error:
        for word in words:
            assert word in str(error), (word, str(error))
        return str(error)
    raise AssertionError(f"{operator} went through")


class Driver:
    """The modal bake with events that nobody typed."""

    def __new__(cls, kind="BakeBase", **options):
        base = part("bake").BakeBase

        class Bake(base):
            said = []

            def report(self, kind, text):
                self.said.append((kind, text))

            def job_options(self, _context, _domain):
                return options

        made = Bake()
        made.begin(bpy.context)
        made.timer = None
        return made


def drive(driver, until, limit=400.0):
    """Timer events until something is true; returns the longest time of the main thread outside the export."""
    longest, end = 0.0, time.monotonic() + limit
    while not until():
        assert time.monotonic() < end, "too slow"
        exporting = driver.job.stage == "export"
        begin = quiet()
        result = driver.modal(bpy.context, event("TIMER"))
        if not exporting:
            longest = max(longest, quiet() - begin)
        if driver.job.finished:
            driver.result = result
            break
        time.sleep(0.02)
    return longest


class AddOn(unittest.TestCase):
    def test_01_the_zip_installs(self):
        bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
        bpy.ops.extensions.package_install_files(repo="user_default", filepath=str(ZIP), enable_on_install=True)
        self.assertIn(NAME, bpy.context.preferences.addons)
        import meniscus

        self.assertIn("site-packages", str(meniscus.command()))
        self.assertTrue(os.access(meniscus.command(), os.X_OK))
        self.assertTrue(meniscus.version())

    def test_02_an_empty_scene_becomes_a_pour_in_nine_actions(self):
        scene = bpy.context.scene
        scene.frame_end = 10
        # The nine actions of docs/blender.md.
        bpy.ops.mesh.primitive_cube_add(size=0.2, location=(0, 0, 0.1))
        bpy.ops.meniscus.set_role(role="DOMAIN")
        bpy.ops.mesh.primitive_uv_sphere_add(radius=0.04, location=(0, 0, 0.04))
        bpy.ops.meniscus.set_role(role="OBSTACLE")
        bpy.ops.mesh.primitive_cylinder_add(radius=0.015, depth=0.02, location=(0.01, 0, 0.17))
        bpy.ops.meniscus.set_role(role="INFLOW")
        bpy.context.object.meniscus.source.rate = 100
        bpy.ops.wm.save_as_mainfile(filepath=str(BLEND))
        bpy.data.objects["Cube"].name = "Domain"
        settings().divisions = 28  # so that the test is quick
        settings().preset = "water"
        self.assertEqual(bpy.ops.meniscus.bake(), {"FINISHED"})
        self.assertEqual(part("job").baked_frames(domain()), list(range(1, 11)))
        points, mesh = evaluated(10)
        self.assertGreater(len(points), 200)
        self.assertIn("velocity", mesh.attributes)
        self.assertTrue((points.min(0) > [-0.11, -0.11, -0.01]).all() and (points.max(0) < [0.11, 0.11, 0.21]).all())
        # Water falls along Blender's -Z, and velocity is in metres a second of the object's own axes.
        speed = numpy.empty(3 * len(mesh.vertices), numpy.float32)
        mesh.attributes["velocity"].data.foreach_get("vector", speed)
        self.assertLess(speed.reshape(-1, 3)[:, 1].min(), -0.2)
        self.assertEqual(len(mesh.materials), 1)
        smooth = numpy.empty(len(mesh.polygons), bool)
        mesh.polygons.foreach_get("use_smooth", smooth)
        self.assertTrue(smooth.all(), "the surface is shaded smoothly")
        # After the bake the panel still says what became of the shown frame.
        said = drawn("MENISCUS_PT_stats")
        self.assertIn("ml of", said)
        self.assertIn("substeps (", said)
        bpy.context.scene.frame_set(400)
        self.assertIn("Frame 400 is not baked", drawn("MENISCUS_PT_stats"))
        report = json.loads((part("job").cache_folder(domain()) / "report/0010.json").read_text())
        # 100 ml/s for nine frames, and the first filling of the spout: at most its cylinder, a cell larger on every side.
        cell = 0.2 / 28
        spout = 1000 * math.pi * (0.015 + cell) ** 2 * (0.02 + 2 * cell)
        self.assertTrue(0.0374 < report["litres_expected"] < 0.0375 + spout, report["litres_expected"])

    def test_03_the_exported_scene_gives_the_same_bits(self):
        import meniscus

        farm = FOLDER / "farm"
        bpy.ops.meniscus.export_farm(directory=str(farm))
        words = [str(meniscus.command()), "run", str(farm / "Domain.json"), "-o", str(farm / "frames"), "--progress", "none"]
        subprocess.run(words, check=True, cwd=FOLDER)
        cache = part("job").cache_folder(domain())
        for frame in range(1, 11):
            self.assertEqual(frame_bytes(cache, frame), frame_bytes(farm / "frames", frame), frame)

    def test_04_a_changed_value_only_marks_the_cache(self):
        job, marks = part("job"), part("marks")
        before = frame_bytes(job.cache_folder(domain()), 10)
        self.assertEqual(marks.changes(bpy.context.scene, domain()), [])
        self.assertIn("Rebake into v002", drawn(), "also when nothing is seen to have changed")
        settings().viscosity = 5.0
        changed = marks.changes(bpy.context.scene, domain())
        self.assertEqual([(c[0], c[1]["name"], c[3]) for c in changed], [("Domain", "viscosity", 5.0)])
        self.assertEqual(frame_bytes(job.cache_folder(domain()), 10), before)
        fails(bpy.ops.meniscus.bake, "other values", "Rebake")
        self.assertIn("baked with 0.001002, now 5", drawn())
        self.assertIn("Rebake into v002", drawn())
        bpy.ops.meniscus.revert()
        self.assertEqual(marks.changes(bpy.context.scene, domain()), [])

    def test_04b_what_moves_bends_or_pushes_marks_the_cache_too(self):
        marks, scene = part("marks"), bpy.context.scene

        def changed():
            bpy.context.view_layer.update()
            return {(c[0], c[1]["name"] if c[1] else c[3]) for c in marks.changes(scene, domain())}

        sphere = bpy.data.objects["Sphere"]
        sphere.location.x += 0.01
        self.assertEqual(changed(), {("Sphere", "place")})
        self.assertIn("Sphere: Place changed", drawn())
        bpy.ops.meniscus.revert()
        self.assertEqual(changed(), set())
        self.assertAlmostEqual(sphere.location.x, 0.0, places=6)
        corner = sphere.data.vertices[3].co.copy()
        sphere.data.vertices[3].co.x += 0.001
        self.assertEqual(changed(), {("Sphere", "shape")})
        sphere.data.vertices[3].co = corner
        thick = sphere.modifiers.new("Thick", "SOLIDIFY")
        self.assertEqual(changed(), {("Sphere", "shape")})
        sphere.modifiers.remove(thick)
        scene.gravity[2] = -3.7
        self.assertEqual(changed(), {("the scene", "gravity")})
        scene.gravity[2] = -9.81
        scene.render.fps = 30
        self.assertEqual(changed(), {("the scene", "fps")})
        scene.render.fps = 24
        bpy.ops.object.empty_add(location=(0, 0, 0.1))
        force = bpy.context.object
        bpy.ops.meniscus.set_role(role="FORCE")
        self.assertEqual(changed(), {(force.name, "new")})
        bpy.data.objects.remove(force)
        sphere.location.z += 0.01
        sphere.keyframe_insert("location", frame=5)
        self.assertIn(("Sphere", "motion"), changed())
        sphere.animation_data_clear()
        sphere.location.z -= 0.01
        self.assertEqual({c for c in changed() if c[1] != "place"}, set())
        bpy.ops.meniscus.revert()
        self.assertEqual(changed(), set())

    def test_04c_forces_and_wind_are_read_at_every_frame(self):
        scene = bpy.context.scene
        bpy.ops.object.empty_add(location=(0.05, 0, 0.1))
        force = bpy.context.object
        bpy.ops.meniscus.set_role(role="FORCE")
        settings_of = force.meniscus.force
        settings_of.kind, settings_of.radius = "point", 0.3
        force.keyframe_insert("location", frame=1)
        force.keyframe_insert("meniscus.force.strength", frame=1)
        force.location.x, settings_of.strength = -0.05, 4.0
        force.keyframe_insert("location", frame=10)
        force.keyframe_insert("meniscus.force.strength", frame=10)
        settings().wind_drag, settings().wind = 2.0, (1, 0, 0)
        domain().keyframe_insert("meniscus.domain.wind", frame=1)
        settings().wind = (3, 0, 0)
        domain().keyframe_insert("meniscus.domain.wind", frame=10)
        # Whichever frame is shown, it is the same scene.
        scene.frame_set(7)
        pull, wind = (f for f in exported().scene["forces"])
        self.assertEqual([k[0] for k in pull["point"]["center"]["keys"]], list(range(1, 11)))
        self.assertAlmostEqual(pull["point"]["center"]["keys"][0][1][0], 0.05, places=5)
        self.assertAlmostEqual(pull["point"]["center"]["keys"][9][1][0], -0.05, places=5)
        self.assertAlmostEqual(pull["point"]["strength"]["keys"][9][1], 4.0, places=5)
        self.assertEqual(wind["wind"]["velocity"]["keys"][0][1], [1, 0, 0])
        self.assertEqual(wind["wind"]["velocity"]["keys"][9][1], [3, 0, 0])
        self.assertEqual(wind["wind"]["drag"], 2.0)
        settings_of.kind = "vortex"
        force.rotation_euler = (1, 0, 0)
        force.keyframe_insert("rotation_euler", frame=10)
        force.rotation_euler = (0, 0, 0)
        force.keyframe_insert("rotation_euler", frame=1)
        made = exported()
        self.assertIn("cannot be animated", made.warnings[0])
        self.assertEqual(len(made.scene["forces"][0]["vortex"]["axis"]), 3)
        bpy.data.objects.remove(force)
        domain().animation_data_clear()
        settings().wind_drag, settings().wind = 0.0, (0, 0, 0)
        scene.frame_set(1)

    def test_04d_an_outflow_swallows_or_opens_a_side(self):
        bpy.ops.mesh.primitive_cube_add(size=0.04, location=(0.05, 0.05, 0.03))
        drain = bpy.context.object
        bpy.ops.meniscus.set_role(role="OUTFLOW")
        drain.meniscus.drain.active = False
        drain.keyframe_insert("meniscus.drain.active", frame=1)
        drain.meniscus.drain.active = True
        drain.keyframe_insert("meniscus.drain.active", frame=5)
        scene = exported().scene
        self.assertNotIn("open", json.dumps(scene["domain"]))
        self.assertEqual([s["name"] for s in scene["sinks"]], [drain.name])
        self.assertEqual(scene["sinks"][0]["active"]["keys"][0], [1, False])
        self.assertEqual(scene["sinks"][0]["active"]["keys"][9], [10, True])
        drain.animation_data_clear()
        drain.location, drain.scale = (0, 0, 0), (5.5, 5.5, 1)
        bpy.context.view_layer.update()
        scene = exported().scene
        self.assertNotIn("sinks", scene)
        self.assertEqual(scene["domain"]["sides"]["y_min"], "open")
        self.assertEqual([s for s, v in scene["domain"]["sides"].items() if v == "open"], ["y_min"])
        bpy.data.objects.remove(drain)

    def test_04e_a_source_may_have_a_viscosity_and_attributes_of_its_own(self):
        source = bpy.data.objects["Cylinder"]
        source.meniscus.source.source_viscosity = 5.0
        painted = source.data.attributes.new("Cd", "FLOAT_COLOR", "POINT")
        painted.data[0].color = (0.25, 0.5, 1.0, 1.0)
        source.data.attributes.new("heat", "FLOAT", "POINT").data[0].value = 7.0
        scene = exported().scene
        self.assertEqual(scene["emitters"][0]["liquid"], "liquid 2")
        self.assertEqual(scene["outputs"]["attributes"], ["viscosity"])
        self.assertEqual([q["viscosity"] for q in scene["liquids"]], [0.001002, 5.0])
        self.assertEqual(scene["liquids"][1]["density"], scene["liquids"][0]["density"])
        mesh = (FOLDER / "exported" / scene["emitters"][0]["shape"]["mesh"]["file"]).read_bytes()
        header, body = mesh.split(b"end_header\n")
        names = [line.split()[-1].decode() for line in header.splitlines() if b"property float" in line]
        self.assertEqual(names[:3], ["x", "y", "z"])
        self.assertEqual(sorted(names[3:]), ["Cd_0", "Cd_1", "Cd_2", "heat"])
        row = dict(zip(names, numpy.frombuffer(body, "<f4", len(names)).tolist()))
        self.assertEqual([row[n] for n in ("Cd_0", "Cd_1", "Cd_2", "heat")], [0.25, 0.5, 1.0, 7.0])
        for name in ("Cd", "heat"):
            source.data.attributes.remove(source.data.attributes[name])
        source.meniscus.source.source_viscosity = -1.0

    def test_05_esc_stops_within_a_second_and_resume_ends_the_same(self):
        job = part("job")
        settings().divisions = 40
        driver = Driver(new_version=True)
        drive(driver, lambda: driver.job.report and driver.job.report["frame"] >= 3)
        self.assertFalse(driver.job.finished, "the bake was too quick to be stopped")
        self.assertGreater(len(evaluated(3)[0]), 0, "frames appear while later ones compute")
        self.assertIn("substeps", drawn())
        # The command says how long it will take after three frames, which are too few here.
        driver.job._hear({"event": "progress", "frame": 4, "fraction": 0.5, "seconds_left": 90.0})
        self.assertRegex(drawn(), r"Frame 4 of 10, .+ left")
        begin, wall = quiet(), time.monotonic()
        driver.modal(bpy.context, event("ESC"))
        longest = drive(driver, lambda: driver.job.finished, 60.0)
        took = quiet() - begin
        print(f"stopped {took:.2f} s after Esc ({time.monotonic() - wall:.2f} s on a busy machine's wall), "
              f"longest block of the main thread {longest * 1000:.0f} ms")
        self.assertLess(took, 1.0)
        self.assertEqual(driver.result, {"CANCELLED"})
        whole = job.baked_frames(domain())
        self.assertTrue(3 <= len(whole) < 10, whole)
        self.assertEqual(settings().version, 2)
        # Blender is closed and comes back; what was exported goes on as it was.
        bpy.ops.wm.save_mainfile()
        bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
        bpy.ops.wm.open_mainfile(filepath=str(BLEND))
        self.assertEqual(part("marks").changes(bpy.context.scene, domain()), [])
        self.assertIn(f"Resume at Frame {whole[-1] + 1}", drawn())
        scene = job.scene_file(domain()).read_bytes()
        driver = Driver(resume=True)
        self.assertIsNotNone(driver.job.saved)
        longest = drive(driver, lambda: driver.job.finished)
        print(f"longest block of the main thread during a bake {longest * 1000:.0f} ms")
        self.assertLess(longest, 0.05)
        self.assertEqual(driver.result, {"FINISHED"})
        self.assertEqual(driver.job.exporter.written, 0, "nothing is exported twice")
        self.assertEqual(json.loads(scene), json.loads(job.scene_file(domain()).read_bytes()))
        self.assertEqual(job.baked_frames(domain()), list(range(1, 11)))
        import meniscus

        again = FOLDER / "again"
        words = [str(meniscus.command()), "run", str(job.scene_file(domain())), "-o", str(again), "--progress", "none"]
        subprocess.run(words, check=True)
        for frame in range(1, 11):
            self.assertEqual(frame_bytes(job.cache_folder(domain()), frame), frame_bytes(again, frame), frame)

    def test_06_a_branch_shares_what_was_before(self):
        job = part("job")
        old = job.cache_folder(domain())
        settings().use_scene_gravity = False
        settings().gravity = (0.0, 0.0, -1.6)
        bpy.ops.meniscus.continue_from(frame=10)
        self.assertEqual(settings().version, 3)
        new = job.cache_folder(domain())
        self.assertEqual(job.baked_frames(domain()), list(range(1, 11)))
        self.assertEqual(frame_bytes(old, 5), frame_bytes(new, 5))
        self.assertIn("v003", settings().result.modifiers["Meniscus"].cache_file.filepath)

    def test_07_a_saved_file_shows_the_liquid_again(self):
        count = len(evaluated(9)[0])
        bpy.ops.wm.save_mainfile()
        bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
        bpy.ops.wm.open_mainfile(filepath=str(BLEND))
        self.assertEqual(len(evaluated(9)[0]), count)
        self.assertTrue(settings().result.modifiers["Meniscus"].cache_file.filepath.startswith("//"))
        self.assertEqual(settings().version, 3)
        domain().name = "Another name"
        self.assertEqual(part("job").baked_frames(bpy.data.objects["Another name"]), list(range(1, 11)))
        bpy.data.objects["Another name"].name = "Domain"
        self.assertEqual(part("marks").changes(bpy.context.scene, domain()), [])

    def test_08_solids_move_and_deform_without_a_tick(self):
        export, scene = part("export"), bpy.context.scene
        bpy.ops.mesh.primitive_cube_add(size=0.02, location=(0.05, 0.05, 0.02), scale=(1, 2, 1))
        mover = bpy.context.object
        mover.name = "Mover"
        bpy.ops.meniscus.set_role(role="OBSTACLE")
        mover.keyframe_insert("rotation_euler", frame=1)
        mover.rotation_euler = (0, 0, math.radians(720))
        mover.keyframe_insert("rotation_euler", frame=10)
        bpy.ops.mesh.primitive_ico_sphere_add(radius=0.02, location=(-0.05, 0, 0.02))
        breather = bpy.context.object
        breather.name = "Breather"
        bpy.ops.meniscus.set_role(role="OBSTACLE")
        breather.shape_key_add(name="Basis")
        wide = breather.shape_key_add(name="Wide")
        for point in wide.data:
            point.co.x *= 1.5
        wide.value = 0.0
        wide.keyframe_insert("value", frame=1)
        wide.value = 1.0
        wide.keyframe_insert("value", frame=10)
        exporter = export.Exporter(bpy.context, domain(), FOLDER / "solids")
        steps = list(exporter.steps())
        self.assertEqual(len(steps), 10)
        solids = {c["name"]: c for c in exporter.scene["colliders"]}
        self.assertIn("mesh", solids["Sphere"]["shape"])
        self.assertNotIn("transform", solids["Sphere"])
        keys = solids["Mover"]["transform"]["rotate"]["keys"]
        self.assertEqual(len(keys), 10)
        self.assertAlmostEqual(keys[-1][1][1], 720, places=3, msg="whole turns about the vertical count")
        self.assertEqual(len(solids["Breather"]["shape"]["samples"]["files"]), 10)
        files = {p: p.stat().st_mtime_ns for p in (FOLDER / "solids/geometry").iterdir()}
        again = export.Exporter(bpy.context, domain(), FOLDER / "solids")
        list(again.steps())
        self.assertEqual({p: p.stat().st_mtime_ns for p in (FOLDER / "solids/geometry").iterdir()}, files)
        self.assertEqual(again.scene, exporter.scene)
        # Esc while the frames are walked through: nothing has begun, and the shown frame is the one of before.
        scene.frame_set(6)
        known = part("job").versions(domain())
        driver = Driver(new_version=True)
        driver.job.step(0.0)
        self.assertEqual(driver.job.stage, "export")
        self.assertEqual(driver.modal(bpy.context, event("ESC")), {"CANCELLED"})
        self.assertTrue(driver.job.finished and driver.job.child is None)
        self.assertEqual(scene.frame_current, 6)
        self.assertEqual((part("job").versions(domain()), part("job").running), (known, {}))
        scene.frame_end = 4
        settings().divisions = 24
        self.assertEqual(bpy.ops.meniscus.rebake(), {"FINISHED"})

    def test_08b_particles_are_shown_as_points(self):
        settings().particles = True
        self.assertEqual(bpy.ops.meniscus.rebake(), {"FINISHED"})
        bpy.context.scene.frame_set(4)
        spray = settings().spray.evaluated_get(bpy.context.evaluated_depsgraph_get())
        self.assertEqual(spray.type, "POINTCLOUD")
        report = part("playback").report_of(part("job").cache_folder(domain()), 4)
        # And one without a size, without which Blender 5.0 would end when it renders a frame without particles.
        self.assertEqual(len(spray.data.points), report["particles"] + 1)
        points = numpy.empty(3 * len(spray.data.points), numpy.float32)
        spray.data.attributes["position"].data.foreach_get("vector", points)
        matrix = numpy.array(spray.matrix_world)
        points = points.reshape(-1, 3) @ matrix[:3, :3].T + matrix[:3, 3]
        self.assertTrue((points.min(0) > [-0.11, -0.11, -0.01]).all() and (points.max(0) < [0.11, 0.11, 0.21]).all())
        self.assertIn("velocity", spray.data.attributes)
        settings().particles = False
        bpy.ops.meniscus.show_version(version=settings().version - 1)
        self.assertIsNone(settings().spray.modifiers.get("Meniscus"), "that version has none")
        empty = settings().spray.evaluated_get(bpy.context.evaluated_depsgraph_get())
        self.assertEqual(len(empty.data.points), 1)
        bpy.ops.meniscus.show_version(version=settings().version + 1)
        self.assertIsNotNone(settings().spray.modifiers.get("Meniscus"))

    def test_08c_detail_where_it_counts_with_bodies_too(self):
        settings().simulator, settings().detail = "bcc", 2
        bpy.context.scene.frame_end = 2
        # The pour begins small; a pool is there at once.
        bpy.ops.mesh.primitive_cube_add(size=0.1, location=(-0.04, -0.04, 0.06))
        pool = bpy.context.object
        bpy.ops.meniscus.set_role(role="LIQUID")
        solids = part("properties").objects(bpy.context.scene, "OBSTACLE")
        for solid in solids:
            solid.meniscus.role = "NONE"
        self.assertEqual(bpy.ops.meniscus.rebake(), {"FINISHED"})
        self.assertGreater(len(evaluated(2)[0]), 100)
        bpy.ops.meniscus.set_role(role="BODY")
        self.assertEqual(bpy.ops.meniscus.rebake(), {"FINISHED"})
        bpy.data.objects.remove(pool)
        for solid in solids:
            solid.meniscus.role = "OBSTACLE"
        settings().simulator = "mac"
        bpy.context.scene.frame_end = 4

    def test_08d_warnings_of_the_check_stay_to_be_read(self):
        # Water 600 m across is doubtful; a vortex whose axis turns is read once.
        unit = settings().unit_length
        settings().unit_length = 3000.0
        bpy.ops.object.empty_add(location=(0, 0, 0.1))
        force = bpy.context.object
        bpy.ops.meniscus.set_role(role="FORCE")
        force.meniscus.force.kind = "vortex"
        for frame in (1, 4):
            force.rotation_euler.x = 0.1 * frame
            force.keyframe_insert("rotation_euler", frame=frame)
        bpy.context.scene.frame_end = 2
        self.assertEqual(bpy.ops.meniscus.rebake(), {"FINISHED"})
        self.assertEqual(settings().message_kind, "WARNING")
        self.assertIn("cannot be animated", settings().message)
        self.assertIn("unit_length", settings().message)
        self.assertIn("cannot be animated", drawn())
        bpy.data.objects.remove(force)
        settings().unit_length, bpy.context.scene.frame_end = unit, 4
        self.assertEqual(bpy.ops.meniscus.rebake(), {"FINISHED"})
        self.assertEqual(settings().message, "")

    def test_09_painted_viscosity_travels_with_the_mesh(self):
        source = bpy.data.objects["Cylinder"]
        group = source.vertex_groups.new(name="viscosity")
        group.add(list(range(len(source.data.vertices))), 0.5, "REPLACE")
        settings().viscosity = 8.0
        points, faces, carried = part("meshes").arrays(source, bpy.context.evaluated_depsgraph_get())
        self.assertTrue(numpy.allclose(carried["viscosity"], 4.0))
        header = part("meshes").to_bytes(points, faces, carried).split(b"end_header")[0]
        self.assertIn(b"property float viscosity", header)
        # A cylinder has quadrangles and two lids of 32 corners; all of them stand in the file.
        self.assertEqual(sorted(set(faces[1].tolist())), [4, 32])
        rows = part("meshes").to_bytes(points, faces, {}).split(b"end_header\n")[1][12 * len(points) :]
        at = 0
        for count, start in zip(faces[1], numpy.cumsum(faces[1]) - faces[1]):
            self.assertEqual(rows[at], count)
            there = numpy.frombuffer(rows, "<i4", count, at + 1)
            self.assertTrue((there == faces[0][start : start + count]).all())
            at += 1 + 4 * int(count)
        self.assertEqual(at, len(rows))
        source.vertex_groups.remove(group)
        bpy.ops.meniscus.revert()

    def test_09b_what_is_painted_rough_holds_water(self):
        import meniscus

        # A sheet of water, two cells thick, slides over a floor; the vertex group of its vertices is the friction.
        bpy.ops.mesh.primitive_cube_add(size=1, location=(0, 0, 0.02), scale=(0.3, 0.3, 0.04))
        floor = bpy.context.object
        bpy.ops.meniscus.set_role(role="OBSTACLE")
        floor.meniscus.collider.wall = "slide"
        bpy.ops.mesh.primitive_cube_add(size=0.06, location=(-0.06, 0, 0.048), scale=(1, 3, 0.27))
        block = bpy.context.object
        bpy.ops.meniscus.set_role(role="LIQUID")
        block.meniscus.source.source_velocity = (1, 0, 0)
        group = floor.vertex_groups.new(name="friction")
        speeds = []
        for rough in (0.0, 0.7):
            group.add(list(range(8)), rough, "REPLACE")
            scene = exported(f"rough_{rough}").scene
            scene["frames"] = [1, 4]
            scene.pop("emitters", None)
            scene["colliders"] = [c for c in scene["colliders"] if c["name"] == floor.name]
            with meniscus.Simulation(scene, threads=1, mesh_folder=str(FOLDER / f"rough_{rough}")) as water:
                water.advance(4)
                speeds.append(water.field("particle.velocity")[:, 0].mean())
        self.assertLess(speeds[1], 0.8 * speeds[0])
        for obj in (floor, block):
            bpy.data.objects.remove(obj)

    def test_10_every_panel_draws_for_every_role(self):
        panels, properties = part("panels"), part("properties")
        seen = ""
        obj = bpy.data.objects["Mover"]
        for role in [r[0] for r in properties.ROLES]:
            shown = domain() if role == "DOMAIN" else obj
            before = shown.meniscus.role
            shown.meniscus.role = role
            for advanced in (False, True):
                settings().advanced = advanced
                context = types.SimpleNamespace(object=shown, scene=bpy.context.scene)
                for panel in panels.PANELS:
                    if panel.poll(context):
                        layout = Layout()
                        drawn = types.SimpleNamespace(layout=layout, folder=getattr(panel, "folder", None))
                        panel.draw(drawn, context)
                        if hasattr(panel, "draw_header"):
                            panel.draw_header(drawn, context)
                        seen += layout.texts()
            shown.meniscus.role = before
        for words in ("Viscosity (Pa·s)", "Rate (ml/s)", "1 unit = 1 m", "Treat as", "Cells of 8.33 mm: 24 × 24 × 24", "Wall",
                      "Body Density", "+Y Side"):
            self.assertIn(words, seen)
        layout = Layout()
        part("scenes").MENISCUS_MT_add.draw(types.SimpleNamespace(layout=layout), bpy.context)
        self.assertIn("Honey on Pancakes", layout.texts())

    def test_11_one_click_makes_the_scene_the_size_it_is_meant(self):
        bpy.ops.meniscus.fix_units(longest_side=0.1)
        self.assertAlmostEqual(part("export").unit_length(bpy.context.scene, settings()), 0.5)
        bpy.ops.meniscus.fix_units(longest_side=0.2)
        self.assertAlmostEqual(settings().unit_length, 1.0, places=6)

    def test_12_cycles_renders_the_liquid(self):
        bpy.ops.meniscus.show_version(version=2)
        scene = bpy.context.scene
        builder = part("scenes").Builder(bpy.context, 1.0)
        builder.stage((0, 0, 80), 700, 12, 70)
        bpy.data.objects["Mover"].hide_render = bpy.data.objects["Breather"].hide_render = True
        scene.render.engine = "CYCLES"
        scene.cycles.samples, scene.cycles.device, scene.cycles.use_denoising = 16, "CPU", False
        scene.render.resolution_x, scene.render.resolution_y, scene.render.resolution_percentage = 320, 240, 100
        scene.render.use_motion_blur = True
        settings().result.active_material = part("playback").material("honey_35c")
        scene.frame_end = 10
        scene.frame_set(10)
        pictures = []
        for name, hidden in (("with", False), ("without", True)):
            settings().result.hide_render = hidden
            scene.render.filepath = str(FOLDER / f"{name}.png")
            bpy.ops.render.render(write_still=True)
            image = bpy.data.images.load(str(FOLDER / f"{name}.png"))
            pixels = numpy.empty(320 * 240 * 4, numpy.float32)
            image.pixels.foreach_get(pixels)
            pictures.append(pixels.reshape(240, 320, 4)[:, :, :3])
        settings().result.hide_render = False
        self.assertGreater(pictures[0].mean(), 0.05, "the picture is not black")
        # Noise of 16 samples changes pixels a little; the liquid changes some of them much.
        changed = (abs(pictures[0] - pictures[1]).max(axis=2) > 0.25).mean()
        print(f"the liquid covers {100 * changed:.1f} % of the picture")
        self.assertTrue(0.005 < changed < 0.6)

    def test_13_bad_input_is_explained_and_blender_goes_on(self):
        job = part("job")
        sphere = bpy.data.objects["Sphere"]
        keep = sphere.data
        nan = bpy.data.meshes.new("nan")
        nan.from_pydata([(0, 0, 0), (math.nan, 0, 0), (0, 1, 0)], [], [(0, 1, 2)])
        sphere.data = nan
        fails(bpy.ops.meniscus.rebake, "Sphere", "vertex 1 is not a number")
        sphere.data = bpy.data.meshes.new("empty")
        fails(bpy.ops.meniscus.rebake, "Sphere has no faces")
        sphere.data = keep
        settings().cache_folder = str(ZIP / "inside_a_file")
        fails(bpy.ops.meniscus.rebake, "Choose another cache folder")
        self.assertIn("Choose another", settings().message)
        settings().cache_folder = "/proc/nowhere"
        fails(bpy.ops.meniscus.rebake, "cache folder")
        settings().cache_folder = ""
        self.assertEqual(job.running, {})
        # A disk that is full, as the child meets it.
        import meniscus

        small = FOLDER / "full_disk"
        small.write_text(f'#!/bin/bash\ntrap \"\" XFSZ\nulimit -f 20\nexec "{meniscus.command()}" "$@"\n')
        small.chmod(0o755)
        os.environ["MENISCUS_COMMAND"] = str(small)
        settings().divisions = 41
        fails(bpy.ops.meniscus.rebake, "larger than the system allows")
        del os.environ["MENISCUS_COMMAND"]
        # A child that is killed.
        settings().divisions = 42
        driver = Driver(new_version=True)
        drive(driver, lambda: driver.job.report is not None)
        os.kill(driver.job.child.pid, signal.SIGKILL)
        drive(driver, lambda: driver.job.finished, 60.0)
        self.assertIn("Resume goes on", driver.job.error)
        self.assertEqual(bpy.ops.meniscus.resume(), {"FINISHED"})
        role, domain().meniscus.role = domain().meniscus.role, "NONE"
        message = fails(bpy.ops.meniscus.bake, "no domain")
        self.assertIn("role Domain", message)
        bpy.data.objects["Domain"].meniscus.role = role

    def test_14_only_free_deletes(self):
        job = part("job")
        versions = job.versions(domain())
        self.assertGreater(len(versions), 3)
        bpy.ops.meniscus.free()
        self.assertEqual(job.versions(domain()), versions[:-1])
        bpy.ops.meniscus.free(all_versions=True)
        self.assertEqual(job.versions(domain()), [])
        self.assertIsNone(settings().result.modifiers.get("Meniscus"))

    def test_15_scenes_of_the_add_menu_pass_the_check_and_bake(self):
        import meniscus

        for kind in ("HONEY", "CUP", "SPHERES", "ICING", "LITRE"):
            bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
            bpy.ops.meniscus.add_scene(kind=kind)
            self.assertEqual(bpy.context.object.meniscus.role, "DOMAIN")
            fails(bpy.ops.meniscus.bake, "Save the .blend")
            folder = FOLDER / "scenes" / kind
            bpy.ops.meniscus.export_farm(directory=str(folder))
            words = [str(meniscus.command()), "check", str(folder / "Domain.json"), "--json"]
            answer = subprocess.run(words, capture_output=True, text=True)
            found = json.loads(answer.stdout) if answer.stdout else {"findings": [{"severity": "error", "message": answer.stderr}]}
            self.assertEqual([f for f in found.get("findings", []) if f["severity"] == "error"], [], kind)
            bpy.ops.wm.save_as_mainfile(filepath=str(FOLDER / f"{kind}.blend"))
            settings().divisions, bpy.context.scene.frame_end = 28, 2
            self.assertEqual(bpy.ops.meniscus.bake(), {"FINISHED"}, (kind, settings().message))
            # What pours slowly is a drop or two of 12 vertices after one frame of such wide cells.
            self.assertGreaterEqual(len(evaluated(2)[0]), 12, kind)
            looks = {"HONEY": "Honey", "CUP": "Water", "SPHERES": "Water", "ICING": "Icing", "LITRE": "Water"}
            self.assertEqual(settings().result.data.materials[0].name, f"Meniscus {looks[kind]}")

    def test_15b_floating_bodies_follow_the_liquid(self):
        playback, job = part("playback"), part("job")
        bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
        bpy.ops.wm.open_mainfile(filepath=str(FOLDER / "SPHERES.blend"))
        scene = bpy.context.scene
        steel, cork = bpy.data.objects["Ball 7.8"], bpy.data.objects["Ball 0.25"]
        stood = steel.matrix_world.translation.copy()
        settings().divisions, scene.frame_end = 28, 6
        self.assertEqual(bpy.ops.meniscus.bake(), {"FINISHED"})
        for ball in (steel, cork):
            keys = keys_of(ball)
            self.assertEqual(list(keys), [1, 2, 3, 4, 5, 6])
        # At first it stands where the artist put it, and five frames later it has sunk, but no further than a free fall.
        sunk = keys_of(steel)
        self.assertLess((sunk[1] - stood).length, 1e-5)
        unit = part("export").unit_length(scene, settings())
        fall = 0.5 * 9.81 * (5 / 24) ** 2 / unit
        self.assertTrue(0.1 * fall < (sunk[1] - sunk[6]).z < fall, (sunk, fall))
        self.assertLess(sunk[6].z, keys_of(cork)[6].z)
        for curve in playback.curves(steel.animation_data.action):
            self.assertEqual({k.interpolation for k in curve.keyframe_points}, {"LINEAR"})
        # Baked bodies are no change of the scene, and a second bake begins where the first began.
        self.assertEqual(part("marks").changes(scene, domain()), [])
        first = exported("floats").scene
        scene.frame_set(6)
        self.assertEqual(exported("floats").scene["bodies"], first["bodies"])
        # Another version has other keys, and going back brings those of before.
        steel.meniscus.body.body_density = 1500
        scene.frame_end = 3
        self.assertEqual(bpy.ops.meniscus.rebake(), {"FINISHED"})
        self.assertEqual(list(keys_of(steel)), [1, 2, 3])
        bpy.ops.meniscus.show_version(version=1)
        again = keys_of(steel)
        self.assertEqual(list(again), [1, 2, 3, 4, 5, 6])
        self.assertLess((again[6] - sunk[6]).length, 1e-6)
        bpy.ops.meniscus.free()
        self.assertEqual(list(keys_of(steel)), [1, 2, 3])
        bpy.ops.meniscus.free()
        for ball in (steel, cork):
            self.assertIsNone(part("properties").rest(ball))
            self.assertEqual(keys_of(ball), {})
        bpy.context.view_layer.update()
        self.assertLess((steel.matrix_world.translation - stood).length, 1e-5)
        self.assertEqual(job.versions(domain()), [])

    def test_16_three_viscosities_on_one_sheet(self):
        bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
        bpy.ops.meniscus.add_scene(kind="HONEY")
        bpy.ops.wm.save_as_mainfile(filepath=str(FOLDER / "compare.blend"))
        bpy.ops.meniscus.compare(divisions=16, frames=6)
        sheet = bpy.data.images["Meniscus Comparison"]
        self.assertGreater(min(sheet.size), 300)
        self.assertTrue(list(FOLDER.glob("**/comparison.png")))
        areas = [a for w in bpy.context.window_manager.windows for a in w.screen.areas if a.type == "IMAGE_EDITOR"]
        self.assertIn(sheet, [a.spaces.active.image for a in areas], "it is shown")

    def test_16b_whatever_a_frame_carries_can_be_shaded_with(self):
        import meniscus

        meshes, surface = part("meshes"), FOLDER / "carried" / "v001" / "surface"
        surface.mkdir(parents=True)
        points = numpy.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], numpy.float32)
        faces = meshes.triangles(numpy.array([[0, 2, 1], [0, 1, 3], [1, 2, 3], [2, 0, 3]]))
        carried = {"viscosity": numpy.array([1, 2, 3, 4], numpy.float32), "Cd": points, "rest": points, "phase": numpy.array([0, 0, 1, 1], numpy.float32)}
        ply = FOLDER / "carried" / "frame.ply"
        ply.write_bytes(meshes.to_bytes(points, faces, carried))
        subprocess.run([str(meniscus.command()), "cache", "convert", str(ply), str(surface / "0001.usdc")], check=True)
        bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
        bpy.ops.mesh.primitive_cube_add()
        bpy.context.object.name = "Domain"
        bpy.ops.meniscus.set_role(role="DOMAIN")
        part("playback").show(bpy.context, domain(), surface.parent)
        _, mesh = evaluated(1)
        for name in ("viscosity", "phase"):
            values = numpy.empty(4, numpy.float32)
            mesh.attributes[name].data.foreach_get("value", values)
            self.assertEqual(values.tolist(), carried[name].tolist())
        # USD knows the colour by another name.
        kinds = {"FLOAT_VECTOR": "vector", "FLOAT_COLOR": "color"}
        for name in ("rest", "displayColor"):
            value = getattr(mesh.attributes[name].data[1], kinds[mesh.attributes[name].data_type])
            self.assertEqual(list(value)[:3], [1, 0, 0])

    def test_17_it_leaves_without_a_trace(self):
        bpy.ops.wm.open_mainfile(filepath=str(FOLDER / "CUP.blend"))
        settings().divisions, bpy.context.scene.frame_end = 24, 2
        bpy.ops.meniscus.rebake()
        baked, count = settings().result.name, len(evaluated(2)[0])
        bpy.ops.wm.save_mainfile()
        repos = [r.module for r in bpy.context.preferences.extensions.repos]
        bpy.ops.extensions.package_uninstall(repo_index=repos.index("user_default"), pkg_id="meniscus_liquids")
        self.assertFalse(hasattr(bpy.types.Object, "meniscus"))
        self.assertNotIn(NAME, bpy.context.preferences.addons)
        user = pathlib.Path(os.environ["BLENDER_USER_RESOURCES"])
        self.assertEqual([p for p in user.rglob("*meniscus*") if p.is_file()], [])
        # A machine without the add-on shows the bake all the same.
        bpy.ops.wm.open_mainfile(filepath=str(FOLDER / "CUP.blend"))
        bpy.context.scene.frame_set(2)
        shown = bpy.data.objects[baked].evaluated_get(bpy.context.evaluated_depsgraph_get())
        self.assertGreater(count, 50)
        self.assertEqual(len(shown.data.vertices), count)


if __name__ == "__main__":
    try:
        print("Blender", bpy.app.version_string)
        result = unittest.main(argv=sys.argv[:1] + [f"AddOn.{name}" for name in sys.argv[3:]], exit=False, failfast=True).result
        code = 0 if result.wasSuccessful() else 1
    except BaseException:
        traceback.print_exc()
        code = 1
    sys.stdout.flush()
    sys.stderr.flush()
    # Blender as a module may hang or complain while Python ends; the tests are over.
    os._exit(code)
