"""Add > Meniscus: scenes that are ready to bake. A unit of each is what makes its things a few units large."""

import math

import bmesh
import bpy
from bpy.props import EnumProperty
from mathutils import Matrix, Vector

from . import playback

SCENES = (
    ("HONEY", "Honey on Pancakes", "A thread of honey coils on a stack: 6 mm, 5 ml/s, 30 ml"),
    ("CUP", "Cup without Thickness", "250 ml of water in a cup without thickness, tipped over a tray in a second"),
    ("SPHERES", "Floating Spheres", "Five balls, from cork to steel, in a tank"),
    ("ICING", "Icing, Stick and Slide", "20 ml of icing on a ring, which tilts to 60 degrees"),
    ("LITRE", "One Litre", "One litre of water over a ball into a bowl"),
)


class Builder:
    """Makes objects with roles in the active scene. Lengths are millimetres; a unit is ``unit`` metres."""

    def __init__(self, context, unit: float):
        self.context, self.unit = context, unit
        self.collection = bpy.data.collections.new("Meniscus Scene")
        context.scene.collection.children.link(self.collection)

    def units(self, *millimetres):
        return [x / 1000.0 / self.unit for x in millimetres]

    def object(self, name: str, role: str, fill, smooth=False, solidify=None):
        mesh = bpy.data.meshes.new(name)
        shape = bmesh.new()
        fill(shape)
        bmesh.ops.recalc_face_normals(shape, faces=shape.faces)
        shape.to_mesh(mesh)
        shape.free()
        if smooth:
            mesh.polygons.foreach_set("use_smooth", [True] * len(mesh.polygons))
        obj = bpy.data.objects.new(name, mesh)
        self.collection.objects.link(obj)
        obj.meniscus.role = role
        if role in ("DOMAIN", "LIQUID", "INFLOW", "OUTFLOW"):
            obj.display_type, obj.hide_render = "WIRE", True
        return obj

    def box(self, name, role, low, high):
        low, high = Vector(self.units(*low)), Vector(self.units(*high))
        middle, size = (low + high) / 2, high - low
        matrix = Matrix.Translation(middle) @ Matrix.Diagonal((*size, 1.0))
        obj = self.object(name, role, lambda b: bmesh.ops.create_cube(b, size=1.0, matrix=matrix))
        return obj

    def cylinder(self, name, role, center, radius, height, open_top=False, segments=48):
        """Stands on ``center``, round Z."""
        def fill(b):
            x, y, z = self.units(*center)
            r, h = self.units(radius, height)
            place = Matrix.Translation((0, 0, z + h / 2))
            bmesh.ops.create_cone(b, cap_ends=True, segments=segments, radius1=r, radius2=r, depth=h, matrix=place)
            if open_top:
                top = [f for f in b.faces if len(f.verts) > 4 and f.calc_center_median().z > z + h / 2]
                bmesh.ops.delete(b, geom=top, context="FACES_ONLY")
        obj = self.object(name, role, fill, smooth=False)
        obj.location.x, obj.location.y = self.units(*center[:2])
        return obj

    def ball(self, name, role, center, radius):
        r = self.units(radius)[0]
        obj = self.object(name, role, lambda b: bmesh.ops.create_icosphere(b, subdivisions=4, radius=r), smooth=True)
        obj.location = self.units(*center)
        return obj

    def ring(self, name, role, center, radius, tube):
        """A doughnut round Z."""
        big, small = self.units(radius, tube)
        n, m = 64, 24

        def fill(b):
            rows = []
            for i in range(n):
                a = 2 * math.pi * i / n
                row = []
                for j in range(m):
                    c = 2 * math.pi * j / m
                    d = big + small * math.cos(c)
                    row.append(b.verts.new((d * math.cos(a), d * math.sin(a), small * math.sin(c))))
                rows.append(row)
            for i in range(n):
                for j in range(m):
                    k, l = (i + 1) % n, (j + 1) % m
                    b.faces.new((rows[i][j], rows[k][j], rows[k][l], rows[i][l]))

        obj = self.object(name, role, fill, smooth=True)
        obj.location = self.units(*center)
        return obj

    def bowl(self, name, role, center, radius, thickness):
        """Half a shell, open above, standing on ``center``."""
        r, t = self.units(radius, thickness)

        def fill(b):
            bmesh.ops.create_uvsphere(b, u_segments=64, v_segments=32, radius=r + t)
            upper = [f for f in b.faces if f.calc_center_median().z > 0]
            bmesh.ops.delete(b, geom=upper, context="FACES")
            bmesh.ops.solidify(b, geom=list(b.faces), thickness=t)

        obj = self.object(name, role, fill, smooth=True)
        x, y, z = self.units(*center)
        obj.location = (x, y, z + r + t)
        return obj

    def domain(self, low, high, preset: str, divisions: int, frames: int):
        obj = self.box("Domain", "DOMAIN", low, high)
        settings = obj.meniscus.domain
        settings.unit_length, settings.divisions, settings.preset = self.unit, divisions, preset
        self.context.scene.frame_start, self.context.scene.frame_end = 1, frames
        self.context.scene.frame_set(1)
        return obj

    def stage(self, target, distance, height_degrees=10.0, lens=85.0):
        """A camera, two lights and a ground that fades into the sky."""
        scene = self.context.scene
        target = Vector(self.units(*target))
        d = self.units(distance)[0]
        a = math.radians(height_degrees)
        camera = bpy.data.objects.new("Camera", bpy.data.cameras.new("Camera"))
        camera.data.lens, camera.data.clip_start = lens, d / 100
        camera.location = target + Vector((0.35 * d, -d * math.cos(a), d * math.sin(a)))
        camera.rotation_euler = (target - camera.location).to_track_quat("-Z", "Y").to_euler()
        self.collection.objects.link(camera)
        scene.camera = camera
        for name, side, power in (("Key", 1.0, 1.0), ("Rim", -1.2, 1.6)):
            data = bpy.data.lights.new(name, "AREA")
            data.energy, data.size = 60.0 * power * d * d / 4, d / 3
            light = bpy.data.objects.new(name, data)
            light.location = target + Vector((side * d * 0.7, (-0.5 if side > 0 else 0.7) * d, 0.9 * d))
            light.rotation_euler = (target - light.location).to_track_quat("-Z", "Y").to_euler()
            self.collection.objects.link(light)
        size = 20 * d
        ground = self.object(
            "Ground", "NONE", lambda b: bmesh.ops.create_grid(b, x_segments=1, y_segments=1, size=size))
        ground.location.z = -self.units(0.5)[0]
        ground.data.materials.append(_matte("Meniscus Ground", (0.6, 0.6, 0.62)))
        world = scene.world or bpy.data.worlds.new("World")
        scene.world = world
        world.use_nodes = True
        background = next((n for n in world.node_tree.nodes if n.type == "BACKGROUND"), None)
        if background:
            background.inputs[0].default_value, background.inputs[1].default_value = (0.75, 0.8, 0.9, 1), 0.6


