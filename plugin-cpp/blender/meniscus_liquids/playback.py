"""The result as ordinary Blender data: an object whose Mesh Sequence Cache reads one USD file a frame.

No frame handler runs, and a render node needs no add-on: the modifier, the velocity for motion blur and the
carried attributes are Blender's own. Particles are a point cloud with the same modifier. Floating bodies get keys in
an action of their own, made anew from the reports of a version whenever it is shown.
"""

import json
import math
import pathlib

import bpy
from mathutils import Matrix, Quaternion

from . import export, properties, units

SURFACE, PARTICLES = "/liquid/surface", "/liquid/particles"
MODIFIER = "Meniscus"
# The action that a body had before the bake.
BEFORE = "meniscus_action"
# Colour, roughness, transmission, index of refraction.
_LOOKS = {
    "honey": ((0.95, 0.45, 0.05), 0.05, 0.85, 1.49),
    "water": ((0.95, 0.98, 1.0), 0.0, 1.0, 1.33),
    "milk": ((0.95, 0.93, 0.88), 0.25, 0.0, 1.35),
    "chocolate": ((0.10, 0.035, 0.012), 0.2, 0.0, 1.46),
    "oil": ((0.85, 0.75, 0.25), 0.02, 0.9, 1.47),
    "ketchup": ((0.5, 0.02, 0.01), 0.25, 0.0, 1.4),
    "lava": ((0.9, 0.15, 0.02), 0.6, 0.0, 1.5),
    "blood": ((0.25, 0.005, 0.005), 0.1, 0.2, 1.37),
    "mercury": ((0.8, 0.8, 0.82), 0.02, 0.0, 1.5),
    "icing": ((0.93, 0.62, 0.68), 0.3, 0.0, 1.45),
}


def surface_file(cache: pathlib.Path, frame: int) -> pathlib.Path:
    sign = "-" if frame < 0 else ""
    return cache / "surface" / f"{sign}{abs(frame):04d}.usdc"


def show(context, domain, cache: pathlib.Path):
    """Make the result object, or lead it to another version."""
    first = next(iter(sorted(cache.glob("surface/*.usdc"))), None)
    if first is None:
        return None
    settings = domain.meniscus.domain
    if settings.result is None or settings.result.name not in bpy.data.objects:
        mesh = bpy.data.meshes.new(f"{domain.name} Liquid")
        mesh.materials.append(material(settings.look or settings.preset))
        settings.result = _make(context, mesh)
    shown = [(settings.result, SURFACE)]
    if has_particles(cache):
        if settings.spray is None or settings.spray.name not in bpy.data.objects:
            settings.spray = _make(context, bpy.data.pointclouds.new(f"{domain.name} Particles"))
            settings.spray.modifiers.new(MODIFIER, "MESH_SEQUENCE_CACHE")
            settings.spray.modifiers.new("Never Empty", "NODES").node_group = _never_empty()
        shown.append((settings.spray, PARTICLES))
    else:
        forget(settings.spray)
    path = bpy.path.relpath(str(first)) if bpy.data.filepath else str(first)
    # A unit of the .blend may be anything; files are in metres with Y up.
    unit = export.unit_length(context.scene, settings)
    file = None
    for obj, place in shown:
        modifier = obj.modifiers.get(MODIFIER)
        if modifier is None:
            modifier = obj.modifiers.new(MODIFIER, "MESH_SEQUENCE_CACHE")
            # What the artist put behind it stays behind it.
            obj.modifiers.move(len(obj.modifiers) - 1, 0)
        # The particles are in the file of the surface.
        file = file or modifier.cache_file or _open(str(first))
        modifier.cache_file, modifier.object_path = file, place
        # Vectors in the object's space are scaled with it, so velocities stay right.
        obj.matrix_world = units.TO_BLENDER @ Matrix.Scale(1.0 / unit, 4)
    if file.filepath != path:
        file.filepath = path
    file.is_sequence = True
    file.velocity_unit = "SECOND"
    return settings.result


