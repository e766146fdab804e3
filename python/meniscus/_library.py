"""The shared library and the types of its header."""

import ctypes
import json
import os
import pathlib

import numpy

VERSION = 100

(OK, INVALID, SCENE, GEOMETRY, FORMAT, IO, MEMORY, CANCELLED, DIVERGED, BUSY, NEWER, UNSUPPORTED, HANDLE, PANIC) = range(
    0, -14, -1
)

TYPES = {1: "f4", 2: "f8", 3: "i4", 4: "u4", 5: "i8", 6: "u8", 7: "u1"}


class Error(RuntimeError):
    """A call of the library that failed; ``code`` is one of the MNS_ERROR codes."""

    def __init__(self, code: int, message: str):
        super().__init__(message)
        self.code = code


class Array(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("count", ctypes.c_size_t),
        ("stride", ctypes.c_size_t),
        ("type", ctypes.c_int32),
        ("width", ctypes.c_int32),
    ]


class Attribute(ctypes.Structure):
    _fields_ = [
        ("struct_size", ctypes.c_uint32),
        ("reserved", ctypes.c_uint32),
        ("name", ctypes.c_char_p),
        ("values", Array),
    ]


class NamedMesh(ctypes.Structure):
    _fields_ = [
        ("struct_size", ctypes.c_uint32),
        ("reserved", ctypes.c_uint32),
        ("name", ctypes.c_char_p),
        ("positions", Array),
        ("triangles", Array),
        ("attributes", ctypes.POINTER(Attribute)),
        ("attribute_count", ctypes.c_size_t),
    ]


class Field(ctypes.Structure):
    _fields_ = [
        ("struct_size", ctypes.c_uint32),
        ("reserved", ctypes.c_uint32),
        ("name", ctypes.c_char_p),
        ("frame", ctypes.c_double),
        ("counts", ctypes.c_uint64 * 3),
        ("origin", ctypes.c_double * 3),
        ("steps", ctypes.c_double * 9),
        ("values", Array),
    ]


class Settings(ctypes.Structure):
    _fields_ = [
        ("struct_size", ctypes.c_uint32),
        ("threads", ctypes.c_uint32),
        ("memory_limit", ctypes.c_uint64),
        ("mesh_folder", ctypes.c_char_p),
        ("meshes", ctypes.POINTER(NamedMesh)),
        ("mesh_count", ctypes.c_size_t),
        ("fields", ctypes.POINTER(Field)),
        ("field_count", ctypes.c_size_t),
    ]


class MeshSample(ctypes.Structure):
    _fields_ = [
        ("struct_size", ctypes.c_uint32),
        ("reserved", ctypes.c_uint32),
        ("frame", ctypes.c_double),
        ("positions", Array),
        ("velocities", Array),
        ("triangles", Array),
        ("attributes", ctypes.POINTER(Attribute)),
        ("attribute_count", ctypes.c_size_t),
    ]


class ProgressRecord(ctypes.Structure):
    _fields_ = [
        ("struct_size", ctypes.c_uint32),
        ("substeps", ctypes.c_uint32),
        ("frame", ctypes.c_int64),
        ("fraction", ctypes.c_double),
        ("stage", ctypes.c_char_p),
        ("volume", ctypes.c_double),
    ]


class EstimateRecord(ctypes.Structure):
    _fields_ = [
        ("struct_size", ctypes.c_uint32),
        ("reserved", ctypes.c_uint32),
        ("domain_cells", ctypes.c_uint64),
        ("liquid_cells", ctypes.c_uint64),
        ("particles", ctypes.c_uint64),
        ("memory_bytes", ctypes.c_uint64),
        ("disk_bytes_per_frame", ctypes.c_uint64),
    ]


class GridOptions(ctypes.Structure):
    _fields_ = [
        ("struct_size", ctypes.c_uint32),
        ("threads", ctypes.c_uint32),
        ("cells", ctypes.c_uint32 * 3),
        ("reserved", ctypes.c_uint32),
        ("origin", ctypes.c_double * 3),
        ("cell", ctypes.c_double),
    ]


class PressureOptions(ctypes.Structure):
    _fields_ = [
        ("struct_size", ctypes.c_uint32),
        ("scheme", ctypes.c_int32),
        ("dt", ctypes.c_double),
        ("tolerance", ctypes.c_double),
        ("expansion", ctypes.c_double),
    ]


