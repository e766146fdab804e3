"""What leaves Blender: a scene for the farm, and three small bakes side by side."""

import pathlib
import shlex
import subprocess
import time

import bpy
import meniscus
import numpy
from bpy.props import FloatProperty, IntProperty, StringProperty

from . import export, job, meshes, properties, units


def write_scene(context, domain, folder: pathlib.Path, name: str) -> pathlib.Path:
    """Export without waiting for anybody; returns the scene file."""
    exporter = export.Exporter(context, domain, folder)
    for _ in exporter.steps():
        pass
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{name}.json"
    job._replace(file, export.text(exporter.scene))
    return file


class MENISCUS_OT_export_farm(bpy.types.Operator):
    """Write the scene and its meshes for a farm, and say the command that simulates them there"""

    bl_idname = "meniscus.export_farm"
    bl_label = "Export for the Farm"
    directory: StringProperty(name="Folder", subtype="DIR_PATH", default="")

    def invoke(self, context, _event):
        context.window_manager.fileselect_add(self)
        return {"RUNNING_MODAL"}

    def execute(self, context):
        domain = properties.domain_of(context)
        try:
            if domain is None:
                raise job.Unready("There is no domain: give a box the role Domain")
            given = bpy.path.abspath(self.directory) if self.directory else ""
            folder = pathlib.Path(given) if given else job.base_folder(domain) / "farm"
            file = write_scene(context, domain, folder, bpy.path.clean_name(domain.name))
        except (export.BadScene, meshes.BadMesh, job.Unready, OSError) as wrong:
            self.report({"ERROR"}, str(wrong))
            return {"CANCELLED"}
        command = f"meniscus run {shlex.quote(file.name)} -o frames --resume"
        context.window_manager.clipboard = command
        domain.meniscus.domain.message = f"In {folder}: {command} (copied)"
        domain.meniscus.domain.message_kind = "INFO"
        self.report({"INFO"}, f"cd {folder} && {command}")
        return {"FINISHED"}


