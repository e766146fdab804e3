"""The Physics tab: the role, then the folders of the parameter table in their order, then what the bake says."""

import bpy

from . import export, job, marks, playback, properties, table, units


class _Panel:
    bl_space_type = "PROPERTIES"
    bl_region_type = "WINDOW"
    bl_context = "physics"


def _draw_rows(layout, group, of: str, folder: str, advanced: bool, skip=()):
    """Rows of the table, advanced ones only if asked for."""
    layout.use_property_split = True
    layout.use_property_decorate = True
    for row in table.rows(of, folder):
        if row["name"] not in skip and (advanced or row["level"] == "simple") and table.shown(row, group):
            layout.prop(group, row["name"])


class MENISCUS_PT_main(_Panel, bpy.types.Panel):
    bl_label = "Meniscus"
    bl_idname = "MENISCUS_PT_main"

    @classmethod
    def poll(cls, context):
        return context.object is not None

    def draw(self, context):
        layout, obj = self.layout, context.object
        layout.prop(obj.meniscus, "role")
        role = obj.meniscus.role
        if role == "DOMAIN":
            draw_bake(layout, context, obj)
        elif role == "NONE":
            layout.label(text="Add > Meniscus has scenes that are ready to bake", icon="INFO")


def draw_bake(layout, context, domain):
    """Buttons, progress and the readout."""
    settings = domain.meniscus.domain
    running = job.running_for(domain)
    if running is not None:
        draw_running(layout, running)
        return
    frames = job.baked_frames(domain)
    changed = marks.changes(context.scene, domain) if frames else []
    column = layout.column(align=True)
    for change in changed[:4]:
        column.label(text=marks.describe(change), icon="ERROR")
    if len(changed) > 4:
        column.label(text=f"and {len(changed) - 4} more", icon="BLANK1")
    if frames and not changed and frames[-1] < _last_frame(context, settings):
        column.operator("meniscus.resume", text=f"Resume at Frame {frames[-1] + 1}", icon="PLAY")
    if frames:
        # Also without a change that is seen: see marks.py.
        column.operator("meniscus.rebake", text=f"Rebake into v{max(job.versions(domain)) + 1:03d}", icon="FILE_NEW")
    else:
        column.operator("meniscus.bake", icon="PHYSICS")
    if changed:
        again = column.operator("meniscus.continue_from", text=f"Continue from Frame {context.scene.frame_current}")
        again.frame = context.scene.frame_current
        column.operator("meniscus.revert", icon="LOOP_BACK")
    if frames:
        row = layout.row(align=True)
        row.label(text=f"v{settings.version:03d}: frames {frames[0]} to {frames[-1]}", icon="CHECKMARK")
        row.operator("meniscus.free", icon="TRASH")
        others = [v for v in job.versions(domain) if v != settings.version]
        if others:
            line = layout.row(align=True)
            for v in others[-4:]:
                line.operator("meniscus.show_version", text=f"Show v{v:03d}").version = v
    if settings.message:
        draw_message(layout, settings.message, settings.message_kind)
    elif not bpy.data.filepath and not settings.cache_folder:
        draw_message(layout, "Save the .blend before you bake: frames are kept beside it", "INFO")


def draw_running(layout, running):
    if running.stage == "export":
        text = f"Exporting {100 * running.fraction:.0f} %"
    elif running.stage == "wait":
        text = "Waiting for the bake before to stop"
    elif running.stage == "keys":
        text = "Keys for floating bodies"
    else:
        left = f", {units.duration(running.left)} left" if running.left is not None else ""
        text = f"Frame {running.frame or running.first} of {running.last}{left}"
    if hasattr(layout, "progress"):
        layout.progress(factor=min(max(running.fraction, 0.0), 1.0), text=text)
    else:
        layout.label(text=text)
    layout.operator("meniscus.cancel", text="Stop (Esc)", icon="CANCEL")
    for warning in running.warnings[-2:]:
        draw_message(layout, warning, "WARNING")
    for line in readout(running.report):
        layout.label(text=line)


def readout(report) -> list:
    """What a frame says: litres, error, substeps and the rule that forced them."""
    if not report:
        return []
    litres, expected = report["litres"], report["litres_expected"]
    error = f" ({100 * (litres / expected - 1):+.2f} %)" if expected > 0 else ""
    lines = [f"{units.volume(litres)} of {units.volume(expected)}{error}"]
    lines.append(f"{report['substeps']} substeps ({report['rule']}), {report['seconds']:.1f} s a frame")
    return lines + report.get("warnings", [])[:2]


def draw_message(layout, text: str, kind: str):
    """A message in lines that fit."""
    box = layout.box().column(align=True)
    for part in text.split("\n"):
        icon, line = "INFO" if kind == "INFO" else "ERROR", ""
        for word in part.split():
            if len(line) + len(word) > 56:
                box.label(text=line, icon=icon)
                icon, line = "BLANK1", ""
            line = f"{line} {word}".strip()
        box.label(text=line, icon=icon)


def _last_frame(context, settings) -> int:
    return context.scene.frame_end if settings.use_scene_frames else settings.end_frame


class _Domain(_Panel):
    """A folder of the domain's parameters."""

    bl_parent_id = "MENISCUS_PT_main"
    folder = ""

    @classmethod
    def poll(cls, context):
        return context.object is not None and context.object.meniscus.role == "DOMAIN"

    def draw(self, context):
        settings = context.object.meniscus.domain
        _draw_rows(self.layout, settings, "scene", self.folder, settings.advanced)


class MENISCUS_PT_liquid(_Domain, bpy.types.Panel):
    bl_label = "Liquid"
    folder = "liquid"


