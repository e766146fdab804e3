"""One solver alone on tetrahedra: a lattice of your own, one solve, no scene."""

import ctypes
import dataclasses
from typing import Optional, Sequence

import numpy

from . import _library as lib
from .grid import SolveInfo

_COUPLINGS = {"blend": 0, "flip": 1, "pic": 2, "faces": 3}


class Lattice:
    """Tetrahedra over a box, small where asked. Fields are flat, in the order of :meth:`positions`."""

    def __init__(
        self,
        cells: Sequence[int],
        cell: float,
        depth: int = 0,
        sizing: Optional[numpy.ndarray] = None,
        origin: Sequence[float] = (0.0, 0.0, 0.0),
        threads: int = 0,
    ):
        """``cells`` of ``cell`` metres along x, y, z, each halved ``depth`` times at most. ``sizing`` has rows x, y, z,
        width: the cell there is at most so wide; without it all cells are as fine as they may be."""
        self._handle = None
        options = lib.sized(lib.LatticeOptions)
        options.cells[:], options.origin[:] = tuple(cells), tuple(origin)
        options.cell, options.depth, options.threads = cell, depth, threads
        array, _held = (None, None) if sizing is None else lib.array_in(sizing, 4)
        handle = ctypes.c_void_p()
        points = None if array is None else ctypes.byref(array)
        lib.call("mns_lattice_create", ctypes.byref(options), points, ctypes.byref(handle))
        self._handle = handle

    def close(self) -> None:
        """End the lattice; views of it must not be used any more."""
        handle, self._handle = self._handle, None
        if handle:
            lib.call("mns_lattice_destroy", handle)

    def __enter__(self) -> "Lattice":
        return self

    def __exit__(self, *_) -> None:
        self.close()

    def __del__(self):
        if getattr(self, "_handle", None):
            lib.library.mns_lattice_destroy(self._handle)

    def __setitem__(self, name: str, values) -> None:
        """Set a field; see mns_lattice_set for names and sizes."""
        array, _held = lib.array_in(values, 3 if name == "solid_velocity" else 1)
        lib.call("mns_lattice_set", self._handle, name.encode(), ctypes.byref(array))

    def __getitem__(self, name: str) -> numpy.ndarray:
        """A field, or ``known``, ``stress``, ``normal``, ``tets``, ``face_vertices``, as a view."""
        array = lib.Array()
        lib.call("mns_lattice_field", self._handle, name.encode(), ctypes.byref(array))
        return lib.view(array, self)

    def positions(self, name: str) -> numpy.ndarray:
        """Where the values of a field sit."""
        array = lib.Array()
        lib.call("mns_lattice_positions", self._handle, name.encode(), ctypes.byref(array))
        return lib.view(array, self)

    def solve_pressure(self, dt: float, density: float = 1000.0, tolerance: float = 1e-6) -> SolveInfo:
        """Solve for the pressure that keeps the liquid's volume, and apply it to the velocities."""
        return self._solve("mns_lattice_solve_pressure", dt=dt, density=density, tolerance=tolerance)

    def solve_viscosity(
        self, dt: float, density: float = 1000.0, tolerance: float = 1e-8, coupling: str = "blend", slide: bool = False
    ) -> SolveInfo:
        """Apply viscosity to the velocities; ``coupling`` is blend, flip, pic or faces."""
        numbers = {"dt": dt, "density": density, "tolerance": tolerance, "slide": int(slide)}
        return self._solve("mns_lattice_solve_viscosity", coupling=_COUPLINGS[coupling], **numbers)

    def _solve(self, function: str, **numbers) -> SolveInfo:
        options, info = lib.sized(lib.LatticeSolveOptions), lib.sized(lib.SolveInfoRecord)
        for name, value in numbers.items():
            setattr(options, name, value)
        lib.call(function, self._handle, ctypes.byref(options), ctypes.byref(info))
        return SolveInfo(*(getattr(info, field.name) for field in dataclasses.fields(SolveInfo)))

    def interrupt(self) -> None:
        """Stop a solve from another thread."""
        lib.call("mns_lattice_interrupt", self._handle)
