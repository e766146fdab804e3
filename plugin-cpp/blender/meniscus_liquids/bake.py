"""The operators round a bake. Nothing but Free deletes."""

import shutil

import bpy
from bpy.props import BoolProperty, EnumProperty, FloatProperty, IntProperty

from . import export, job, marks, playback, properties, units

TICK = 0.1


class BakeBase:
    """A modal bake: a timer gives it a little time, Esc stops it, everything else goes on."""

    def job_options(self, _context, _domain) -> dict:
        return {}

    def begin(self, context):
        domain = properties.domain_of(context)
        if domain is None:
            raise job.Unready("There is no domain: give a box the role Domain (Physics tab > Meniscus)")
        if job.running_for(domain):
            raise job.Unready(f"{domain.name} is being baked: wait, or press Esc")
        self.job = job.Job(context, domain, **self.job_options(context, domain))
        return domain

    def invoke(self, context, _event):
        if bpy.app.background:
            return self.execute(context)
        try:
            self.begin(context)
        except job.Unready as wrong:
            return self.refuse(context, wrong)
        manager = context.window_manager
        self.timer = manager.event_timer_add(TICK, window=context.window)
        manager.modal_handler_add(self)
        manager.progress_begin(0, 100)
        return {"RUNNING_MODAL"}

    def modal(self, context, event):
        if event.type == "ESC":
            self.job.cancel()
        elif event.type != "TIMER":
            # While frames are walked through, an edit or an undo would pull the objects from under the export.
            return {"RUNNING_MODAL"} if self.job.stage == "export" else {"PASS_THROUGH"}
        more = self.job.step()
        _redraw(context)
        if more:
            context.window_manager.progress_update(int(100 * self.job.fraction))
            return {"RUNNING_MODAL"} if event.type == "ESC" else {"PASS_THROUGH"}
        return self.finish(context)

    def cancel(self, _context):
        """Blender ends the operator, as when another file is opened."""
        self.job.abandon()

    def finish(self, context):
        manager = context.window_manager
        if getattr(self, "timer", None):
            manager.event_timer_remove(self.timer)
            manager.progress_end()
        if self.job.error:
            self.report({"ERROR"}, self.job.error)
            return {"CANCELLED"}
        if self.job.cancelled:
            self.report({"INFO"}, "Stopped. Resume goes on from here")
            return {"CANCELLED"}
        return {"FINISHED"}

    def execute(self, context):
        """In the background there is nobody to wait for."""
        try:
            self.begin(context)
        except job.Unready as wrong:
            return self.refuse(context, wrong)
        self.job.run()
        return self.finish(context)

    def refuse(self, context, wrong):
        domain = properties.domain_of(context)
        if domain:
            domain.meniscus.domain.message, domain.meniscus.domain.message_kind = str(wrong), "ERROR"
        self.report({"ERROR"}, str(wrong))
        return {"CANCELLED"}


class MENISCUS_OT_bake(BakeBase, bpy.types.Operator):
    """Export the scene and simulate it beside Blender. Frames appear as they are finished; Esc stops"""

    bl_idname = "meniscus.bake"
    bl_label = "Bake"


class MENISCUS_OT_resume(BakeBase, bpy.types.Operator):
    """Go on where the bake was stopped, also after Blender was closed"""

    bl_idname = "meniscus.resume"
    bl_label = "Resume"

    def job_options(self, _context, _domain):
        return {"resume": True}


class MENISCUS_OT_rebake(BakeBase, bpy.types.Operator):
    """Bake the changed values into a new version; the old one stays"""

    bl_idname = "meniscus.rebake"
    bl_label = "Rebake"

    def job_options(self, _context, _domain):
        return {"new_version": True}


class MENISCUS_OT_continue(BakeBase, bpy.types.Operator):
    """Go on with the changed values from a frame into a new version; earlier frames are shared with the old one"""

    bl_idname = "meniscus.continue_from"
    bl_label = "Continue From"
    frame: IntProperty(name="Frame", default=1, description="From the last checkpoint at or before this frame")

    def job_options(self, _context, _domain):
        return {"branch_from": self.frame}


class MENISCUS_OT_cancel(bpy.types.Operator):
    """Stop the bake; finished frames stay"""

    bl_idname = "meniscus.cancel"
    bl_label = "Stop"

    def execute(self, context):
        domain = properties.domain_of(context)
        running = job.running_for(domain) if domain else None
        if running:
            running.cancel()
        return {"FINISHED"}


class MENISCUS_OT_revert(bpy.types.Operator):
    """Bring back the values that the shown version was baked with"""

    bl_idname = "meniscus.revert"
    bl_label = "Revert"
    bl_options = {"UNDO"}

    def execute(self, context):
        domain = properties.domain_of(context)
        if domain is None or not domain.meniscus.domain.baked:
            self.report({"ERROR"}, "There is no bake to go back to")
            return {"CANCELLED"}
        left = marks.revert(context.scene, domain)
        if left:
            self.report({"WARNING"}, "Not brought back: " + "; ".join(left[:3]))
        return {"FINISHED"}


class MENISCUS_OT_release(bpy.types.Operator):
    """Take the keys of the bake from the selected floating bodies and put them back to where they stood before it"""

    bl_idname = "meniscus.release"
    bl_label = "Release from the Bake"
    bl_options = {"REGISTER", "UNDO"}

    def execute(self, context):
        for obj in context.selected_objects or ([context.object] if context.object else []):
            playback.release(obj)
        return {"FINISHED"}


