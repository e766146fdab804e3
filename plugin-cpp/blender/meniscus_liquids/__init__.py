"""Meniscus in Blender: roles on objects, a bake in a child process, and playback by Blender's own cache modifier.

    table.py       the node's parameter table as Blender properties
    properties.py  what an object and a domain remember
    units.py       Z up to Y up, units to metres, words for numbers
    meshes.py      evaluated meshes to PLY files named by their content
    export.py      objects with roles to a scene file
    marks.py       what a bake was made of, so that changes are seen
    job.py         a bake: export, then the command as a child process
    bake.py        the operators round a bake
    playback.py    the result: cache file, modifier, material, keyframes
    panels.py      the Physics tab and the 3D view's readout
    scenes.py      Add > Meniscus
    farm.py        export for the farm, compare viscosities
"""

from . import bake, farm, panels, playback, properties, scenes

_MODULES = (properties, playback, bake, farm, scenes, panels)


def register():
    for module in _MODULES:
        module.register()


def unregister():
    for module in reversed(_MODULES):
        module.unregister()
