"""Meniscus as a Python SOP, for a Houdini without a compiler.

Put this file, parameters.json and the package `meniscus` where hython finds modules, make a Python SOP with four inputs
(sources, colliders, container, forces) and write into it

    import meniscus_sop
    meniscus_sop.cook(hou.pwd())

`meniscus_sop.add_parameters(hou.pwd())`, run once in Houdini's Python shell on the node, gives it the panel of the
compiled one. The frame rule is the same: what depends on time is sampled at each step and never resets; what does not
resets when it changes; a jump ahead steps through every missing frame and sample; a jump back shows a kept frame or
restores the nearest kept state. Frames are kept in memory only.
"""

import hashlib
import json
import pathlib
from collections import OrderedDict

import numpy

import meniscus
from meniscus._library import CANCELLED
from meniscus.simulation import COLLIDER, EMITTER

STATE_EVERY = 10
_shots = {}


def table():
    """The rows of parameters.json that Houdini shows."""
    here = pathlib.Path(__file__).resolve().parent
    for path in (here / "parameters.json", here.parent.parent / "node" / "parameters.json"):
        if path.exists():
            rows = json.loads(path.read_text())["parameters"]
            return [r for r in rows if "houdini" in r.get("hosts", ["houdini"])]
    raise FileNotFoundError("parameters.json must lie beside meniscus_sop.py")


def add_parameters(node, hou=None):
    """Give a node the parameters of the table, in its folders."""
    hou = hou or __import__("hou")
    group = node.parmTemplateGroup()
    folders = OrderedDict()
    for row in table():
        name, label, default = row.get("houdini", row["name"]), row["label"], row["default"]
        tip = f"{row['does']} Cost: {row['cost']} When: {row['touch']}"
        limits = {"min": row.get("soft_min", 0), "max": row.get("soft_max", 10), "help": tip}
        if row["type"] == "float":
            made = hou.FloatParmTemplate(name, label, 1, default_value=(default,), **limits)
        elif row["type"] == "vector":
            made = hou.FloatParmTemplate(name, label, 3, default_value=tuple(default), help=tip)
        elif row["type"] == "int":
            made = hou.IntParmTemplate(name, label, 1, default_value=(default,), **limits)
        elif row["type"] == "bool":
            made = hou.ToggleParmTemplate(name, label, default_value=default, help=tip)
        elif row["type"] == "menu":
            items = [i["value"] for i in row["items"]]
            made = hou.MenuParmTemplate(name, label, items, [i["label"] for i in row["items"]], default_value=items.index(default), help=tip)
        elif row["type"] == "button":
            made = hou.ButtonParmTemplate(name, label, help=tip)
        else:
            made = hou.StringParmTemplate(name, label, 1, default_value=(default,), help=tip)
        folders.setdefault(row["folder"], []).append(made)
    for folder, templates in folders.items():
        group.append(hou.FolderParmTemplate(folder + "_folder", folder.capitalize(), parm_templates=templates))
    node.setParmTemplateGroup(group)


class Panel:
    """The parameters of a node at any frame; the defaults of the table where it has none."""

    def __init__(self, node):
        self.node = node
        self.rows = {r["name"]: r for r in table()}

    def parms(self, row):
        name = row.get("houdini", row["name"])
        if row["type"] == "vector":
            found = self.node.parmTuple(name)
            return list(found) if found else []
        found = self.node.parm(name)
        return [found] if found else []

    def animated(self, row):
        return any(p.isTimeDependent() for p in self.parms(row))

    def value(self, name, frame):
        row = self.rows[name]
        parms = self.parms(row)
        if not parms:
            return row["default"]
        if row["type"] == "menu":
            return row["items"][int(parms[0].evalAtFrame(frame))]["value"]
        values = [p.evalAtFrame(frame) for p in parms]
        return values if row["type"] == "vector" else bool(values[0]) if row["type"] == "bool" else values[0]


def pieces(geometry, fallback):
    """Name to (points, triangles, velocities or None) of the polygons of a detail."""
    out = {}
    if geometry is None or not geometry.prims():
        return out
    points = numpy.frombuffer(geometry.pointFloatAttribValuesAsString("P"), dtype=numpy.float32).reshape(-1, 3)
    moves = geometry.findPointAttrib("v") is not None
    speeds = numpy.frombuffer(geometry.pointFloatAttribValuesAsString("v"), dtype=numpy.float32).reshape(-1, 3) if moves else None
    named = geometry.findPrimAttrib("name") is not None
    fans = OrderedDict()
    for prim in geometry.prims():
        name = (prim.stringAttribValue("name") if named else "") or fallback
        # Houdini's polygons turn clockwise seen from outside.
        corners = [v.point().number() for v in prim.vertices()][::-1]
        fans.setdefault(name, []).extend((corners[0], corners[i - 1], corners[i]) for i in range(2, len(corners)))
    for name, triangles in fans.items():
        used, index = numpy.unique(numpy.asarray(triangles, dtype=numpy.int64).ravel(), return_inverse=True)
        out[name] = (points[used], index.reshape(-1, 3).astype(numpy.uint32), speeds[used] if moves else None)
    return out