def _matte(name, color, roughness=0.6, transmission=0.0):
    found = bpy.data.materials.get(name)
    if found:
        return found
    made = bpy.data.materials.new(name)
    made.use_nodes = True
    made.diffuse_color = (*color, 1)
    shader = next(n for n in made.node_tree.nodes if n.type == "BSDF_PRINCIPLED")
    shader.inputs["Base Color"].default_value = (*color, 1)
    shader.inputs["Roughness"].default_value = roughness
    shader.inputs["Transmission Weight"].default_value = transmission
    return made


def honey(b: Builder):
    for i in range(3):
        cake = b.cylinder(f"Pancake {i + 1}", "OBSTACLE", (2 * i - 2, i, 1 + 12 * i), 58 - 2 * i, 12)
        cake.data.materials.append(_matte("Meniscus Pancake", (0.72, 0.42, 0.16), 0.8))
    thread = b.cylinder("Thread", "INFLOW", (0, 0, 124), 3, 6, segments=24)
    source = thread.meniscus.source
    source.rate, source.total = 5.0, 30.0
    source.source_velocity = (0.0, 0.0, b.units(-177)[0])
    domain = b.domain((-75, -75, 0), (75, 75, 135), "honey_35c", 100, 144)
    b.stage((0, 0, 45), 520)
    return domain


def cup(b: Builder):
    vessel = b.cylinder("Cup", "OBSTACLE", (0, 0, 60), 35, 90, open_top=True, segments=64)
    vessel.data.materials.append(_matte("Meniscus Glass", (0.9, 0.95, 1.0), 0.0, 1.0))
    b.cylinder("Water", "LIQUID", (0, 0, 60.5), 34.5, 67, segments=64)
    vessel.rotation_euler = (0, 0, 0)
    vessel.keyframe_insert("rotation_euler", frame=12)
    vessel.rotation_euler = (0, math.radians(90), 0)
    vessel.keyframe_insert("rotation_euler", frame=36)
    domain = b.domain((-60, -80, 0), (180, 80, 170), "water", 120, 96)
    b.stage((50, 0, 60), 800)
    return domain


