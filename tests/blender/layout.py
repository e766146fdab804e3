"""A stand-in for Blender's layouts that remembers what a panel draws, and refuses what Blender would refuse."""

import types


class Layout:
    def __init__(self, drawn=None):
        self.drawn = [] if drawn is None else drawn

    def _part(self, **_):
        return Layout(self.drawn)

    row = column = box = split = _part

    def prop(self, data, name, **_):
        if name not in data.bl_rna.properties:
            raise AssertionError(f"{data} has no property {name}")
        self.drawn.append(("prop", data.bl_rna.properties[name].name))

    def label(self, text="", icon="NONE"):
        self.drawn.append(("label", text))

    def operator(self, name, text=None, icon="NONE"):
        import bpy

        module, function = name.split(".")
        getattr(getattr(bpy.ops, module), function).get_rna_type()
        self.drawn.append(("operator", name, text))
        return types.SimpleNamespace()

    def menu(self, name, icon="NONE"):
        self.drawn.append(("menu", name))

    def progress(self, factor=0.0, text=""):
        assert 0.0 <= factor <= 1.0
        self.drawn.append(("progress", text))

    def texts(self):
        return " | ".join(str(part) for item in self.drawn for part in item[1:] if part)