class Shot:
    """A simulation of one node and the frames that are kept of it."""

    def __init__(self, key):
        self.key, self.simulation, self.frames, self.states = key, None, OrderedDict(), {}

    def forget_old(self, gigabytes):
        held = lambda f: sum(a.nbytes for a in f)
        while len(self.frames) > 1 and sum(map(held, self.frames.values())) > gigabytes * 1e9:
            self.frames.popitem(last=False)


class Cook:
    """One cook of one node."""

    def __init__(self, node, hou):
        self.node, self.hou, self.panel = node, hou, Panel(node)
        self.start = int(self.panel.value("start_frame", 0))
        self.samples = max(1, int(self.panel.value("collider_samples", 0)))
        inputs = node.inputs()
        self.inputs = [inputs[i] if i < len(inputs) else None for i in range(4)]
        self.moves = [i is not None and i.isTimeDependent() for i in self.inputs]

    def geometry(self, index, frame):
        return self.node.inputGeometryAtFrame(frame, index) if self.inputs[index] is not None else None

    def key(self):
        digest = hashlib.sha256()
        for row in self.panel.rows.values():
            if row["effect"] in ("simulation", "input"):
                moves = row["animated"] and self.panel.animated(row)
                digest.update(repr((row["name"], moves or self.panel.value(row["name"], self.start))).encode())
        for index, moves in enumerate(self.moves):
            digest.update(repr((index, self.inputs[index] is not None, moves)).encode())
            if self.inputs[index] is not None and not moves:
                for name, (points, triangles, _) in pieces(self.geometry(index, self.start), "piece").items():
                    digest.update(name.encode() + points.tobytes() + triangles.tobytes())
        return digest.hexdigest()

    def scene(self):
        """The scene and its meshes at the start frame."""
        panel, start = self.panel, self.start
        scene = {"meniscus": 1, "name": self.node.name(), "frames": [start, max(start, int(panel.value("end_frame", start)))]}
        fps = self.hou.fps()
        scene["fps"] = int(round(fps)) if abs(fps - round(fps)) < 1e-6 else [int(round(fps * 1001)), 1001]
        domain = panel.value("domain", start)
        drag = panel.rows["wind_drag"]
        wind = panel.animated(drag) or panel.value("wind_drag", start) != 0
        self.keyed = []
        for row in panel.rows.values():
            path = row.get("path", "")
            if row["of"] != "scene" or not path or path.startswith("frames"):
                continue
            if path.startswith("domain.") and domain == "none" or path.startswith("forces[wind]") and not wind:
                continue
            path = path.replace("[wind]", "[0]")
            if row["animated"] and panel.animated(row):
                self.keyed.append((path, row))
                put(scene, path, {"keys": [[start, self.number(row, start)]]})
            elif row.get("absent") != panel.value(row["name"], start):
                put(scene, path, self.number(row, start))
        container = self.geometry(2, start)
        if domain == "auto" and container is not None and container.points():
            box = container.boundingBox()
            scene["domain"]["min"], scene["domain"]["max"] = list(box.minvec()), list(box.maxvec())
        meshes = {}
        mode = "emitters" if panel.value("source_mode", start) == "emit" else "initial"
        self.sources = self.objects(scene, meshes, mode, 0, "source")
        self.colliders = self.objects(scene, meshes, "colliders", 1, "collider")
        return scene, meshes

    def number(self, row, frame):
        value = self.panel.value(row["name"], frame)
        return value * row["factor"] if "factor" in row else value

    def objects(self, scene, meshes, where, index, kind):
        """Add the pieces of an input to the scene; the names of those that move."""
        moving = []
        for name, (points, triangles, _) in pieces(self.geometry(index, self.start), kind).items():
            meshes[f"{where}.{name}"] = (points, triangles)
            fed = self.moves[index] and where != "initial"
            shape = {"samples": {"files": [[self.start, f"{where}.{name}"]], "by_frame": True}} if fed else {"mesh": {"file": f"{where}.{name}"}}
            entry = {"name": name, "shape": shape}
            for row in self.panel.rows.values():
                path = row.get("path", "")
                wanted = row["of"] == {"initial": "source", "emitters": "source", "colliders": "collider"}[where]
                if not wanted or not path or where == "initial" and path != "velocity" or path == "shape.mesh.detail":
                    continue
                if row.get("absent") != self.panel.value(row["name"], self.start):
                    entry[path] = self.number(row, self.start)
            scene.setdefault(where, []).append(entry)
            if fed:
                moving.append(name)
        return moving

    def send(self, simulation, first, last):
        """Everything that depends on time, from a frame to the next."""
        for path, row in self.keyed:
            steps = (last + 1 - self.start) * self.samples + 1
            times = [self.start + i / self.samples for i in range(steps)]
            simulation.set_keys(path, [(t, self.number(row, t)) for t in times])
        times = [first + i / self.samples for i in range(self.samples + 1)] if last > first else [first]
        for index, names, kind, word in ((0, self.sources, EMITTER, "source"), (1, self.colliders, COLLIDER, "collider")):
            if not names:
                continue
            read = [(t, pieces(self.geometry(index, t), word)) for t in times]
            for name in names:
                simulation.set_geometry(name, [sample(t, found.get(name)) for t, found in read], kind)

    def run(self, shot, wanted):
        """Step to a frame from the nearest that is at hand."""
        if shot.simulation is None:
            scene, meshes = self.scene()
            if not scene.get("initial") and not scene.get("emitters"):
                raise self.hou.NodeError("Sources: there is nothing to simulate: wire a closed mesh into the first input")
            shot.simulation = meniscus.Simulation(scene, threads=self.hou.maxThreads(), meshes=meshes)
            self.keep(shot)
        else:
            self.scene()
        simulation = shot.simulation
        best = max((f for f in shot.states if f <= wanted), default=self.start)
        if simulation.frame > wanted or simulation.frame < best:
            simulation.load(shot.states[best])
            # Solids are not in the state: stand them where the frame before left them, and load again among them.
            self.send(simulation, max(self.start, best - 1), best)
            simulation.load(shot.states[best])
        begin = simulation.frame
        while simulation.frame < wanted:
            frame = simulation.frame
            self.send(simulation, frame, frame + 1)
            simulation.step(lambda p: self.interrupted((frame - begin + p.fraction) / (wanted - begin)))
            self.keep(shot)

    def interrupted(self, fraction):
        return self.hou.updateProgressAndCheckForInterrupt(int(100 * fraction))

    def keep(self, shot):
        s, unit = shot.simulation, self.panel.value("unit_length", self.start)
        speed = self.panel.value("time_scale", s.frame) / unit
        surface = (
            (s.field("surface.position") / unit).astype(numpy.float32),
            s.field("surface.triangle").astype(numpy.int64)[:, ::-1],
            (s.field("surface.velocity") * speed).astype(numpy.float32),
            numpy.array([s.volume, s.report["substeps"]]),
        )
        shot.frames[s.frame] = surface
        shot.forget_old(self.panel.value("cache_memory", 0))
        if (s.frame - self.start) % STATE_EVERY == 0:
            shot.states[s.frame] = s.save()


