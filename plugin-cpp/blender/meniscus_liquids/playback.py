"""The result as ordinary Blender data: an object whose Mesh Sequence Cache reads one USD file a frame.

No frame handler runs, and a render node needs no add-on: the modifier, the velocity for motion blur and the
carried attributes are Blender's own.
"""

import math
import pathlib

import bpy
from mathutils import Matrix, Quaternion

from . import export, properties, units

SURFACE = "/liquid/surface"
# Colour and roughness, transmission, index of refraction, density of the colour within (1/m).
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
    obj = settings.result
    if obj is None or obj.name not in bpy.data.objects:
        obj = _make(context, domain)
        settings.result = obj
    modifier = obj.modifiers.get("Meniscus") or obj.modifiers.new("Meniscus", "MESH_SEQUENCE_CACHE")
    path = str(first)
    if bpy.data.filepath:
        path = bpy.path.relpath(path)
    if modifier.cache_file is None:
        modifier.cache_file = _open(str(first))
    if modifier.cache_file.filepath != path:
        modifier.cache_file.filepath = path
    modifier.cache_file.is_sequence = True
    modifier.cache_file.velocity_unit = "SECOND"
    modifier.object_path = SURFACE
    # A unit of the .blend may be anything; files are in metres with Y up.
    unit = export.unit_length(context.scene, settings)
    obj.matrix_world = units.TO_BLENDER @ Matrix.Scale(1.0 / unit, 4)
    # Vectors in the object's space are scaled with it, so velocities stay right.
    return obj


def refresh(domain):
    """Read the shown frame again after it appeared on the disk."""
    obj = domain.meniscus.domain.result if domain else None
    if obj is not None:
        obj.update_tag()


def frame_arrived(context, domain, cache: pathlib.Path, report: dict):
    """A frame is whole: show it, and let floating bodies follow."""
    if domain is None:
        return
    settings = domain.meniscus.domain
    if settings.result is None or settings.result.modifiers.get("Meniscus") is None:
        show(context, domain, cache)
    else:
        current = settings.result.modifiers["Meniscus"].cache_file
        if current is None or cache.name not in current.filepath:
            show(context, domain, cache)
    if report["frame"] == context.scene.frame_current:
        refresh(domain)
    _move_bodies(context, domain, report)


def _open(path: str):
    known = set(bpy.data.cache_files.keys())
    bpy.ops.cachefile.open(filepath=path)
    return next(c for c in bpy.data.cache_files if c.name not in known)


def _make(context, domain):
    name = f"{domain.name} Liquid"
    mesh = bpy.data.meshes.new(name)
    obj = bpy.data.objects.new(name, mesh)
    collection = bpy.data.collections.get("Meniscus")
    if collection is None:
        collection = bpy.data.collections.new("Meniscus")
    if collection.name not in context.scene.collection.children:
        context.scene.collection.children.link(collection)
    collection.objects.link(obj)
    mesh.materials.append(material(domain.meniscus.domain.preset))
    return obj


def material(preset: str):
    """A first look for a liquid; artists change it."""
    key = next((k for k in _LOOKS if k in preset), "water")
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


def _move_bodies(context, domain, report: dict):
    """Keys on floating bodies, from where the simulation says that they are."""
    poses = {p["name"]: p for p in report.get("bodies", [])}
    unit = export.unit_length(context.scene, domain.meniscus.domain)
    for obj in properties.objects(context.scene, "BODY"):
        pose = poses.get(obj.name)
        if pose is None or not all(math.isfinite(x) for x in pose["translate"]):
            continue
        if "meniscus_rest" not in obj:
            obj["meniscus_rest"] = [x for row in obj.matrix_world for x in row]
        rest = Matrix([obj["meniscus_rest"][4 * i : 4 * i + 4] for i in range(4)])
        turn = Quaternion(pose["rotate_quaternion_wxyz"]).to_matrix().to_4x4()
        move = Matrix.Translation([x / unit for x in pose["translate"]])
        # The mesh was exported where it stood, so the pose is what happened since then.
        obj.matrix_world = units.TO_BLENDER @ move @ turn @ units.TO_SCENE @ rest
        obj.rotation_mode = "QUATERNION"
        obj.keyframe_insert("location", frame=report["frame"])
        obj.keyframe_insert("rotation_quaternion", frame=report["frame"])


def register():
    pass


def unregister():
    pass