class StokesOptions(ctypes.Structure):
    _fields_ = [
        ("struct_size", ctypes.c_uint32),
        ("reserved", ctypes.c_uint32),
        ("dt", ctypes.c_double),
        ("tolerance", ctypes.c_double),
    ]


class LatticeOptions(ctypes.Structure):
    _fields_ = [
        ("struct_size", ctypes.c_uint32),
        ("threads", ctypes.c_uint32),
        ("cells", ctypes.c_uint32 * 3),
        ("depth", ctypes.c_uint32),
        ("origin", ctypes.c_double * 3),
        ("cell", ctypes.c_double),
    ]


class LatticeSolveOptions(ctypes.Structure):
    _fields_ = [
        ("struct_size", ctypes.c_uint32),
        ("coupling", ctypes.c_int32),
        ("slide", ctypes.c_int32),
        ("reserved", ctypes.c_int32),
        ("dt", ctypes.c_double),
        ("tolerance", ctypes.c_double),
        ("density", ctypes.c_double),
    ]


class SolveInfoRecord(ctypes.Structure):
    _fields_ = [
        ("struct_size", ctypes.c_uint32),
        ("iterations", ctypes.c_uint32),
        ("residual", ctypes.c_double),
        ("closed_regions", ctypes.c_uint64),
        ("refused_inflow", ctypes.c_double),
        ("unknowns", ctypes.c_uint64),
    ]


PROGRESS = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.POINTER(ProgressRecord))

_text, _handle, _size, _any = ctypes.c_char_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p
_array = ctypes.POINTER(Array)

# Arguments of every function that returns a code.
_FUNCTIONS = {
    "mns_scene_estimate": [_text, ctypes.POINTER(EstimateRecord)],
    "mns_simulation_create": [_text, ctypes.POINTER(Settings), ctypes.POINTER(_handle)],
    "mns_simulation_destroy": [_handle],
    "mns_simulation_step": [_handle, PROGRESS, _any],
    "mns_simulation_advance": [_handle, ctypes.c_int64, PROGRESS, _any],
    "mns_simulation_interrupt": [_handle],
    "mns_simulation_set_geometry": [_handle, ctypes.c_int32, _text, ctypes.POINTER(MeshSample), _size],
    "mns_simulation_set_field": [_handle, _text, ctypes.POINTER(Field), _size],
    "mns_simulation_set_keys": [_handle, _text, ctypes.POINTER(Array)],
    "mns_simulation_save": [_handle, _array],
    "mns_simulation_save_file": [_handle, _text],
    "mns_simulation_load": [_handle, _text, _size],
    "mns_simulation_load_file": [_handle, _text],
    "mns_simulation_frame": [_handle, ctypes.POINTER(ctypes.c_int64)],
    "mns_simulation_volume": [_handle, ctypes.POINTER(ctypes.c_double), ctypes.POINTER(ctypes.c_double)],
    "mns_simulation_report_json": [_handle, ctypes.POINTER(_text)],
    "mns_simulation_field": [_handle, _text, _array],
    "mns_simulation_field_name": [_handle, _size, ctypes.POINTER(_text)],
    "mns_simulation_collider_mesh": [_handle, _text, _array, _array],
    "mns_grid_create": [ctypes.POINTER(GridOptions), ctypes.POINTER(_handle)],
    "mns_grid_destroy": [_handle],
    "mns_grid_set": [_handle, _text, _array],
    "mns_grid_solve_pressure": [_handle, ctypes.POINTER(PressureOptions), ctypes.POINTER(SolveInfoRecord)],
    "mns_grid_solve_viscosity": [_handle, ctypes.POINTER(StokesOptions), ctypes.POINTER(SolveInfoRecord)],
    "mns_grid_solve_stokes": [_handle, ctypes.POINTER(StokesOptions), ctypes.POINTER(SolveInfoRecord)],
    "mns_grid_interrupt": [_handle],
    "mns_grid_field": [_handle, _text, _array],
    "mns_grid_positions": [_handle, _text, _array],
    "mns_lattice_create": [ctypes.POINTER(LatticeOptions), _array, ctypes.POINTER(_handle)],
    "mns_lattice_destroy": [_handle],
    "mns_lattice_set": [_handle, _text, _array],
    "mns_lattice_solve_pressure": [_handle, ctypes.POINTER(LatticeSolveOptions), ctypes.POINTER(SolveInfoRecord)],
    "mns_lattice_solve_viscosity": [_handle, ctypes.POINTER(LatticeSolveOptions), ctypes.POINTER(SolveInfoRecord)],
    "mns_lattice_interrupt": [_handle],
    "mns_lattice_field": [_handle, _text, _array],
    "mns_lattice_positions": [_handle, _text, _array],
}