def _never_empty():
    """Nodes that add one point without a size: Blender 5.0 ends when it renders a point cloud without any."""
    name = "Meniscus Never Empty"
    found = bpy.data.node_groups.get(name)
    if found:
        return found
    made = bpy.data.node_groups.new(name, "GeometryNodeTree")
    for way in ("INPUT", "OUTPUT"):
        made.interface.new_socket("Geometry", in_out=way, socket_type="NodeSocketGeometry")
    kinds = ("NodeGroupInput", "GeometryNodePoints", "GeometryNodeJoinGeometry", "NodeGroupOutput")
    given, one, join, out = (made.nodes.new(kind) for kind in kinds)
    one.inputs["Count"].default_value, one.inputs["Radius"].default_value = 1, 0.0
    for source in (one, given):
        made.links.new(source.outputs[0], join.inputs[0])
    made.links.new(join.outputs[0], out.inputs[0])
    return made


def has_particles(cache: pathlib.Path) -> bool:
    """Whether a version was baked with particles; its scene says so."""
    try:
        scene = json.loads((cache / "scene.json").read_text(encoding="utf-8"))
        return bool(scene.get("outputs", {}).get("particles"))
    except (OSError, ValueError):
        return False


def forget(obj):
    """An object shows nothing any more; it stays, with its material."""
    modifier = obj.modifiers.get(MODIFIER) if obj else None
    if modifier:
        file = modifier.cache_file
        obj.modifiers.remove(modifier)
        if file and file.users == 0:
            bpy.data.batch_remove([file])


def refresh(domain):
    """Read the shown frame again after it appeared on the disk."""
    settings = domain.meniscus.domain
    for obj in (settings.result, settings.spray):
        if obj is not None:
            obj.update_tag()


