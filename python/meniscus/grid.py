"""One solver alone: a grid of your own, one solve, no scene."""

import ctypes
import dataclasses
from typing import Sequence

import numpy

from . import _library as lib


@dataclasses.dataclass(frozen=True)
class SolveInfo:
    """How a solve went."""

    iterations: int
    residual: float
    closed_regions: int
    refused_inflow: float
    unknowns: int


class Grid:
    """A box of cubic cells. Arrays run along x first: a field of shape (nz, ny, nx) in numpy's order."""

    def __init__(self, cells: Sequence[int], cell: float, origin: Sequence[float] = (0.0, 0.0, 0.0), threads: int = 0):
        """``cells`` along x, y, z (one along z, or none given, makes the grid flat) of ``cell`` metres."""
        self._handle = None
        options = lib.sized(lib.GridOptions)
        cells = tuple(cells) + (1,) * (3 - len(cells))
        options.cells[:], options.origin[:] = cells, tuple(origin) + (0.0,) * (3 - len(origin))
        options.cell, options.threads = cell, threads
        handle = ctypes.c_void_p()
        lib.call("mns_grid_create", ctypes.byref(options), ctypes.byref(handle))
        self._handle, self._cells = handle, cells

    def close(self) -> None:
        """End the grid; views of it must not be used any more."""
        handle, self._handle = self._handle, None
        if handle:
            lib.call("mns_grid_destroy", handle)

    def __enter__(self) -> "Grid":
        return self

    def __exit__(self, *_) -> None:
        self.close()

    def __del__(self):
        if getattr(self, "_handle", None):
            lib.library.mns_grid_destroy(self._handle)

    def __setitem__(self, name: str, values) -> None:
        """Set a field; see mns_grid_set for names and sizes."""
        array, _held = lib.array_in(values, 1)
        lib.call("mns_grid_set", self._handle, name.encode(), ctypes.byref(array))

    def __getitem__(self, name: str) -> numpy.ndarray:
        """A field as a view in the shape of the grid (z, y, x; y, x if flat)."""
        array = lib.Array()
        lib.call("mns_grid_field", self._handle, name.encode(), ctypes.byref(array))
        return self._shaped(name, lib.view(array, self))

    def positions(self, name: str) -> numpy.ndarray:
        """Where the values of a field sit, in the shape of the grid with x, y, z last."""
        array = lib.Array()
        lib.call("mns_grid_positions", self._handle, name.encode(), ctypes.byref(array))
        return self._shaped(name, lib.view(array, self))

    def _shaped(self, name: str, values: numpy.ndarray) -> numpy.ndarray:
        n, flat = list(self._cells), self._cells[2] == 1
        if name in ("solid_distance", "liquid_distance_nodes"):
            n = [c + 1 for c in n[: 2 if flat else 3]] + ([1] if flat else [])
        elif name[-2:] in ("_x", "_y", "_z"):
            n["xyz".index(name[-1])] += 1
        elif name.startswith("stress_") and name[-1] != name[-2]:
            for axis in name[-2:]:
                n["xyz".index(axis)] += 1
        shape = tuple(n[1::-1] if flat else n[::-1])
        if values.shape[0] != numpy.prod(shape):
            return values
        return values.reshape(shape + values.shape[1:])

    def solve_pressure(self, dt: float, tolerance: float = 1e-6, expansion: float = 0.0, scheme: int = 0) -> SolveInfo:
        """Solve for the pressure that keeps the liquid's volume, and apply it to the velocities."""
        options, info = lib.sized(lib.PressureOptions), lib.sized(lib.SolveInfoRecord)
        options.dt, options.tolerance, options.expansion, options.scheme = dt, tolerance, expansion, scheme
        lib.call("mns_grid_solve_pressure", self._handle, ctypes.byref(options), ctypes.byref(info))
        return SolveInfo(*(getattr(info, field.name) for field in dataclasses.fields(SolveInfo)))

    def solve_viscosity(self, dt: float, tolerance: float = 1e-8) -> SolveInfo:
        """Apply viscosity to the velocities; read ``stress_xx`` and its like afterwards."""
        return self._solve_stokes("mns_grid_solve_viscosity", dt, tolerance)

    def solve_stokes(self, dt: float, tolerance: float = 1e-8) -> SolveInfo:
        """Solve for pressure and viscosity at once; read ``pressure``, ``velocity_x``, ``stress_xx`` and their like."""
        return self._solve_stokes("mns_grid_solve_stokes", dt, tolerance)

    def _solve_stokes(self, function: str, dt: float, tolerance: float) -> SolveInfo:
        options, info = lib.sized(lib.StokesOptions), lib.sized(lib.SolveInfoRecord)
        options.dt, options.tolerance = dt, tolerance
        lib.call(function, self._handle, ctypes.byref(options), ctypes.byref(info))
        return SolveInfo(*(getattr(info, field.name) for field in dataclasses.fields(SolveInfo)))

    def interrupt(self) -> None:
        """Stop a solve from another thread."""
        lib.call("mns_grid_interrupt", self._handle)
