"""Meniscus as a Python SOP, for a Houdini without a compiler.

Put this file, parameters.json and the package `meniscus` where hython finds modules, make a Python SOP with five inputs
(sources, colliders, container, floating bodies, forces) and write into it

    import meniscus_sop
    meniscus_sop.cook(hou.pwd())

`meniscus_sop.add_parameters(hou.pwd())`, run once in Houdini's Python shell on the node, gives it the panel of the
compiled one. The frame rule is the same: what depends on time is sampled at each step and never resets; what does not
resets when it changes; a jump ahead steps through every missing frame and sample; a jump back shows a kept frame or
restores the nearest kept state.

What the compiled node does and this one does not: frames are kept in memory only, there is neither Export Scene nor Show
Domain, a cook between two frames gives the earlier one, floating bodies come out as polygons in their place instead of
packed primitives, point groups are not carried, and an `id` above 2^31 wraps.
"""

import fnmatch
import fractions
import hashlib
import json
import pathlib
import re
from collections import OrderedDict, namedtuple

import numpy

import meniscus
from meniscus._library import CANCELLED
from meniscus.simulation import COLLIDER, EMITTER

INPUTS = ("source", "collider", "container", "body", "force")
SOURCES, COLLIDERS, CONTAINER, BODIES, FORCES = range(5)
# What only the compiled node has.
NOT_HERE = {"cache_dir", "cache_disk", "export_file", "export", "output_bounds"}
_shots = {}

# Triangles of one name, velocities or None, values by the table's names that go before the panel's, and what is painted on the
# points: what liquid carries, or the friction of a collider.
Piece = namedtuple("Piece", "points triangles speeds own painted")
# Numbers on points that are handed over point by point.
PAINTED = {"source": "viscosity", "collider": "friction"}
# What means something else, here or in every file.
TAKEN = set("P Pw position v velocity N normal id radius age phase pscale x y z vx vy vz nx ny nz s t red green blue alpha".split())
# Something of the scene that changes with the frame: its path, the row of the table, and whose it is.
Keyed = namedtuple("Keyed", "path row list name")


def table():
    """The rows of parameters.json that this node shows."""
    here = pathlib.Path(__file__).resolve().parent
    for path in (here / "parameters.json", here.parent.parent / "node" / "parameters.json"):
        if path.exists():
            data = json.loads(path.read_text())
            rows = [r for r in data["parameters"] if "houdini" in r.get("hosts", ["houdini"]) and r["name"] not in NOT_HERE]
            return data["folders"], rows
    raise FileNotFoundError("parameters.json must lie beside meniscus_sop.py")


def add_parameters(node, hou=None):
    """Give a node the parameters of the table, in its folders; its buttons and its presets work."""
    hou = hou or __import__("hou")
    group = node.parmTemplateGroup()
    folders, rows = table()
    by_name = {r["name"]: r for r in rows}
    for folder in folders:
        made = [_template(hou, row, by_name) for row in rows if row["folder"] == folder["name"]]
        if made:
            group.append(hou.FolderParmTemplate(folder["name"] + "_folder", folder["label"], parm_templates=made))
    node.setParmTemplateGroup(group)


