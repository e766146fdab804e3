"""What objects remember: their role, and values from the parameter table."""

import bpy
from bpy.props import BoolProperty, EnumProperty, FloatProperty, IntProperty, PointerProperty, StringProperty
from mathutils import Matrix

from . import table

ROLES = (
    ("NONE", "None", "Not part of the liquid", "X", 0),
    ("DOMAIN", "Domain", "The box that liquid may fill. Its size and the divisions give the cells", "MESH_CUBE", 1),
    ("LIQUID", "Liquid", "A closed mesh that is full of liquid in the first frame", "MOD_FLUIDSIM", 2),
    ("INFLOW", "Inflow", "A closed mesh that pours liquid", "FORWARD", 3),
    ("OUTFLOW", "Outflow", "A closed mesh that swallows liquid; one that covers a side of the domain opens it", "BACK", 4),
    ("OBSTACLE", "Obstacle", "A solid that liquid flows round: at rest, moving or deforming, thick or thin",
     "MOD_PHYSICS", 5),
    ("BODY", "Floating Body", "A closed solid that liquid moves", "RIGID_BODY", 6),
    ("FORCE", "Force", "Pushes the liquid, at its own place and along its own Z axis", "FORCE_FORCE", 7),
)
FORCES = (
    ("uniform", "Uniform", "The same acceleration everywhere, along Z"),
    ("vortex", "Vortex", "Drives liquid round Z, strongest at the radius"),
    ("point", "Point", "Draws liquid to the object; negative pushes it away"),
    ("wind", "Wind", "Drags the surface along Z"),
)


def _fill_preset(self, _context):
    """A preset fills in the numbers; only they are simulated."""
    item = next((i for i in table.row("preset")["items"] if i["value"] == self.preset), {})
    for name, value in item.get("sets", {}).items():
        setattr(self, name, value)


def _group(name: str, of: str, **more):
    fields = {r["name"]: table.blender_property(r, _fill_preset if r["name"] == "preset" else None)
              for r in table.rows(of)}
    fields.update(more)
    return type(name, (bpy.types.PropertyGroup,), {"__annotations__": fields})


_plain = {"options": set()}
SourceSettings = _group("MENISCUS_PG_source", "source")
ColliderSettings = _group("MENISCUS_PG_collider", "collider")
BodySettings = _group("MENISCUS_PG_body", "body")
DomainSettings = _group(
    "MENISCUS_PG_domain",
    "scene",
    use_scene_frames=BoolProperty(
        name="Scene Frame Range", default=True, description="Bake the frames of the scene", **_plain),
    use_scene_gravity=BoolProperty(
        name="Scene Gravity", default=True, description="Take gravity from the scene's physics", **_plain),
    advanced=BoolProperty(
        name="Advanced", default=False, description="Show every parameter", **_plain),
    particles=BoolProperty(
        name="Particles", default=False, **_plain,
        description="Write the particles into every frame and show them as a point cloud, for spray and foam"),
    look=StringProperty(
        name="Look", default="", **_plain, description="First material: a word such as honey or icing; empty to follow the preset"),
    cache_folder=StringProperty(
        name="Cache Folder", default="", subtype="DIR_PATH", **_plain,
        description="Where frames are kept; empty for a folder beside the .blend, named after it"),
    version=IntProperty(
        name="Version", default=1, min=1, max=999, **_plain, description="The version of the bake that is shown"),
    folder_name=StringProperty(name="Folder of the Bake", default="", **_plain),
    baked=StringProperty(name="Baked with", default="", **_plain),
    message=StringProperty(name="Message", default="", **_plain),
    message_kind=StringProperty(name="Kind of Message", default="INFO", **_plain),
    result=PointerProperty(name="Result", type=bpy.types.Object),
    spray=PointerProperty(name="Particles", type=bpy.types.Object),
)


class ForceSettings(bpy.types.PropertyGroup):
    kind: EnumProperty(name="Kind", items=FORCES, default="uniform", options=set())
    strength: FloatProperty(
        name="Strength (m/s²)", default=1.0, soft_min=-20, soft_max=20,
        description="Acceleration; for wind its speed in units a second")
    radius: FloatProperty(name="Radius", default=1.0, min=1e-6, unit="LENGTH", options=set(),
                          description="Where a vortex is strongest; how far a point reaches")
    drag: FloatProperty(name="Drag (1/s)", default=1.0, min=0.0, soft_max=10,
                        description="How fast the surface follows the wind")


class DrainSettings(bpy.types.PropertyGroup):
    active: BoolProperty(name="Swallowing", default=True, description="Whether it swallows. Animate it to pull the plug")


class ObjectSettings(bpy.types.PropertyGroup):
    role: EnumProperty(name="Role", items=ROLES, default="NONE", options=set(), description="Part in the liquid")
    domain: PointerProperty(type=DomainSettings)
    source: PointerProperty(type=SourceSettings)
    collider: PointerProperty(type=ColliderSettings)
    body: PointerProperty(type=BodySettings)
    force: PointerProperty(type=ForceSettings)
    drain: PointerProperty(type=DrainSettings)


_CLASSES = (SourceSettings, ColliderSettings, BodySettings, DomainSettings, ForceSettings, DrainSettings,
            ObjectSettings)


# Where a body stood before the bake moved it.
REST = "meniscus_rest"


def rest(obj):
    """That place as a matrix; None if no bake moved the body."""
    kept = obj.get(REST)
    return Matrix([kept[4 * i : 4 * i + 4] for i in range(4)]) if kept is not None else None


def objects(scene, *roles) -> list:
    """The objects of a scene with these roles, by name."""
    found = [o for o in scene.objects if o.meniscus.role in roles]
    return sorted(found, key=lambda o: o.name)


def domain_of(context):
    """The domain that a panel or a button means: the active object, or the only one of the scene."""
    active = getattr(context, "object", None)
    if active and active.meniscus.role == "DOMAIN":
        return active
    found = objects(context.scene, "DOMAIN")
    return found[0] if found else None


def register():
    for cls in _CLASSES:
        bpy.utils.register_class(cls)
    bpy.types.Object.meniscus = PointerProperty(type=ObjectSettings)


def unregister():
    del bpy.types.Object.meniscus
    for cls in reversed(_CLASSES):
        bpy.utils.unregister_class(cls)
