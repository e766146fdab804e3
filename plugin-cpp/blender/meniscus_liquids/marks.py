"""What a bake was made of, so that a change since then can be seen, named and taken back.

Numbers of the panel are compared one by one. Of objects the place and the shape are compared by marks that are cheap enough
to be looked at whenever a panel is drawn: where they stand, or the curves that move them; their points, modifiers and shape
keys. What reaches an object from afar (constraints, drivers, simulations, geometry nodes) is not seen, so a
rebake is always offered.
"""

import hashlib
import json

import numpy
from mathutils import Matrix

from . import export, playback, properties, table, units

SCENE = "the scene"
# Points of a mesh that are looked at; of larger ones the box alone.
MOST_POINTS = 200_000
# What may change without making the baked frames wrong.
_FREE = {"end_frame", "memory_limit", "checkpoint_every", "preset"}
_LABELS = {"place": "Place", "motion": "Animation", "shape": "Shape", "force": "Force", "drain": "Outflow", "gravity": "Gravity",
           "fps": "Frame Rate", "first": "First Frame", "unit": "Unit Scale"}


def signature(scene, domain) -> str:
    """Everything that a bake depends on, as JSON: object to name to value."""
    settings = domain.meniscus.domain
    values = {domain.name: _numbers(settings, "scene")}
    group = {"LIQUID": "source", "INFLOW": "source", "OBSTACLE": "collider", "BODY": "body"}
    for o in properties.objects(scene, "DOMAIN", "LIQUID", "INFLOW", "OBSTACLE", "BODY", "OUTFLOW", "FORCE"):
        if o.meniscus.role == "DOMAIN" and o != domain:
            continue
        of = group.get(o.meniscus.role)
        own = values.setdefault(o.name, _numbers(getattr(o.meniscus, of), of) if of else {})
        if o.meniscus.role == "FORCE":
            force = o.meniscus.force
            own["force"] = [force.kind, *(units.short(x) for x in (force.strength, force.radius, force.drag))]
        if o.meniscus.role == "OUTFLOW":
            own["drain"] = o.meniscus.drain.active
        own.update(_place(o))
        if o.type != "EMPTY":
            own["shape"] = _shape(o)
    # Animated numbers are in the curves; what they are at the shown frame says nothing.
    for o in scene.objects:
        for key in _curved(o) if o.name in values else ():
            values[o.name].pop(key, None)
    values[SCENE] = {"fps": export.fps(scene), "unit": units.short(scene.unit_settings.scale_length)}
    if settings.use_scene_frames:
        values[SCENE]["first"] = scene.frame_start
    if settings.use_scene_gravity and not export.animated(scene):
        values[SCENE]["gravity"] = [units.short(x) for x in scene.gravity] if scene.use_gravity else [0.0, 0.0, 0.0]
    return json.dumps(values, sort_keys=True)


def _numbers(group, of: str) -> dict:
    return {r["name"]: _plain(getattr(group, r["name"])) for r in table.rows(of) if r["name"] not in _FREE}


def _plain(value):
    if isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return units.short(value)
    return [units.short(x) for x in value]


def _actions(obj) -> list:
    """Actions that move an object or what it hangs on."""
    found = []
    while obj is not None:
        if properties.rest(obj) is None:
            keys = getattr(obj.data, "shape_keys", None)
            things = (obj, obj.data, keys)
            found += [t.animation_data.action for t in things if t is not None and t.animation_data and t.animation_data.action]
        obj = obj.parent
    return found


def _curved(obj) -> set:
    """Names of the table's numbers that have curves on an object."""
    action = obj.animation_data.action if obj.animation_data else None
    paths = (c.data_path for c in playback.curves(action))
    return {"drain" if p.startswith("meniscus.drain") else "force" if p.startswith("meniscus.force") else p.split(".")[-1]
            for p in paths if p.startswith("meniscus.")}


def _place(obj) -> dict:
    """Where an object stands, or the curves that say so."""
    found, moved = {}, False
    curves = [c for a in _actions(obj) for c in playback.curves(a)]
    if curves:
        digest = hashlib.blake2b(digest_size=8)
        for curve in curves:
            moved = moved or curve.data_path.startswith(("location", "rotation", "scale", "delta"))
            points = numpy.empty(2 * len(curve.keyframe_points), numpy.float32)
            curve.keyframe_points.foreach_get("co", points)
            ways = [(k.interpolation, *k.handle_left, *k.handle_right) for k in curve.keyframe_points]
            digest.update(f"{curve.data_path}[{curve.array_index}] {ways}".encode() + points.tobytes())
        found["motion"] = digest.hexdigest()
    if not moved:
        # A place that is animated is another one at every frame.
        found["place"] = [units.short(x) for row in properties.rest(obj) or obj.matrix_world for x in row]
    return found