class MENISCUS_PT_shape(_Domain, bpy.types.Panel):
    bl_label = "Shape and Detail"
    folder = "shape"

    def draw(self, context):
        domain = context.object
        settings = domain.meniscus.domain
        layout = self.layout
        size = export.size_in_metres(domain, context.scene)
        longest = max(max(size), 1e-12)
        cell = longest / max(settings.divisions, 1)
        _Domain.draw(self, context)
        box = layout.column(align=True)
        counts = " × ".join(str(max(1, round(d / cell))) for d in size)
        box.label(text=f"Cells of {units.length(cell)}: {counts}")
        box.label(text=f"Domain {' × '.join(units.length(d) for d in size)}")
        row = box.row(align=True)
        row.label(text=f"1 unit = {units.length(export.unit_length(context.scene, settings))}")
        for metres in (0.1, 0.2, 1.0):
            if abs(longest / metres - 1.0) > 0.01:
                row.operator("meniscus.fix_units", text=f"Treat as {units.length(metres)}").longest_side = metres


class MENISCUS_PT_world(_Domain, bpy.types.Panel):
    bl_label = "World"
    bl_options = {"DEFAULT_CLOSED"}
    folder = "world"

    def draw(self, context):
        settings, layout = context.object.meniscus.domain, self.layout
        layout.use_property_split = True
        skip = set()
        layout.prop(settings, "use_scene_frames")
        layout.prop(settings, "use_scene_gravity")
        if settings.use_scene_frames:
            skip |= {"start_frame", "end_frame"}
        if settings.use_scene_gravity:
            skip.add("gravity")
        _draw_rows(layout, settings, "scene", self.folder, settings.advanced, skip)


class MENISCUS_PT_obstacles(_Domain, bpy.types.Panel):
    bl_label = "Colliders"
    bl_options = {"DEFAULT_CLOSED"}
    folder = "colliders"


class MENISCUS_PT_cache(_Domain, bpy.types.Panel):
    bl_label = "Cache and Output"
    bl_options = {"DEFAULT_CLOSED"}
    folder = "cache"

    def draw(self, context):
        settings, layout = context.object.meniscus.domain, self.layout
        layout.use_property_split = True
        layout.prop(settings, "cache_folder")
        layout.prop(settings, "particles")
        layout.prop(settings, "look")
        _draw_rows(layout, settings, "scene", self.folder, settings.advanced)
        layout.operator("meniscus.export_farm", icon="EXPORT")
        layout.operator("meniscus.compare", icon="IMGDISPLAY")


class MENISCUS_PT_advanced(_Domain, bpy.types.Panel):
    bl_label = "Advanced"
    bl_options = {"DEFAULT_CLOSED"}
    folder = "advanced"

    def draw_header(self, context):
        self.layout.prop(context.object.meniscus.domain, "advanced", text="")


class MENISCUS_PT_stats(_Domain, bpy.types.Panel):
    """What the simulation said about the frame that is shown."""

    bl_label = "Stats"
    folder = "stats"

    def draw(self, context):
        domain, layout = context.object, self.layout
        frame = context.scene.frame_current
        try:
            report = playback.report_of(job.cache_folder(domain), frame)
        except job.Unready:
            report = None
        for line in readout(report) or [f"Frame {frame} is not baked"]:
            layout.label(text=line)
        if report:
            memory = report.get("memory_bytes", 0) / 1e6
            layout.label(text=f"{report.get('particles', 0)} particles, {report.get('iterations', 0)} iterations, {memory:.0f} MB")


class MENISCUS_PT_object(_Panel, bpy.types.Panel):
    """Parameters of everything that is not a domain."""

    bl_label = "Settings"
    bl_parent_id = "MENISCUS_PT_main"

    @classmethod
    def poll(cls, context):
        return context.object is not None and context.object.meniscus.role in (
            "LIQUID", "INFLOW", "OBSTACLE", "BODY", "FORCE", "OUTFLOW")

    def draw(self, context):
        m, layout = context.object.meniscus, self.layout
        domain = properties.domain_of(context)
        advanced = bool(domain and domain.meniscus.domain.advanced)
        if domain is None:
            draw_message(layout, "There is no domain yet: give a box the role Domain", "ERROR")
        if m.role in ("LIQUID", "INFLOW"):
            skip = {r["name"] for r in table.rows("source") if r.get("when")} if m.role == "LIQUID" else set()
            _draw_rows(layout, m.source, "source", "sources", advanced, skip)
        elif m.role == "OBSTACLE":
            _draw_rows(layout, m.collider, "collider", "colliders", advanced)
        elif m.role == "BODY":
            _draw_rows(layout, m.body, "body", "colliders", advanced)
            if properties.rest(context.object) is not None:
                layout.operator("meniscus.release", icon="LOOP_BACK")
        elif m.role == "OUTFLOW":
            layout.use_property_split = True
            layout.prop(m.drain, "active")
            layout.label(text="Swallows liquid; covering a side of the domain, opens it")
        else:
            layout.use_property_split = True
            layout.prop(m.force, "kind")
            layout.prop(m.force, "strength")
            if m.force.kind in ("vortex", "point"):
                layout.prop(m.force, "radius")
            if m.force.kind == "wind":
                layout.prop(m.force, "drag")


PANELS = (
    MENISCUS_PT_main, MENISCUS_PT_liquid, MENISCUS_PT_shape, MENISCUS_PT_obstacles, MENISCUS_PT_world, MENISCUS_PT_cache,
    MENISCUS_PT_advanced, MENISCUS_PT_stats, MENISCUS_PT_object,
)


def register():
    for cls in PANELS:
        bpy.utils.register_class(cls)


def unregister():
    for cls in reversed(PANELS):
        bpy.utils.unregister_class(cls)
