"""Objects with roles become a scene file and meshes beside it.

The export walks through the frames once and yields after each, so that who runs it can show progress, let the
artist cancel, and give Blender its time. Meshes are named by their content: what was written once is not
written again. A mesh at rest is written where it stands. One that only moves is written once, with keys. One that
deforms, or whose scale changes, becomes samples; nobody has to say which it is.
"""

import fractions
import json
import math
import pathlib

import numpy
from mathutils import Matrix, Vector

from . import meshes, properties, table, units

# Modifiers whose result is the same at every frame as long as nothing on the object is animated.
_STEADY = {
    "ARRAY", "BEVEL", "BOOLEAN", "DECIMATE", "EDGE_SPLIT", "MIRROR", "MULTIRES", "REMESH", "SCREW", "SKIN", "SOLIDIFY",
    "SUBSURF", "TRIANGULATE", "WELD", "WIREFRAME", "WEIGHTED_NORMAL", "SMOOTH", "CORRECTIVE_SMOOTH", "CAST",
    "NORMAL_EDIT", "UV_PROJECT", "UV_WARP", "DATA_TRANSFER",
}
GEOMETRY = "geometry"


class BadScene(ValueError):
    """A scene that cannot be baked; the text says what to do."""


class _Track:
    """An object on its way through the frames."""

    def __init__(self, obj):
        self.obj = obj
        self.moves, self.may_deform = _may_change(obj)
        self.first = None
        self.times, self.matrices, self.files = [], [], []
        self.deforms = False


def animated(thing) -> bool:
    """Whether something has curves, drivers or strips."""
    data = getattr(thing, "animation_data", None)
    return bool(data and (data.action or data.drivers or data.nla_tracks))


def _may_change(obj) -> tuple:
    """Whether an object may move, and whether its mesh may deform."""
    moves = animated(obj) or len(obj.constraints) > 0 or obj.rigid_body is not None
    parent = obj.parent
    if parent is not None:
        moves = moves or any(_may_change(parent)) or obj.parent_type in {"ARMATURE", "BONE", "VERTEX"}
    keys = getattr(obj.data, "shape_keys", None)
    deforms = animated(obj.data) or animated(keys) or obj.parent_type == "ARMATURE"
    for modifier in obj.modifiers:
        # An animated object may drive its own modifiers, and a boolean follows another object.
        deforms = deforms or modifier.type not in _STEADY or modifier.type == "BOOLEAN" or animated(obj)
    return moves, deforms