def _template(hou, row, by_name):
    name, label, default = row.get("houdini", row["name"]), row["label"], row["default"]
    more = {"help": f"{row['does']} Cost: {row['cost']} When: {row['touch']}"}
    limits = {"min": row.get("soft_min", 0), "max": row.get("soft_max", 10)}
    call = {"reset": "reset", "preset": "fill_preset"}.get(row["name"])
    if call:
        more["script_callback"] = f"import meniscus_sop; meniscus_sop.{call}(kwargs['node'])"
        more["script_callback_language"] = hou.scriptLanguage.Python
    if row["type"] == "float":
        made = hou.FloatParmTemplate(name, label, 1, default_value=(default,), **limits, **more)
    elif row["type"] == "vector":
        made = hou.FloatParmTemplate(name, label, 3, default_value=tuple(default), **more)
    elif row["type"] == "int":
        made = hou.IntParmTemplate(name, label, 1, default_value=(default,), **limits, **more)
    elif row["type"] == "bool":
        made = hou.ToggleParmTemplate(name, label, default_value=default, **more)
    elif row["type"] == "menu":
        items = [i["value"] for i in row["items"]]
        made = hou.MenuParmTemplate(name, label, items, [i["label"] for i in row["items"]], default_value=items.index(default), **more)
    elif row["type"] == "button":
        made = hou.ButtonParmTemplate(name, label, **more)
    else:
        # A label shows what its expression says.
        made = hou.StringParmTemplate(name, label, 1, default_value=(default,), **more)
    if "when" in row and row["when"][0] in by_name:
        other, wanted = by_name[row["when"][0]], row["when"][1]
        wanted = wanted if isinstance(wanted, list) else [wanted]
        condition = " ".join(f"{other.get('houdini', other['name'])} != {w}" for w in wanted)
        made.setConditional(hou.parmCondType.HideWhen, "{ " + condition + " }")
    return made


class Panel:
    """The parameters of a node at any frame; the defaults of the table where it has none."""

    def __init__(self, node):
        self.node = node
        self.rows = {r["name"]: r for r in table()[1] if r["type"] not in ("button", "label")}

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
            index = int(parms[0].evalAtFrame(frame))
            items = [i["value"] for i in row["items"]]
            return items[index] if 0 <= index < len(items) else row["default"]
        values = [p.evalAtFrame(frame) for p in parms]
        return values if row["type"] == "vector" else bool(values[0]) if row["type"] == "bool" else values[0]

    def of(self, kind):
        return [r for r in self.rows.values() if r["of"] == kind]


def _on_points(geometry, name, hou):
    """A point attribute as an array of rows, or None."""
    found = geometry.findPointAttrib(name)
    if found is None or found.dataType() == hou.attribData.String:
        return None
    if found.dataType() == hou.attribData.Int:
        return numpy.asarray(geometry.pointIntAttribValues(name), float).reshape(-1, found.size())
    return numpy.frombuffer(geometry.pointFloatAttribValuesAsString(name), dtype=numpy.float32).reshape(-1, found.size())


def _own(geometry, row, prim, used, hou):
    """A value of the table from the first place that has it: primitive, points (the mean), detail; None if nobody has."""
    name = row["attribute"]
    width = 3 if row["type"] == "vector" else 1
    value = None
    if width == 1 and geometry.findPrimAttrib(name) is not None:
        value = prim.attribValue(name)
    if value is None and row["type"] != "menu" and name != PAINTED.get(row["of"]):
        points = _on_points(geometry, name, hou)
        if points is not None and points.shape[1] >= width and len(used):
            mean = points[used, :width].astype(float).mean(axis=0).tolist()
            value = mean if width == 3 else mean[0]
    if value is None and geometry.findGlobalAttrib(name) is not None:
        value = geometry.attribValue(name)
    if row["type"] == "menu":
        # A word that the menu does not have is an empty attribute or somebody else's.
        return value if value in [i["value"] for i in row["items"]] else None
    if value is None or width == 1:
        return bool(value) if value is not None and row["type"] == "bool" else value
    return [float(x) for x in value]


def matches(words, name):
    """Whether a name is among those of a list such as "* ^uv"."""
    found = False
    for word in words.split():
        if word.startswith("^"):
            found = found and not fnmatch.fnmatchcase(name, word[1:])
        else:
            found = found or fnmatch.fnmatchcase(name, word)
    return found