def sample(time, piece):
    """One timed mesh; without triangles the object is not there."""
    if piece is None:
        return (time, numpy.zeros((0, 3), numpy.float32), numpy.zeros((0, 3), numpy.uint32))
    points, triangles, speeds = piece
    return (time, points, triangles) if speeds is None else (time, points, triangles, speeds)


def put(scene, path, value):
    """Set a value by its path, as liquids[0].viscosity."""
    here = scene
    parts = path.replace("]", "").split(".")
    for i, part in enumerate(parts):
        key, _, index = part.partition("[")
        last = i == len(parts) - 1
        if index:
            items = here.setdefault(key, [])
            while len(items) <= int(index):
                items.append({})
            if last:
                items[int(index)] = value
            here = items[int(index)]
        elif last:
            here[key] = value
        else:
            here = here.setdefault(key, {})


def reset(node):
    """Forget the frames of a node; the script of its Reset button."""
    _shots.pop(node.sessionId(), None)
    node.cook(force=True)


def cook(node, hou=None):
    """Cook a Python SOP."""
    hou = hou or __import__("hou")
    work = Cook(node, hou)
    key = work.key()
    shot = _shots.get(node.sessionId())
    if shot is None or shot.key != key:
        shot = _shots[node.sessionId()] = Shot(key)
    wanted = max(work.start, int(hou.frame() // 1))
    try:
        if wanted not in shot.frames:
            work.run(shot, wanted)
            if wanted not in shot.frames:
                work.keep(shot)
    except meniscus.Error as error:
        if error.code != CANCELLED:
            raise hou.NodeError(str(error)) from None
    whole = max((f for f in shot.frames if f <= wanted), default=None)
    if whole is not None:
        write(node.geometry(), shot.frames[whole], hou)


def write(geometry, frame, hou):
    points, triangles, velocities, details = frame
    geometry.clear()
    if len(points):
        made = geometry.createPoints(points.tolist())
        geometry.createPolygons([tuple(made[i] for i in t) for t in triangles.tolist()])
        geometry.addAttrib(hou.attribType.Point, "v", (0.0, 0.0, 0.0))
        geometry.setPointFloatAttribValuesFromString("v", velocities.tobytes())
    for name, value in zip(("sim_volume", "sim_substeps"), details.tolist()):
        geometry.addAttrib(hou.attribType.Global, name, 0.0)
        geometry.setGlobalAttribValue(name, value)