class Exporter:
    """One export. Run :meth:`steps` to its end, then take :attr:`scene`."""

    def __init__(self, context, domain, folder: pathlib.Path):
        self.context, self.blender, self.domain = context, context.scene, domain
        self.settings = domain.meniscus.domain
        self.folder = pathlib.Path(folder)
        self.scene, self.written = None, 0
        # What the artist should know though the bake goes on.
        self.warnings = []
        # Where floating bodies stand at the first frame.
        self.bodies = {}

    def frames(self) -> list:
        if self.settings.use_scene_frames:
            return [self.blender.frame_start, self.blender.frame_end]
        return [self.settings.start_frame, self.settings.end_frame]

    def unit(self) -> float:
        return unit_length(self.blender, self.settings)

    def steps(self):
        """Yields (done, total) after each piece of work."""
        self._check()
        first, last = self.frames()
        was = self.blender.frame_current_final
        try:
            # What is read once is read at the first frame, whichever is shown.
            self._go_to(first)
            self.box = _extent(self.domain, self.context)
            self.opened = {o: list(self._open_sides(o)) for o in properties.objects(self.blender, "OUTFLOW")}
            roles = ("LIQUID", "INFLOW", "OBSTACLE", "BODY")
            drains = [o for o, sides in self.opened.items() if not sides]
            tracks = [_Track(o) for o in properties.objects(self.blender, *roles) + drains]
            # Where a body or a pool goes is for the simulation to say.
            for track in tracks:
                if track.obj.meniscus.role in ("LIQUID", "BODY"):
                    track.moves = track.may_deform = False
            values = [(o, r, g) for o, g, rows in self._groups() for r in rows if r.get("animated")]
            keyed = [(o, r, g) for o, r, g in values if animated(o)]
            forces = properties.objects(self.blender, "FORCE")
            moving = {o for o in forces if _may_change(o)[0]} | {o for o in drains if animated(o)}
            gravity = animated(self.blender) and self.settings.use_scene_gravity
            changing = bool(keyed) or bool(moving) or gravity or any(t.moves or t.may_deform for t in tracks)
            times = self._times(first, last) if changing else [float(first)]
            self.keys = {(o.name, r["name"]): [] for o, r, _ in keyed}
            self.gravity, self.forces, self.active = [], {o: [] for o in forces}, {o: [] for o in drains}
            for i, time in enumerate(times):
                self._go_to(time)
                for track in tracks:
                    if i == 0 or track.moves or track.may_deform:
                        self._sample(track, time)
                for o, r, g in keyed:
                    self.keys[o.name, r["name"]].append([_number(time), table.value(r, g)])
                for o in forces:
                    if i == 0 or o in moving:
                        self.forces[o].append((_number(time), self._force_now(o)))
                for o in drains:
                    if i == 0 or o in moving:
                        self.active[o].append([_number(time), o.meniscus.drain.active])
                self.gravity.append([_number(time), units.to_scene(self.blender.gravity)])
                yield i + 1, len(times)
        finally:
            self._go_to(was)
        self.scene = self._scene(tracks, [first, last])

    def _go_to(self, time: float):
        whole = math.floor(time)
        self.blender.frame_set(whole, subframe=time - whole)

    def _times(self, first: int, last: int) -> list:
        n = self.settings.collider_samples
        return [first + i / n for i in range((last - first) * n + 1)]

    def _check(self):
        first, last = self.frames()
        if last < first:
            raise BadScene(f"The last frame {last} is before the first {first}: change the frame range")
        if not properties.objects(self.blender, "LIQUID", "INFLOW"):
            raise BadScene("Nothing pours: give an object the role Liquid or Inflow (Physics tab > Meniscus)")
        if len(properties.objects(self.blender, "DOMAIN")) > 1:
            raise BadScene("There are several domains: leave the role Domain to one object")
        size = _extent(self.domain, self.context)
        if min(size[1][a] - size[0][a] for a in range(3)) <= 0.0:
            raise BadScene(f"{self.domain.name} is flat: the domain must be a box with a volume")

    def _sample(self, track: _Track, time: float):
        depsgraph = self.context.evaluated_depsgraph_get()
        matrix = track.obj.evaluated_get(depsgraph).matrix_world.copy()
        if track.obj.meniscus.role == "BODY":
            # The bake before may have moved it.
            matrix = self.bodies[track.obj.name] = properties.rest(track.obj) or matrix
        if not all(math.isfinite(x) for row in matrix for x in row):
            raise BadScene(f"{track.obj.name} stands nowhere at frame {time:g}: look at its animation")
        track.times.append(time)
        track.matrices.append(matrix)
        if track.first is None or track.may_deform:
            points, faces, carried = meshes.arrays(track.obj, depsgraph)
            meshes.check(track.obj, points, faces)
            if track.first is None:
                track.first = (points, faces, carried)
            elif not track.deforms:
                old = track.first
                same = numpy.array_equal(old[0], points)
                same = same and all(numpy.array_equal(a, b) for a, b in zip(old[1], faces))
                if not same:
                    self._begin_samples(track, len(track.times) - 1)
        else:
            points, faces, carried = track.first
        if not track.deforms and not _rigid(track.matrices[0], matrix):
            self._begin_samples(track, len(track.times) - 1)
        if track.deforms:
            track.files.append(self._write(meshes.placed(points, matrix), faces, carried))

    def _begin_samples(self, track: _Track, count: int):
        """The mesh turned out to deform: the samples before now were the first mesh, moved."""
        track.deforms = True
        points, faces, carried = track.first
        for matrix in track.matrices[:count]:
            track.files.append(self._write(meshes.placed(points, matrix), faces, carried))

    def _write(self, points, faces, carried) -> str:
        self.written += 1
        return f"{GEOMETRY}/{meshes.write(self.folder / GEOMETRY, points, faces, carried)}"

    def _groups(self):
        """Every object with values of the table: the object, its group, its rows."""
        yield self.domain, self.settings, table.rows("scene")
        for o in properties.objects(self.blender, "INFLOW", "LIQUID"):
            yield o, o.meniscus.source, table.rows("source")
        for o in properties.objects(self.blender, "OBSTACLE"):
            yield o, o.meniscus.collider, table.rows("collider")
        for o in properties.objects(self.blender, "BODY"):
            yield o, o.meniscus.body, table.rows("body")

    def _shape(self, track: _Track):
        """The shape and the transform of an object."""
        points, faces, carried = track.first
        if track.deforms:
            files = [[_number(t), f] for t, f in zip(track.times, track.files)]
            return {"samples": {"files": files}}, None
        if not any(m != track.matrices[0] for m in track.matrices):
            return {"mesh": {"file": self._write(meshes.placed(points, track.matrices[0]), faces, carried)}}, None
        scale = track.matrices[0].to_scale()
        local = meshes.placed(points * numpy.array(scale, numpy.float32), _IDENTITY)
        return {"mesh": {"file": self._write(local, faces, carried)}}, _keys_of(track)

    def _value(self, obj, row, group):
        keys = self.keys.get((obj.name, row["name"]))
        if not keys:
            return table.value(row, group)
        # A switch that is off is a value too, so what would be left out is written here.
        return _keyed([[t, _written(v, row)] for t, v in keys])

    def _entry(self, track: _Track, group, of: str) -> dict:
        obj = track.obj
        shape, transform = self._shape(track)
        entry = {"name": obj.name, "shape": shape}
        if transform:
            entry["transform"] = transform
        kind = next(iter(shape))
        detail = self._detail(track) if of == "source" else None
        if detail:
            entry["shape"][kind]["detail"] = detail
        for row in table.rows(of):
            path = row.get("path")
            if path is None or (of == "source" and obj.meniscus.role == "LIQUID" and row.get("when")):
                continue
            found = self._value(obj, row, group)
            if found is not None and not (isinstance(found, dict) and obj.meniscus.role == "LIQUID"):
                put(entry, path.replace("shape.mesh", f"shape.{kind}"), found)
        return entry

    def _detail(self, track: _Track):
        """A thread thinner than a cell is still seen if its distance is kept in finer cells."""
        placed = meshes.placed(track.first[0], track.matrices[0])
        size = placed.max(axis=0) - placed.min(axis=0)
        low, high = self.box
        cell = max(high[a] - low[a] for a in range(3)) / self.settings.divisions
        fine = max(float(size.min()) / 6, float(size.max()) / 200)
        return units.short(fine) if 0.0 < fine < cell else None

    def _scene(self, tracks: list, frames: list) -> dict:
        s = self.settings
        low, high = self.box
        scene = {
            "meniscus": 1,
            "name": self.domain.name,
            "frames": frames,
            "fps": fps(self.blender),
            "unit_length": self.unit(),
            "domain": {"min": low, "max": high},
            "liquids": [{"name": "liquid"}],
            "gravity": self._gravity(),
            "outputs": {"surface": "usdc", "particles": s.particles, "checkpoint_every": s.checkpoint_every},
        }
        if s.memory_limit > 0:
            scene["memory_limit"] = units.short(s.memory_limit)
        by_hand = {"gravity", "start_frame", "end_frame", "unit_length"}
        for row in table.rows("scene"):
            if "path" in row and row["name"] not in by_hand and not row["path"].startswith("forces"):
                found = self._value(self.domain, row, s)
                if found is not None:
                    put(scene, row["path"], found)
        lists = {"LIQUID": ("initial", "source"), "INFLOW": ("emitters", "source"),
                 "OBSTACLE": ("colliders", "collider"), "BODY": ("bodies", "body")}
        for track in tracks:
            if track.obj.meniscus.role == "OUTFLOW":
                scene.setdefault("sinks", []).append(self._sink(track))
                continue
            place, of = lists[track.obj.meniscus.role]
            group = getattr(track.obj.meniscus, of)
            entry = self._entry(track, group, of)
            if of == "source":
                self._own_liquid(scene, entry, group)
            scene.setdefault(place, []).append(entry)
        for sides in self.opened.values():
            for side in sides:
                scene["domain"].setdefault("sides", {})[side] = "open"
        forces = [self._force(o) for o in self.forces]
        velocity, drag = (self._value(self.domain, table.row(n), s) for n in ("wind", "wind_drag"))
        if drag:
            forces.append({"wind": {"velocity": velocity, "drag": drag}})
        if forces:
            scene["forces"] = forces
        return scene

    def _gravity(self):
        if not self.settings.use_scene_gravity:
            return self._value(self.domain, table.row("gravity"), self.settings)
        if not self.blender.use_gravity:
            return [0.0, 0.0, 0.0]
        return _keyed(self.gravity)

    def _open_sides(self, obj):
        """Sides that the box of an outflow covers from edge to edge."""
        (low, high), box = self.box, _extent(obj, self.context)
        slack = 1e-3 * max(high[a] - low[a] for a in range(3))
        for a, axis in enumerate("xyz"):
            across = [b for b in range(3) if b != a]
            if any(box[0][b] > low[b] + slack or box[1][b] < high[b] - slack for b in across):
                continue
            if box[0][a] <= low[a] + slack:
                yield f"{axis}_min"
            if box[1][a] >= high[a] - slack:
                yield f"{axis}_max"

    def _sink(self, track: _Track) -> dict:
        """An outflow that covers no side of the domain swallows what comes into it."""
        shape, transform = self._shape(track)
        entry = {"name": track.obj.name, "shape": shape}
        if transform:
            entry["transform"] = transform
        active = _keyed(self.active[track.obj])
        if active is not True:
            entry["active"] = active
        return entry

    def _own_liquid(self, scene: dict, entry: dict, group):
        """A source with a viscosity of its own pours another liquid; those of one viscosity are one liquid."""
        own = units.short(group.source_viscosity)
        if own < 0:
            return
        liquids = scene["liquids"]
        found = next((q for q in liquids[1:] if q["viscosity"] == own), None)
        if found is None:
            found = {"name": f"liquid {len(liquids) + 1}", "density": liquids[0]["density"], "viscosity": own}
            liquids.append(found)
            # Which is where can then be seen on the surface.
            scene["outputs"]["attributes"] = ["viscosity"]
        entry["liquid"] = found["name"]

    def _force_now(self, obj) -> dict:
        """The numbers of a force at the present frame."""
        force, matrix = obj.meniscus.force, obj.evaluated_get(self.context.evaluated_depsgraph_get()).matrix_world
        axis = units.to_scene((matrix.to_3x3() @ Vector((0, 0, 1))).normalized())
        center, strength = units.to_scene(matrix.translation), units.short(force.strength)
        along = [units.short(strength * a) for a in axis]
        radius = units.short(force.radius)
        kinds = {
            "uniform": {"acceleration": along},
            "vortex": {"center": center, "axis": axis, "strength": strength, "radius": radius},
            "point": {"center": center, "strength": strength, "radius": radius},
            "wind": {"velocity": along, "drag": units.short(force.drag)},
        }
        return kinds[force.kind]

    def _force(self, obj) -> dict:
        samples = self.forces[obj]
        entry = {name: _keyed([[t, now[name]] for t, now in samples]) for name in samples[0][1]}
        for name in ("axis", "radius"):
            if isinstance(entry.get(name), dict):
                entry[name] = samples[0][1][name]
                self.warnings.append(f"{obj.name}: the {name} of a force cannot be animated and is that of the first frame")
        return {obj.meniscus.force.kind: entry}