class MENISCUS_OT_compare(bpy.types.Operator):
    """Bake three viscosities small and show them on one contact sheet"""

    bl_idname = "meniscus.compare"
    bl_label = "Compare Viscosities"
    factor: FloatProperty(name="Factor", default=10.0, min=1.1, soft_max=100.0,
                          description="From one viscosity to the next")
    divisions: IntProperty(name="Divisions", default=32, min=8, max=128, description="Small, to be quick")
    frames: IntProperty(name="Frames", default=48, min=2, max=1000)

    def invoke(self, context, event):
        if bpy.app.background:
            return self.execute(context)
        result = self.begin(context)
        if result:
            return result
        self.timer = context.window_manager.event_timer_add(0.1, window=context.window)
        context.window_manager.modal_handler_add(self)
        return {"RUNNING_MODAL"}

    def begin(self, context):
        domain = properties.domain_of(context)
        try:
            if domain is None:
                raise job.Unready("There is no domain: give a box the role Domain")
            self.folder = job.base_folder(domain) / "compare"
            file = write_scene(context, domain, self.folder, "scene")
        except (export.BadScene, meshes.BadMesh, job.Unready, OSError) as wrong:
            self.report({"ERROR"}, str(wrong))
            return {"CANCELLED"}
        middle = domain.meniscus.domain.viscosity or 1.0
        first = context.scene.frame_start
        self.values = [units.short(middle * f) for f in (1 / self.factor, 1.0, self.factor)]
        self.words = []
        command = str(meniscus.command())
        for i, value in enumerate(self.values):
            cache = self.folder / f"viscosity_{i + 1}"
            last = min(context.scene.frame_end, first + self.frames - 1)
            self.words.append([
                command, "run", str(file), "-o", str(cache), "--overwrite", "--progress", "none", "--no-report",
                "--set", f"liquids[0].viscosity={value:g}", "--set", f"resolution.divisions={self.divisions}",
                "--set", f"frames=[{first},{last}]"])
            self.words.append([command, "preview", str(cache), "-o", str(self.folder / f"sheet_{i + 1}"),
                               "--tiles", "4", "--size", "480x270", "--camera-from", str(self.folder / "viscosity_1")])
        self.child = None
        return None

    def step(self) -> bool:
        """Start the next command if none runs; returns whether there is more."""
        if self.child is None:
            if not self.words:
                return False
            self.child = subprocess.Popen(
                self.words.pop(0), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
            return True
        code = self.child.poll()
        if code is None:
            return True
        with self.child.stderr as pipe:
            said = pipe.read().decode("utf-8", "replace").strip().splitlines()
        if code:
            raise job.Unready(said[-1].removeprefix("meniscus: ") if said else f"exit code {code}")
        self.child = None
        return bool(self.words)

    def modal(self, context, event):
        if event.type == "ESC" and self.child is not None:
            self.child.terminate()
            return self.end(context, {"CANCELLED"})
        if event.type != "TIMER":
            return {"PASS_THROUGH"}
        try:
            if self.step():
                return {"PASS_THROUGH"}
        except job.Unready as wrong:
            self.report({"ERROR"}, str(wrong))
            return self.end(context, {"CANCELLED"})
        self.gather()
        return self.end(context, {"FINISHED"})

    def end(self, context, result):
        context.window_manager.event_timer_remove(self.timer)
        return result

    def execute(self, context):
        result = self.begin(context)
        if result:
            return result
        try:
            while self.step():
                time.sleep(0.05)
        except job.Unready as wrong:
            self.report({"ERROR"}, str(wrong))
            return {"CANCELLED"}
        self.gather()
        return {"FINISHED"}

    def gather(self):
        """The three sheets under one another as one image."""
        parts = []
        for i in range(len(self.values)):
            found = sorted((self.folder / f"sheet_{i + 1}").glob("*.png"))
            image = bpy.data.images.load(str(found[0]))
            width, height = image.size
            pixels = numpy.empty(width * height * 4, numpy.float32)
            image.pixels.foreach_get(pixels)
            parts.append(pixels.reshape(height, width, 4))
            bpy.data.images.remove(image)
        width = max(p.shape[1] for p in parts)
        # The first pixel of an image is its lowest, so the thinnest liquid comes last to stand above.
        rows = [numpy.pad(p, ((0, 0), (0, width - p.shape[1]), (0, 0)), constant_values=1.0) for p in reversed(parts)]
        whole = numpy.concatenate(rows)
        old = bpy.data.images.get("Meniscus Comparison")
        if old:
            bpy.data.images.remove(old)
        sheet = bpy.data.images.new("Meniscus Comparison", width, whole.shape[0])
        sheet.pixels.foreach_set(whole.ravel())
        sheet.filepath_raw, sheet.file_format = str(self.folder / "comparison.png"), "PNG"
        sheet.save()
        show_image(bpy.context, sheet)
        self.report({"INFO"}, f"{' / '.join(f'{v:g}' for v in self.values)} Pa·s: {self.folder / 'comparison.png'}")


def show_image(context, image):
    """Show an image where images are shown, or in a window of its own."""
    windows = list(context.window_manager.windows)
    areas = [a for w in windows for a in w.screen.areas if a.type == "IMAGE_EDITOR"]
    if not areas and windows:
        if bpy.app.background:
            # Nobody looks, and no window can be opened: the largest area serves.
            areas = [max(windows[0].screen.areas, key=lambda a: a.width * a.height)]
        else:
            bpy.ops.wm.window_new()
            areas = [context.window_manager.windows[-1].screen.areas[0]]
        areas[0].type = "IMAGE_EDITOR"
    for area in areas[:1]:
        area.spaces.active.image = image
        area.tag_redraw()


_CLASSES = (MENISCUS_OT_export_farm, MENISCUS_OT_compare)


def register():
    for cls in _CLASSES:
        bpy.utils.register_class(cls)


def unregister():
    for cls in reversed(_CLASSES):
        bpy.utils.unregister_class(cls)