def painted(geometry, kind, panel, frame, hou):
    """What is painted on the points of a detail, by name, as rows of numbers that every file can hold."""
    out, start = {}, panel.value("start_frame", 0)
    tetrahedra = panel.value("simulator", start) == "bcc"
    if kind == "collider":
        names = ["friction"]
    elif kind == "source" and not tetrahedra:
        own = {r.get("attribute") for r in panel.of("source")} - {"viscosity"}
        names = [a.name() for a in geometry.pointAttribs()]
        names = [n for n in names if n == "viscosity" or n not in TAKEN | own and re.fullmatch("[A-Za-z0-9_]{1,64}", n)
                 and matches(panel.value("carry", start), n)]
    else:
        names = ["viscosity"] if kind == "source" else []
    for name in names:
        values = _on_points(geometry, name, hou)
        if values is None or not 1 <= values.shape[1] <= 4 or name in PAINTED.values() and values.shape[1] != 1:
            continue
        values = values.astype(numpy.float32)
        if name == "viscosity":
            # Below zero: that of the panel.
            values = numpy.where(values >= 0, values, numpy.float32(panel.value("viscosity", frame)))
        values = numpy.nan_to_num(values, nan=0.0, posinf=0.0, neginf=0.0)
        out[name] = numpy.clip(values, 0, 1) if kind == "collider" else values
    return out


def pieces(geometry, kind, panel, hou, frame):
    """The polygons of a detail by the primitive attribute `name`, with values of their own."""
    out = OrderedDict()
    if geometry is None or not geometry.prims():
        return out
    points = numpy.frombuffer(geometry.pointFloatAttribValuesAsString("P"), dtype=numpy.float32).reshape(-1, 3)
    speeds = _on_points(geometry, "v", hou)
    named = geometry.findPrimAttrib("name") is not None
    fans = OrderedDict()
    for prim in geometry.prims():
        name = (prim.stringAttribValue("name") if named else "") or kind
        # Houdini's polygons turn clockwise seen from outside.
        corners = [v.point().number() for v in prim.vertices()][::-1]
        first, fan = fans.setdefault(name, (prim, []))
        fan.extend((corners[0], corners[i - 1], corners[i]) for i in range(2, len(corners)))
    rows = [r for r in panel.of(kind) if r.get("attribute")]
    paint = painted(geometry, kind, panel, frame, hou)
    # Tetrahedra carry nothing; they take the mean.
    tetrahedra = panel.value("simulator", panel.value("start_frame", 0)) == "bcc"
    thick = paint.pop("viscosity", None) if tetrahedra else None
    for name, (prim, triangles) in fans.items():
        used, index = numpy.unique(numpy.asarray(triangles, dtype=numpy.int64).ravel(), return_inverse=True)
        own = {r["name"]: _own(geometry, r, prim, used, hou) for r in rows}
        if thick is not None and own.get("source_viscosity") is None:
            own["source_viscosity"] = float(thick[used].astype(float).mean())
        out[name] = Piece(points[used], index.reshape(-1, 3).astype(numpy.uint32), speeds[used].astype(numpy.float32) if speeds is not None else None,
                          {k: v for k, v in own.items() if v is not None}, {k: v[used] for k, v in paint.items()})
    return out


def forces(geometry, hou):
    """Points as forces, by the attributes force (uniform, point, vortex), strength, radius, axis."""
    out = []
    strength, axis, radius = ((_on_points(geometry, n, hou) if geometry is not None else None) for n in ("strength", "axis", "radius"))
    if strength is None and axis is None:
        return out
    word = geometry.findPointAttrib("force") is not None
    places = numpy.frombuffer(geometry.pointFloatAttribValuesAsString("P"), dtype=numpy.float32).reshape(-1, 3)
    for i, point in enumerate(geometry.points()):
        kind = (point.stringAttribValue("force") if word else "") or "point"
        along = [float(x) for x in axis[i]] if axis is not None else [0.0, 1.0, 0.0]
        if kind == "uniform":
            out.append((kind, {"acceleration": along}))
            continue
        numbers = {"center": [float(x) for x in places[i]], "strength": float(strength[i, 0]) if strength is not None else 0.0,
                   "radius": float(radius[i, 0]) if radius is not None else 1.0}
        out.append((kind, {**numbers, "axis": along} if kind == "vortex" else numbers))
    return out