def _shape(obj) -> str:
    digest = hashlib.blake2b(digest_size=8)
    mesh = obj.data if obj.type == "MESH" else None
    if mesh is not None and len(mesh.vertices) <= MOST_POINTS:
        points = numpy.empty(3 * len(mesh.vertices), numpy.float32)
        mesh.vertices.foreach_get("co", points)
        digest.update(points.tobytes())
    else:
        digest.update(repr([tuple(units.short(x) for x in c) for c in obj.bound_box]).encode())
    if mesh is not None:
        digest.update(repr((len(mesh.vertices), len(mesh.edges), len(mesh.polygons))).encode())
        keys = mesh.shape_keys
        if keys is not None and not export.animated(keys):
            digest.update(repr([(k.name, units.short(k.value)) for k in keys.key_blocks]).encode())
    # Values of modifiers may be animated on the object.
    steady = not export.animated(obj)
    for m in obj.modifiers:
        plain = [(p.identifier, getattr(m, p.identifier)) for p in m.bl_rna.properties
                 if p.type in {"BOOLEAN", "INT", "FLOAT", "ENUM"} and not getattr(p, "is_array", False)
                 and p.identifier not in {"show_expanded", "is_active", "show_in_editmode", "show_on_cage"}]
        digest.update(f"{m.type} {m.show_viewport} {plain if steady else ''}".encode())
    return digest.hexdigest()


def changes(scene, domain) -> list:
    """What differs from the bake: (object, row of the table or of a mark, value of the bake, value now)."""
    if not domain.meniscus.domain.baked:
        return []
    before, now = json.loads(domain.meniscus.domain.baked), json.loads(signature(scene, domain))
    found = []
    for name in sorted(before.keys() | now.keys()):
        if name not in now:
            found.append((name, None, "part of the liquid", "gone"))
        elif name not in before:
            found.append((name, None, "not there", "new"))
        else:
            for key in sorted(now[name].keys() | before[name].keys()):
                was, value = before[name].get(key), now[name].get(key)
                if was != value:
                    found.append((name, row(key), was, value))
    return found


def row(key: str) -> dict:
    return {"name": key, "label": _LABELS[key], "mark": True} if key in _LABELS and key != "gravity" else table.row(key)


def describe(change) -> str:
    """A change in words for the panel."""
    name, about, before, now = change
    if about is None:
        return f"{name}: {now}"
    if about.get("mark") or before is None or now is None:
        return f"{name}: {about['label']} changed since the bake"
    return f"{name}: {about['label']}: baked with {_short(before)}, now {_short(now)}"


def _short(value) -> str:
    if isinstance(value, list):
        return " ".join(_short(x) for x in value)
    return f"{value:g}" if isinstance(value, float) else str(value)


def revert(scene, domain) -> list:
    """Bring back the numbers and places of the bake; returns what cannot be brought back, in words."""
    for name, values in json.loads(domain.meniscus.domain.baked).items():
        obj = scene.objects.get(name)
        if name == SCENE or obj is None:
            continue
        m = obj.meniscus
        group = {"DOMAIN": m.domain, "OBSTACLE": m.collider, "BODY": m.body}.get(m.role, m.source)
        for key, value in values.items():
            if key == "place":
                now = [units.short(x) for row in (properties.rest(obj) or obj.matrix_world) for x in row]
                if now != value and properties.rest(obj) is None:
                    obj.matrix_world = Matrix([value[4 * i : 4 * i + 4] for i in range(4)])
            elif key == "force":
                m.force.kind, m.force.strength, m.force.radius, m.force.drag = value
            elif key == "drain":
                m.drain.active = value
            elif hasattr(group, key) and _plain(getattr(group, key)) != value:
                setattr(group, key, value)
    old = json.loads(domain.meniscus.domain.baked).get(SCENE, {})
    if "gravity" in old and scene.use_gravity:
        scene.gravity = old["gravity"]
    if "first" in old:
        scene.frame_start = old["first"]
    return [describe(c) for c in changes(scene, domain)]