class MENISCUS_OT_free(bpy.types.Operator):
    """Delete the frames of the shown version from the disk"""

    bl_idname = "meniscus.free"
    bl_label = "Free"
    all_versions: BoolProperty(name="All Versions", default=False, description="Also the other versions and the meshes")

    def invoke(self, context, event):
        return context.window_manager.invoke_confirm(self, event)

    def execute(self, context):
        domain = properties.domain_of(context)
        if domain is None:
            self.report({"ERROR"}, "There is no domain")
            return {"CANCELLED"}
        if job.running_for(domain):
            self.report({"ERROR"}, f"{domain.name} is being baked: stop it first (Esc)")
            return {"CANCELLED"}
        settings = domain.meniscus.domain
        try:
            self._free(domain)
        except (OSError, job.Unready) as wrong:
            self.report({"ERROR"}, f"Not everything could be deleted: {wrong}")
            return {"CANCELLED"}
        left = job.versions(domain)
        settings.message = ""
        if left:
            settings.version = left[-1]
            _show(context, domain)
        else:
            settings.version, settings.folder_name, settings.baked = 1, "", ""
            for obj in (settings.result, settings.spray):
                playback.forget(obj)
            for obj in properties.objects(context.scene, "BODY"):
                playback.release(obj)
        return {"FINISHED"}

    def _free(self, domain):
        if self.all_versions:
            folder = job.base_folder(domain)
            if folder.exists():
                shutil.rmtree(folder)
            return
        cache = job.cache_folder(domain)
        if cache.exists():
            shutil.rmtree(cache)
        for file in (job.scene_file(domain), job.marks_file(domain)):
            file.unlink(missing_ok=True)


def _show(context, domain):
    """The chosen version with its bodies, and what it was baked with."""
    try:
        domain.meniscus.domain.baked = job.marks_file(domain).read_text(encoding="utf-8")
    except OSError:
        domain.meniscus.domain.baked = ""
    playback.show_all(context, domain, job.cache_folder(domain))


class MENISCUS_OT_show_version(bpy.types.Operator):
    """Show another version of the bake"""

    bl_idname = "meniscus.show_version"
    bl_label = "Show Version"
    version: IntProperty(name="Version", default=1, min=1)

    def execute(self, context):
        domain = properties.domain_of(context)
        if domain is None or self.version not in job.versions(domain):
            self.report({"ERROR"}, f"There is no version {self.version}")
            return {"CANCELLED"}
        domain.meniscus.domain.version = self.version
        _show(context, domain)
        return {"FINISHED"}


class MENISCUS_OT_set_role(bpy.types.Operator):
    """Give the selected objects a part in the liquid"""

    bl_idname = "meniscus.set_role"
    bl_label = "Meniscus Role"
    bl_options = {"REGISTER", "UNDO"}
    role: EnumProperty(name="Role", items=[r[:3] for r in properties.ROLES], default="OBSTACLE")

    def execute(self, context):
        targets = context.selected_objects or ([context.object] if context.object else [])
        if not targets:
            self.report({"ERROR"}, "Select an object first")
            return {"CANCELLED"}
        for obj in targets:
            obj.meniscus.role = self.role
            if self.role in ("DOMAIN", "OUTFLOW"):
                obj.display_type = "WIRE"
                obj.hide_render = True
            elif self.role in ("LIQUID", "INFLOW"):
                # Renders show the surface, not the shape that filled it.
                obj.display_type = "WIRE"
                obj.hide_render = True
            elif obj.display_type == "WIRE":
                obj.display_type = "TEXTURED"
                obj.hide_render = False
        return {"FINISHED"}


class MENISCUS_OT_fix_units(bpy.types.Operator):
    """Say how large the scene is meant to be: the longest side of the domain gets this length"""

    bl_idname = "meniscus.fix_units"
    bl_label = "Treat As"
    bl_options = {"REGISTER", "UNDO"}
    longest_side: FloatProperty(name="Longest Side (m)", default=0.2, min=1e-4, soft_max=10.0)

    def execute(self, context):
        domain = properties.domain_of(context)
        size = max(domain.dimensions) if domain else 0.0
        if size <= 0.0:
            self.report({"ERROR"}, "There is no domain with a size")
            return {"CANCELLED"}
        scale = context.scene.unit_settings.scale_length
        domain.meniscus.domain.unit_length = units.short(self.longest_side / size / scale)
        if domain.meniscus.domain.result:
            playback.show_all(context, domain, job.cache_folder(domain))
        self.report({"INFO"}, f"1 unit = {units.length(export.unit_length(context.scene, domain.meniscus.domain))}")
        return {"FINISHED"}


def _redraw(context):
    for window in getattr(context.window_manager, "windows", []):
        for area in window.screen.areas:
            if area.type in {"PROPERTIES", "VIEW_3D"}:
                area.tag_redraw()


_CLASSES = (
    MENISCUS_OT_bake, MENISCUS_OT_resume, MENISCUS_OT_rebake, MENISCUS_OT_continue, MENISCUS_OT_cancel,
    MENISCUS_OT_revert, MENISCUS_OT_release, MENISCUS_OT_free, MENISCUS_OT_show_version, MENISCUS_OT_set_role,
    MENISCUS_OT_fix_units,
)


def register():
    for cls in _CLASSES:
        bpy.utils.register_class(cls)


def unregister():
    # What still runs is asked to stop; its frames are whole.
    for one in list(job.running.values()):
        one.cancel()
        one.run()
    for cls in reversed(_CLASSES):
        bpy.utils.unregister_class(cls)