_IDENTITY = Matrix.Identity(4)


def _keyed(keys: list):
    """Keys, or their one value if it never changes."""
    return {"keys": keys} if any(k[1] != keys[0][1] for k in keys) else keys[0][1]


def _written(value, row):
    return row["absent"] if value is None else value


def _number(time: float):
    return int(time) if time == int(time) else time


def _rigid(a, b) -> bool:
    """Whether an object that stood at a and stands at b only moved and turned, with the same scale."""
    sa, sb = a.to_scale(), b.to_scale()
    if any(abs(x - y) > 1e-5 * max(abs(x), abs(y), 1e-9) for x, y in zip(sa, sb)):
        return False
    for m, s in ((a, sa), (b, sb)):
        rows = m.to_3x3()
        columns = [rows.col[i].normalized() for i in range(3)]
        if min(abs(x) for x in s) == 0.0 or max(abs(columns[i].dot(columns[j])) for i, j in ((0, 1), (0, 2), (1, 2))) > 1e-5:
            return False
    return True


def _keys_of(track: _Track) -> dict:
    """Keys of a rigid motion in the scene's axes; angles go on across whole turns."""
    moved, turned, before = [], [], None
    for time, matrix in zip(track.times, track.matrices):
        place, turn, _ = matrix.decompose()
        turn = (units.TO_SCENE.to_3x3() @ turn.to_matrix() @ units.TO_BLENDER.to_3x3()).to_euler("XYZ")
        if before is not None:
            turn.make_compatible(before)
        before = turn
        moved.append([_number(time), units.to_scene(place)])
        turned.append([_number(time), [math.degrees(x) + 0.0 for x in turn]])
    out = {}
    for name, keys in (("translate", moved), ("rotate", turned)):
        out[name] = _keyed(keys)
    return out