def report_of(cache: pathlib.Path, frame: int):
    """What the simulation said about a frame, or None."""
    sign = "-" if frame < 0 else ""
    try:
        return json.loads((cache / "report" / f"{sign}{abs(frame):04d}.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None


def frame_arrived(context, domain, cache: pathlib.Path, report: dict):
    """A frame is whole: show it, and let floating bodies follow."""
    if domain is None:
        return
    settings = domain.meniscus.domain
    if settings.result is None or settings.result.modifiers.get(MODIFIER) is None:
        show(context, domain, cache)
    else:
        current = settings.result.modifiers[MODIFIER].cache_file
        if current is None or cache.name not in current.filepath:
            show(context, domain, cache)
    if report["frame"] == context.scene.frame_current:
        refresh(domain)
    key_bodies(context, domain, report)


def _open(path: str):
    known = set(bpy.data.cache_files.keys())
    bpy.ops.cachefile.open(filepath=path)
    return next(c for c in bpy.data.cache_files if c.name not in known)


def _make(context, data):
    obj = bpy.data.objects.new(data.name, data)
    collection = bpy.data.collections.get("Meniscus")
    if collection is None:
        collection = bpy.data.collections.new("Meniscus")
    if collection.name not in context.scene.collection.children:
        context.scene.collection.children.link(collection)
    collection.objects.link(obj)
    return obj


def material(look: str):
    """A first material, by the name of a preset or of a look; artists change it."""
    key = next((k for k in _LOOKS if k in look), "water")
    name = f"Meniscus {key.capitalize()}"
    found = bpy.data.materials.get(name)
    if found:
        return found
    color, roughness, transmission, ior = _LOOKS[key]
    made = bpy.data.materials.new(name)
    made.use_nodes = True
    made.diffuse_color = (*color, 1.0)
    shader = next(n for n in made.node_tree.nodes if n.type == "BSDF_PRINCIPLED")
    shader.inputs["Base Color"].default_value = (*color, 1.0)
    shader.inputs["Roughness"].default_value = roughness
    shader.inputs["IOR"].default_value = ior
    shader.inputs["Transmission Weight"].default_value = transmission
    if key == "mercury":
        shader.inputs["Metallic"].default_value = 1.0
    return made


def release(obj):
    """Take the keys of the bake from a body and put it back to where it stood."""
    place = properties.rest(obj)
    if place is None:
        return
    action = obj.animation_data.action if obj.animation_data else None
    before = bpy.data.actions.get(obj.get(BEFORE, ""))
    if obj.animation_data:
        obj.animation_data.action = before
    if action is not None and action.get(properties.REST) and action.users == 0:
        bpy.data.actions.remove(action)
    obj.matrix_world = place
    for name in (properties.REST, BEFORE):
        if name in obj:
            del obj[name]


def _own_action(obj):
    """The action for the keys of the bake; what the body had before is kept for later."""
    data = obj.animation_data or obj.animation_data_create()
    if data.action is None or not data.action.get(properties.REST):
        if data.action is not None:
            obj[BEFORE] = data.action.name
            data.action.use_fake_user = True
        data.action = bpy.data.actions.new(f"{obj.name} Floating")
        data.action[properties.REST] = True
    return data.action


def curves(action) -> list:
    """The curves of an action: they moved into slots in Blender 4.4, and the old way went in 5.0."""
    if action is None:
        return []
    if hasattr(action, "fcurves"):
        return list(action.fcurves)
    bags = (bag for layer in action.layers for strip in layer.strips for bag in strip.channelbags)
    return [curve for bag in bags for curve in bag.fcurves]


def key_bodies(context, domain, report: dict):
    """Keys on floating bodies at a frame, from where the simulation says that they are."""
    poses = {p["name"]: p for p in report.get("colliders", [])}
    unit = export.unit_length(context.scene, domain.meniscus.domain)
    for obj in properties.objects(context.scene, "BODY"):
        pose = poses.get(obj.name)
        if pose is None or not all(math.isfinite(x) for x in pose["translate"]):
            continue
        if properties.REST not in obj:
            obj[properties.REST] = [x for row in obj.matrix_world for x in row]
        action = _own_action(obj)
        turn = Quaternion(pose["rotate_quaternion_wxyz"]).to_matrix().to_4x4()
        move = Matrix.Translation([x / unit for x in pose["translate"]])
        # The mesh was exported where it stood, so the pose is what happened since then.
        place = units.TO_BLENDER @ move @ turn @ units.TO_SCENE @ properties.rest(obj)
        obj.rotation_mode = "QUATERNION"
        before = obj.rotation_quaternion.copy()
        obj.matrix_world = place
        # The same turn has two quaternions; between keys the nearer one is meant.
        obj.rotation_quaternion.make_compatible(before)
        for path in ("location", "rotation_quaternion"):
            obj.keyframe_insert(path, frame=report["frame"])
        for curve in curves(action):
            # Keys come once a frame; a curve between them would swing.
            for key in curve.keyframe_points[-2:]:
                key.interpolation = "LINEAR"


def rekey(context, domain, cache: pathlib.Path):
    """The keys of all bodies anew from the reports of a version; yields after each frame."""
    bodies = properties.objects(context.scene, "BODY")
    if not bodies:
        return
    for obj in bodies:
        for curve in curves(obj.animation_data.action) if properties.rest(obj) is not None and obj.animation_data else []:
            curve.keyframe_points.clear()
    frames = sorted(int(p.stem) for p in cache.glob("report/*.json") if p.stem.lstrip("-").isdigit())
    for frame in frames:
        report = report_of(cache, frame)
        if report:
            key_bodies(context, domain, report)
        yield frame
    # Bodies stand where the shown frame has them.
    context.scene.frame_set(context.scene.frame_current)


def show_all(context, domain, cache: pathlib.Path):
    """Show a version with its bodies, without waiting for anybody."""
    for _ in rekey(context, domain, cache):
        pass
    return show(context, domain, cache)


def register():
    pass


def unregister():
    pass