class Shot:
    """A simulation of one node and the frames and states that are kept of it."""

    def __init__(self, key):
        self.key, self.simulation, self.frames, self.states = key, None, OrderedDict(), OrderedDict()

    def forget_old(self, gigabytes, start):
        """The oldest go first; the newest frame and the first state always stay."""
        frames = {f: sum(a.nbytes for a in frame.values() if hasattr(a, "nbytes")) for f, frame in self.frames.items()}
        states = {f: len(s) for f, s in self.states.items()}
        total = sum(frames.values()) + sum(states.values())
        while total > gigabytes * 1e9:
            old = next((f for f in self.states if f != start and f != next(reversed(self.states))), None)
            if len(self.frames) > 1:
                total -= frames[next(iter(self.frames))]
                self.frames.popitem(last=False)
            elif old is not None:
                total -= states[old]
                del self.states[old]
            else:
                return


class Cook:
    """One cook of one node."""

    def __init__(self, node, hou):
        self.node, self.hou, self.panel = node, hou, Panel(node)
        self.start = int(self.panel.value("start_frame", 0))
        self.samples = min(64, max(1, int(self.panel.value("collider_samples", 0))))
        inputs = node.inputs()
        self.inputs = [inputs[i] if i < len(inputs) else None for i in range(len(INPUTS))]
        self.moves = [i is not None and i.isTimeDependent() for i in self.inputs]
        self.warnings = []

    def geometry(self, index, frame):
        return self.node.inputGeometryAtFrame(frame, index) if self.inputs[index] is not None else None

    def pieces(self, index, frame):
        return pieces(self.geometry(index, frame), INPUTS[index], self.panel, self.hou, frame)

    def key(self):
        digest = hashlib.sha256()
        for row in self.panel.rows.values():
            if row["effect"] in ("simulation", "input"):
                changes = self.panel.animated(row)
                if changes and not row["animated"]:
                    self.warnings.append(f"{row['label']}: is animated but can only be read at the start frame")
                digest.update(repr((row["name"], changes and row["animated"] or self.panel.value(row["name"], self.start))).encode())
        for index, moves in enumerate(self.moves):
            digest.update(repr((index, self.inputs[index] is not None, moves)).encode())
            if self.inputs[index] is None or moves:
                continue
            if index == FORCES:
                digest.update(repr(forces(self.geometry(index, self.start), self.hou)).encode())
            else:
                for name, p in self.pieces(index, self.start).items():
                    digest.update(name.encode() + p.points.tobytes() + p.triangles.tobytes() + repr(sorted(p.own.items())).encode())
                    for attribute, values in sorted(p.painted.items()):
                        digest.update(attribute.encode() + values.tobytes())
        return digest.hexdigest()

    def scene(self):
        """The scene and its meshes at the start frame, and what of it changes with the frame."""
        panel, start = self.panel, self.start
        scene = {"meniscus": 1, "name": self.node.name(), "frames": [start, max(start, int(panel.value("end_frame", start)))]}
        rate = fractions.Fraction(self.hou.fps()).limit_denominator(1001)
        scene["fps"] = rate.numerator if rate.denominator == 1 else [rate.numerator, rate.denominator]
        domain = panel.value("domain", start)
        wind = panel.animated(panel.rows["wind_drag"]) or panel.value("wind_drag", start) != 0
        self.keyed, self.moving, self.meshes = [], {}, {}
        scene["liquids"] = [{"name": "liquid"}]
        pushes = forces(self.geometry(FORCES, start), self.hou)
        if pushes:
            scene["forces"] = [{kind: dict(numbers)} for kind, numbers in pushes]
        for i, (kind, numbers) in enumerate(pushes if self.moves[FORCES] else ()):
            for name in ("acceleration", "center", "strength"):
                if name in numbers:
                    self.keyed.append(Keyed(f"forces[{i}].{kind}.{name}", name, "forces", i))
        for row in panel.of("scene"):
            path = row.get("path", "")
            if not path or path.startswith("frames"):
                continue
            if path.startswith("domain.") and domain == "none" or path.startswith("forces[wind]") and not wind:
                continue
            path = path.replace("[wind]", f"[{len(pushes)}]")
            if row["animated"] and panel.animated(row):
                self.keyed.append(Keyed(path, row, None, None))
                put(scene, path, {"keys": [[start, self.number(row, start)]]})
            elif row.get("absent") != panel.value(row["name"], start):
                put(scene, path, self.number(row, start))
        container = self.geometry(CONTAINER, start)
        if domain == "auto" and container is not None and container.points():
            box = container.boundingBox()
            scene["domain"]["min"], scene["domain"]["max"] = list(box.minvec()), list(box.maxvec())
        for index in (SOURCES, COLLIDERS, BODIES):
            for name, piece in self.pieces(index, start).items():
                self.add(scene, index, name, piece)
        return scene

    def number(self, row, frame, own=None):
        value = (own or {}).get(row["name"])
        value = self.panel.value(row["name"], frame) if value is None else value
        return value * row["factor"] if "factor" in row else value

    def add(self, scene, index, name, piece):
        """Add a piece to the scene."""
        mode = self.number(self.panel.rows["source_mode"], self.start, piece.own) if index == SOURCES else ""
        where = {COLLIDERS: "colliders", BODIES: "bodies"}.get(index) or {"emit": "emitters", "drain": "sinks"}.get(mode, "initial")
        place = f"{where}[{len(scene.get(where, []))}]"
        fed = self.moves[index] and where in ("emitters", "colliders")
        file = f"{where}.{name}"
        self.meshes[file] = (piece.points, piece.triangles, piece.painted)
        shape = "samples" if fed else "mesh"
        entry = {"name": name, "shape": {shape: {"files": [[self.start, file]], "by_frame": True} if fed else {"file": file}}}
        scene.setdefault(where, []).append(entry)
        if fed:
            self.moving[name] = (index, where)
        for row in self.panel.of(INPUTS[index]):
            path = row.get("path", "")
            if not path or where == "initial" and path != "velocity" or where == "sinks" and path != "active":
                continue
            path = path.replace("shape.mesh", f"shape.{shape}")
            changes = self.moves[index] and fed if row["name"] in piece.own else self.panel.animated(row)
            value = self.number(row, self.start, piece.own)
            if row["animated"] and changes and where not in ("initial", "bodies"):
                self.keyed.append(Keyed(f"{place}.{path}", row, index, name))
                put(entry, path, {"keys": [[self.start, value]]})
            elif row.get("absent") != value:
                put(entry, path, value)
        own = self.number(self.panel.rows["source_viscosity"], self.start, piece.own) if where in ("initial", "emitters") else -1
        if own >= 0:
            liquids = scene["liquids"]
            found = next((q for q in liquids[1:] if q["viscosity"] == own), None)
            if found is None:
                found = {"name": f"liquid {len(liquids) + 1}", "density": liquids[0]["density"], "viscosity": own}
                liquids.append(found)
                # Which is where can then be seen on the surface.
                scene.setdefault("outputs", {})["attributes"] = ["viscosity"]
            entry["liquid"] = found["name"]

    def send(self, simulation, first, last):
        """Everything that depends on time, from a frame to the next."""
        times = [first + i / self.samples for i in range(self.samples + 1)] if last > first else [first]
        # Numbers of the panel are sent from the start on: the clock adds up their past.
        every = [self.start + i / self.samples for i in range((int(last) + 1 - self.start) * self.samples + 1)]
        indices = {index for index, _ in self.moving.values()} | {k.list for k in self.keyed if k.list in (SOURCES, COLLIDERS)}
        read = {i: [(t, self.pieces(i, t)) for t in (times if self.moves[i] else times[:1])] for i in indices}
        pushes = [(t, forces(self.geometry(FORCES, t), self.hou)) for t in times] if self.moves[FORCES] else []
        for path, row, where, name in self.keyed:
            if where is None:
                keys = [[t, self.number(row, t)] for t in every]
            elif where == "forces":
                keys = [[t, now[name][1][row]] for t, now in pushes if name < len(now)]
            else:
                found = read[where] if self.moves[where] else [(t, read[where][0][1]) for t in times]
                keys = [[t, self.number(row, t, now[name].own)] for t, now in found if name in now]
            if keys:
                simulation.set_keys(path, keys)
        for name, (index, where) in self.moving.items():
            samples = [sample(t, found.get(name)) for t, found in read[index]]
            simulation.set_geometry(name, samples, COLLIDER if where == "colliders" else EMITTER)
        for index in (i for i in read if self.moves[i]):
            for stranger in {n for _, found in read[index] for n in found} - {n for n, (i, _) in self.moving.items() if i == index}:
                if index != SOURCES:
                    self.warnings.append(f"{stranger}: was not there at the start frame and is left out; have it there from the start")

    def run(self, shot, wanted):
        """Step to a frame from the nearest that is at hand."""
        scene = self.scene()
        if not scene.get("initial") and not scene.get("emitters"):
            raise self.hou.NodeError("Sources: there is nothing to simulate: wire a closed mesh into the first input")
        if shot.simulation is None:
            limit = int(self.panel.value("memory_limit", 0) * 1e9)
            shot.simulation = meniscus.Simulation(scene, threads=self.hou.maxThreads(), memory_limit=limit, meshes=self.meshes)
            self.keep(shot)
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
        speed, report = self.panel.value("time_scale", s.frame) / unit, s.report
        frame = {"P": (s.field("surface.position") / unit).astype(numpy.float32),
                 "triangles": s.field("surface.triangle").astype(numpy.int64)[:, ::-1],
                 "v": (s.field("surface.velocity") * speed).astype(numpy.float32), "report": report, "warnings": report["warnings"]}
        frame["surface"] = carried(s, "surface.", len(frame["P"]))
        if self.panel.value("output", self.start) != "surface":
            frame["points"] = (s.field("particle.position") / unit).astype(numpy.float32)
            frame["speeds"] = (s.field("particle.velocity") * speed).astype(numpy.float32)
            frame["particle"] = carried(s, "particle.", len(frame["points"]))
            frame["pscale"] = 0.5 * self.panel.value("particle_separation", self.start) / unit
        names = self.pieces(BODIES, self.start)
        frame["bodies"] = {p["name"]: (names[p["name"]], p) for p in report.get("colliders", []) if p["name"] in names}
        frame["unit"] = unit
        shot.frames[s.frame] = frame
        every = max(1, int(self.panel.value("checkpoint_every", 0)))
        if (s.frame - self.start) % every == 0:
            shot.states[s.frame] = s.save()
        shot.forget_old(self.panel.value("cache_memory", 0), self.start)