def _extent(obj, context) -> tuple:
    """Lowest and highest corner of an object's box in the scene's axes, scene units."""
    evaluated = obj.evaluated_get(context.evaluated_depsgraph_get())
    corners = [units.to_scene(obj.matrix_world @ Vector(c)) for c in evaluated.bound_box]
    return [min(c[a] for c in corners) for a in range(3)], [max(c[a] for c in corners) for a in range(3)]


def unit_length(blender, settings) -> float:
    """Metres in a unit of the .blend."""
    return units.short(settings.unit_length * blender.unit_settings.scale_length)


def size_in_metres(domain, blender) -> list:
    unit = unit_length(blender, domain.meniscus.domain)
    return [d * unit for d in domain.dimensions]


def fps(blender):
    render = blender.render
    rate = fractions.Fraction(render.fps) / fractions.Fraction(str(units.short(render.fps_base)))
    return rate.numerator if rate.denominator == 1 else [rate.numerator, rate.denominator]


def put(scene: dict, path: str, value):
    """Set a value at a path such as liquids[0].density."""
    at = scene
    *folders, last = path.replace("[0]", ".0").split(".")
    for part in folders:
        at = at[int(part)] if part.isdigit() else at.setdefault(part, {})
    at[last] = value


def text(scene: dict) -> str:
    """The scene file: one line a top-level value, so that differences can be read."""
    lines = [f"  {json.dumps(key)}: {json.dumps(value)}" for key, value in scene.items()]
    return "{\n" + ",\n".join(lines) + "\n}\n"
