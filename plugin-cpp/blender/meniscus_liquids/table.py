"""The node's parameter table as Blender properties: labels, units, limits and tooltips are written nowhere else."""

import json
import pathlib

import bpy

from . import units

_HERE = pathlib.Path(__file__).parent
_FILES = (_HERE / "parameters.json", _HERE.parent.parent / "node" / "parameters.json")


def _read() -> dict:
    return json.loads(next(file for file in _FILES if file.exists()).read_text(encoding="utf-8"))


TABLE = _read()

# What Blender has itself (frame range, gravity, boxes, buttons, folders), or what only a live node can do.
_NOT_HERE = {
    "source_mode", "domain", "domain_min", "domain_max", "reset", "cache_memory", "cache_disk", "cache_dir",
    "export_file", "export", "output", "output_velocity", "output_bodies", "output_bounds",
}
# The scene has Y up: its z axis points against Blender's y axis.
_LABELS = {"side_z_min": "+Y Side", "side_z_max": "-Y Side", "memory_limit": "Memory Limit"}

ROWS = [
    row
    for row in TABLE["parameters"]
    if "blender" in row.get("hosts", ["blender"]) and row["name"] not in _NOT_HERE and row["type"] != "button"
]
FOLDERS = TABLE["folders"]


def rows(of: str, folder: str = None) -> list:
    """The rows for a kind of object, in the order of the table."""
    return [r for r in ROWS if r["of"] == of and folder in (None, r["folder"])]


def row(name: str) -> dict:
    return next(r for r in TABLE["parameters"] if r["name"] == name)


def label(r: dict) -> str:
    text = _LABELS.get(r["name"], r["label"])
    unit = r.get("unit")
    return f"{text} ({units.pretty(unit)})" if unit else text


def tooltip(r: dict) -> str:
    parts = [r["does"].replace("Y is up", "Z is up")]
    for title, key in (("Cost", "cost"), ("When to touch it", "touch")):
        if r.get(key):
            parts.append(f"{title}: {r[key][0].lower()}{r[key][1:]}")
    # Blender puts the last full stop itself.
    return units.pretty("\n".join(parts).rstrip("."))


def default(r: dict):
    return units.to_blender(r["default"]) if r["type"] == "vector" else r["default"]


def blender_property(r: dict, update=None):
    """A property as an annotation of a PropertyGroup."""
    common = {"name": label(r), "description": tooltip(r), "default": default(r)}
    common["options"] = {"ANIMATABLE"} if r.get("animated") else set()
    if update:
        common["update"] = update
    if r["type"] == "menu":
        items = [(i["value"], i["label"], "") for i in r["items"]]
        return bpy.props.EnumProperty(items=items, **common)
    if r["type"] == "bool":
        return bpy.props.BoolProperty(**common)
    if r["type"] in ("text", "file", "folder"):
        return bpy.props.StringProperty(**common)
    limits = {k: r[k] for k in ("min", "max", "soft_min", "soft_max") if k in r}
    if r["type"] == "int":
        low, high = -(2**31), 2**31 - 1
        return bpy.props.IntProperty(**common, **{k: int(min(max(v, low), high)) for k, v in limits.items()})
    if r["type"] == "vector":
        return bpy.props.FloatVectorProperty(size=3, precision=3, subtype="XYZ", **common, **limits)
    # A slider over many powers of ten needs digits more than steps.
    return bpy.props.FloatProperty(precision=4, step=1, **common, **limits)


def shown(r: dict, group) -> bool:
    """Whether the row makes sense with the other values."""
    when = r.get("when")
    if not when or not hasattr(group, when[0]):
        return True
    allowed = when[1] if isinstance(when[1], list) else [when[1]]
    return getattr(group, when[0]) in allowed


def value(r: dict, group):
    """The value as the scene wants it, or None where its key is left out."""
    found = getattr(group, r["name"])
    if r["type"] == "vector":
        found = units.to_scene(found)
    elif r["type"] == "float":
        found = units.short(found)
    if "absent" in r and found == r["absent"]:
        return None
    return found * r["factor"] if "factor" in r else found
