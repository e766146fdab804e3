"""Liquids for pictures, from Python.

    import meniscus
    water = meniscus.Simulation(scene)          # a dict or JSON text
    for frame in water.frames(2, 48):
        points = water.field("surface.position")   # numpy, n x 3, metres
        triangles = water.field("surface.triangle")

Everything that fails raises :class:`meniscus.Error` with the code of meniscus.h and the library's message.
Arrays that come out are views of the library's memory: they are valid until the object changes or ends, so
``.copy()`` what you want to keep.
"""

from ._command import command
from ._library import Error, build_info, version
from .grid import Grid, SolveInfo
from .lattice import Lattice
from .simulation import BODY, COLLIDER, EMITTER, Estimate, Progress, Simulation, estimate

__all__ = [
    "BODY",
    "COLLIDER",
    "EMITTER",
    "Error",
    "Estimate",
    "Grid",
    "Lattice",
    "Progress",
    "Simulation",
    "SolveInfo",
    "build_info",
    "command",
    "estimate",
    "version",
]