def _find() -> str:
    """The library beside this file; MENISCUS_LIBRARY names another, for those who build their own."""
    given = os.environ.get("MENISCUS_LIBRARY")
    return given or str(pathlib.Path(__file__).with_name("libmeniscus.so"))


def _load() -> ctypes.CDLL:
    library = ctypes.CDLL(_find())
    for name in ("mns_last_error", "mns_build_info"):
        getattr(library, name).restype = ctypes.c_char_p
        getattr(library, name).argtypes = []
    library.mns_version.restype = ctypes.c_int32
    for name, arguments in _FUNCTIONS.items():
        getattr(library, name).restype = ctypes.c_int32
        getattr(library, name).argtypes = arguments
    if library.mns_version() // 100 != VERSION // 100:
        raise ImportError(f"meniscus {VERSION} found a library of version {library.mns_version()}")
    return library


library = _load()


def call(name: str, *arguments) -> None:
    """Call a function that returns a code; raise what it says."""
    code = getattr(library, name)(*arguments)
    if code != OK:
        raise Error(code, library.mns_last_error().decode())


def version() -> str:
    """Version of the library, as "0.1.0"."""
    number = library.mns_version()
    return f"{number // 10000}.{number // 100 % 100}.{number % 100}"


def build_info() -> dict:
    """How the library was built."""
    return json.loads(library.mns_build_info())


def sized(kind):
    """A struct with its size set and everything else zero."""
    return kind(struct_size=ctypes.sizeof(kind))


def array_in(values, width: int, integers: bool = False):
    """An input array and the numpy array that holds its numbers; keep the second until the call is done."""
    values = numpy.asarray(values)
    if integers:
        values = numpy.ascontiguousarray(values, dtype=numpy.uint32)
    else:
        values = numpy.ascontiguousarray(values, dtype=values.dtype if values.dtype == numpy.float32 else numpy.float64)
    if values.size % width:
        raise ValueError(f"{values.size} numbers are not groups of {width}")
    kind = 4 if integers else (1 if values.dtype == numpy.float32 else 2)
    return Array(values.ctypes.data, values.size // width, 0, kind, width), values


def field(row, values, origin, steps):
    """Fill a record of a field; returns what must live as long as it does."""
    values = numpy.asarray(values, dtype=numpy.float32)
    if values.ndim not in (3, 4):
        raise ValueError("a field has the shape x, y, z, or x, y, z, 3 for vectors")
    # Samples along x stand side by side.
    flat = numpy.ascontiguousarray(values.transpose(2, 1, 0, *range(3, values.ndim)))
    steps = numpy.asarray(steps, dtype=numpy.float64)
    steps = steps if steps.ndim == 2 else numpy.eye(3) * steps
    row.struct_size = ctypes.sizeof(row)
    row.counts[:], row.origin[:], row.steps[:] = values.shape[:3], [float(x) for x in origin], steps.ravel().tolist()
    row.values, held = array_in(flat.reshape(-1, 3) if values.ndim == 4 else flat.ravel(), 3 if values.ndim == 4 else 1)
    return held


def paint(row, attributes):
    """Give a mesh what its points carry, by name; keep what is returned until the call is done."""
    rows, keep = (Attribute * len(attributes or {}))(), []
    for one, (name, values) in zip(rows, (attributes or {}).items()):
        values = numpy.asarray(values)
        one.struct_size, one.name = ctypes.sizeof(one), name.encode()
        one.values, held = array_in(values, values.shape[1] if values.ndim == 2 else 1)
        keep.append(held)
    row.attributes, row.attribute_count = rows, len(rows)
    return keep + [rows]


def view(array: Array, owner) -> numpy.ndarray:
    """A read-only numpy view of the library's memory that keeps its owner alive."""
    dtype = numpy.dtype(TYPES[array.type])
    if array.count == 0:
        return numpy.empty((0, array.width) if array.width > 1 else 0, dtype)
    size = (array.count - 1) * array.stride + array.width * dtype.itemsize
    buffer = (ctypes.c_char * size).from_address(array.data)
    buffer.owner = owner
    shape, strides = (array.count,), (array.stride,)
    if array.width > 1:
        shape, strides = (array.count, array.width), (array.stride, dtype.itemsize)
    result = numpy.ndarray(shape, dtype, buffer, 0, strides)
    result.flags.writeable = False
    return result