def carried(simulation, kind, count):
    """Every field of a kind that has a value for each point and is not copied by its name."""
    out = {}
    for name in simulation.field_names:
        own = name[len(kind):]
        if name.startswith(kind) and own not in ("position", "velocity", "triangle"):
            values = numpy.array(simulation.field(name))
            if count and len(values) == count:
                out[own] = values.reshape(count, -1)
    return out


def sample(time, piece):
    """One timed mesh; without triangles the object is not there."""
    if piece is None:
        return (time, numpy.zeros((0, 3), numpy.float32), numpy.zeros((0, 3), numpy.uint32))
    return (time, piece.points, piece.triangles, piece.speeds, piece.painted)


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


def fill_preset(node):
    """Fill in the numbers of the chosen preset; the script of its menu."""
    panel = Panel(node)
    chosen = panel.value("preset", 0)
    for item in panel.rows["preset"]["items"]:
        for name, value in item.get("sets", {}).items() if item["value"] == chosen else ():
            parm = node.parm(panel.rows[name].get("houdini", name))
            if parm is not None:
                parm.set(value)


def cook(node, hou=None):
    """Cook a Python SOP."""
    hou = hou or __import__("hou")
    work = Cook(node, hou)
    key = work.key()
    shot = _shots.get(node.sessionId())
    if shot is None or shot.key != key:
        shot = _shots[node.sessionId()] = Shot(key)
    wanted = max(work.start, int(hou.frame() // 1))
    output = work.panel.value("output", work.start)
    try:
        if wanted not in shot.frames or output != "surface" and "points" not in shot.frames[wanted]:
            shot.frames.pop(wanted, None)
            work.run(shot, wanted)
            if wanted not in shot.frames:
                work.keep(shot)
    except meniscus.Error as error:
        if error.code != CANCELLED:
            raise hou.NodeError(str(error)) from None
    whole = max((f for f in shot.frames if f <= wanted), default=None)
    if whole is not None:
        frame = shot.frames[whole]
        write(node.geometry(), frame, output, bool(work.panel.value("output_velocity", work.start)),
              bool(work.panel.value("output_bodies", work.start)), hou)
        work.warnings += frame["warnings"]
    if work.warnings:
        # Houdini shows it on the node, and the geometry stays.
        raise hou.NodeWarning("\n".join(dict.fromkeys(work.warnings)))


def write(geometry, frame, output, velocity, bodies, hou):
    geometry.clear()
    places, speeds, polygons, names = [], [], [], []
    columns = {}

    def add(points, moves, attributes):
        start = sum(len(p) for p in places)
        for name, values in attributes.items():
            columns.setdefault(name, []).append((start, values))
        places.append(points)
        speeds.append(moves if moves is not None else numpy.zeros_like(points))
        return start

    if output != "particles":
        add(frame["P"], frame["v"], frame["surface"])
        polygons += frame["triangles"].tolist()
        names += [""] * len(frame["triangles"])
    if output != "surface":
        scale = numpy.full((len(frame["points"]), 1), frame["pscale"], numpy.float32)
        add(frame["points"], frame["speeds"], {**frame["particle"], "pscale": scale})
    for name, (piece, pose) in frame["bodies"].items() if bodies else ():
        start = add(placed(piece.points, pose, frame["unit"]), None, {})
        polygons += (piece.triangles.astype(numpy.int64)[:, ::-1] + start).tolist()
        names += [name] * len(piece.triangles)
    count = sum(len(p) for p in places)
    if count:
        made = geometry.createPoints(numpy.concatenate(places).tolist())
        shapes = geometry.createPolygons([tuple(made[i] for i in t) for t in polygons])
        if velocity:
            geometry.addAttrib(hou.attribType.Point, "v", (0.0, 0.0, 0.0))
            geometry.setPointFloatAttribValuesFromString("v", numpy.concatenate(speeds).astype(numpy.float32).tobytes())
        for name, parts in columns.items():
            width = parts[0][1].shape[1]
            whole = numpy.issubdtype(parts[0][1].dtype, numpy.integer)
            values = numpy.zeros((count, width), numpy.int32 if whole else numpy.float32)
            for start, part in parts:
                values[start : start + len(part)] = part
            zero = 0 if whole else 0.0
            geometry.addAttrib(hou.attribType.Point, name, zero if width == 1 else (zero,) * width)
            if whole:
                geometry.setPointIntAttribValues(name, values.ravel().tolist())
            else:
                geometry.setPointFloatAttribValuesFromString(name, values.tobytes())
        if any(names):
            geometry.addAttrib(hou.attribType.Prim, "name", "")
            for prim, name in zip(shapes, names):
                if name:
                    prim.setAttribValue("name", name)
    report = frame["report"]
    expected = report["litres_expected"]
    details = {"sim_volume": 1e-3 * report["litres"], "sim_volume_error": report["litres"] / expected - 1 if expected > 0 else 0.0,
               "sim_substeps": report["substeps"], "sim_iters": report["iterations"], "sim_time_ms": 1e3 * report["seconds"],
               "sim_mem_mb": 1e-6 * report["memory_bytes"], "sim_max_speed": report["max_speed"], "sim_residual": report["residual"]}
    for name, value in details.items():
        geometry.addAttrib(hou.attribType.Global, name, 0.0)
        geometry.setGlobalAttribValue(name, float(value))
    geometry.addAttrib(hou.attribType.Global, "sim_warnings", "")
    geometry.setGlobalAttribValue("sim_warnings", "\n".join(frame["warnings"]))


def placed(points, pose, unit):
    """Points of a body in the place that the simulation says, in the scene's units."""
    w, x, y, z = pose["rotate_quaternion_wxyz"]
    turn = numpy.array([[1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
                        [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
                        [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)]])
    return (pose["scale"] * points @ turn.T + numpy.array(pose["translate"]) / unit).astype(numpy.float32)