def spheres(b: Builder):
    b.box("Water", "LIQUID", (-200, -100, 0), (200, 100, 120))
    for i, gravity in enumerate((0.25, 0.5, 0.75, 1.0, 7.8)):
        ball = b.ball(f"Ball {gravity:g}", "BODY", (-150 + 75 * i, 0, 120), 20)
        ball.meniscus.body.body_density = 998.2 * gravity
        ball.data.materials.append(_matte(f"Meniscus Ball {i}", (0.8, 0.2 + 0.15 * i, 0.1 + 0.1 * i), 0.4))
    domain = b.domain((-200, -100, 0), (200, 100, 200), "water", 133, 96)
    b.stage((0, 0, 90), 1100)
    return domain


def icing(b: Builder):
    dough = b.ring("Doughnut", "OBSTACLE", (0, 0, 45), 27, 13)
    dough.data.materials.append(_matte("Meniscus Dough", (0.65, 0.38, 0.15), 0.8))
    glaze = b.ring("Icing", "LIQUID", (0, 0, 52), 27, 9.5)
    glaze.scale = (1.0, 1.0, 0.9)
    dough.keyframe_insert("rotation_euler", frame=12)
    dough.rotation_euler = (math.radians(60), 0, 0)
    dough.keyframe_insert("rotation_euler", frame=36)
    dough.meniscus.collider.wall = "stick"
    domain = b.domain((-60, -60, 0), (60, 60, 100), "chocolate", 110, 96)
    settings = domain.meniscus.domain
    settings.preset, settings.look = "custom", "icing"
    settings.density, settings.viscosity, settings.surface_tension = 1300.0, 50.0, 0.0
    b.stage((0, 0, 45), 420, 25)
    return domain


def litre(b: Builder):
    bowl = b.bowl("Bowl", "OBSTACLE", (0, 0, 1), 145, 6)
    bowl.data.materials.append(_matte("Meniscus Glass", (0.9, 0.95, 1.0), 0.0, 1.0))
    ball = b.ball("Ball", "OBSTACLE", (0, 0, 230), 60)
    ball.data.materials.append(_matte("Meniscus Ball", (0.75, 0.15, 0.1), 0.3))
    spout = b.cylinder("Spout", "INFLOW", (0, 0, 350), 18, 20, segments=32)
    source = spout.meniscus.source
    source.rate, source.total = 800.0, 1000.0
    source.source_velocity = (0.0, 0.0, b.units(-786)[0])
    domain = b.domain((-170, -170, 0), (170, 170, 390), "water", 96, 72)
    b.stage((0, 0, 170), 1500)
    return domain


_BUILD = {"HONEY": (honey, 0.05), "CUP": (cup, 0.1), "SPHERES": (spheres, 0.1), "ICING": (icing, 0.05), "LITRE": (litre, 0.1)}


class MENISCUS_OT_add_scene(bpy.types.Operator):
    """Add a scene that is ready to bake: a domain, a liquid, solids, a camera and lights"""

    bl_idname = "meniscus.add_scene"
    bl_label = "Add Liquid Scene"
    bl_options = {"REGISTER", "UNDO"}
    kind: EnumProperty(name="Scene", items=SCENES, default="HONEY")

    def execute(self, context):
        build, unit = _BUILD[self.kind]
        if any(o.meniscus.role == "DOMAIN" for o in context.scene.objects):
            self.report({"ERROR"}, "This scene has a domain already: add it to a new scene")
            return {"CANCELLED"}
        domain = build(Builder(context, unit))
        playback.material(domain.meniscus.domain.look or domain.meniscus.domain.preset)
        for obj in context.selected_objects:
            obj.select_set(False)
        context.view_layer.objects.active = domain
        domain.select_set(True)
        return {"FINISHED"}


class MENISCUS_MT_add(bpy.types.Menu):
    bl_idname = "MENISCUS_MT_add"
    bl_label = "Meniscus"

    def draw(self, _context):
        for key, label, _ in SCENES:
            self.layout.operator("meniscus.add_scene", text=label, icon="MOD_FLUIDSIM").kind = key


def _menu(self, _context):
    self.layout.menu("MENISCUS_MT_add", icon="MOD_FLUIDSIM")


_CLASSES = (MENISCUS_OT_add_scene, MENISCUS_MT_add)


def register():
    for cls in _CLASSES:
        bpy.utils.register_class(cls)
    bpy.types.VIEW3D_MT_add.append(_menu)


def unregister():
    bpy.types.VIEW3D_MT_add.remove(_menu)
    for cls in reversed(_CLASSES):
        bpy.utils.unregister_class(cls)
