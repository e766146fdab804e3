"""Scenes and simulations."""

import ctypes
import dataclasses
import json
from typing import Callable, Dict, Iterator, List, Optional, Sequence, Tuple, Union

import numpy

from . import _library as lib

Scene = Union[str, dict]
COLLIDER, EMITTER, BODY = range(3)


@dataclasses.dataclass(frozen=True)
class Progress:
    """What a progress callback sees."""

    frame: int
    fraction: float
    substeps: int
    stage: str
    volume: float


@dataclasses.dataclass(frozen=True)
class Estimate:
    """How big a scene will be."""

    domain_cells: int
    liquid_cells: int
    particles: int
    memory_bytes: int
    disk_bytes_per_frame: int


def _text(scene: Scene) -> bytes:
    return (scene if isinstance(scene, str) else json.dumps(scene)).encode()


def estimate(scene: Scene) -> Estimate:
    """Check a scene and say how big it will be, without building it."""
    record = lib.sized(lib.EstimateRecord)
    lib.call("mns_scene_estimate", _text(scene), ctypes.byref(record))
    return Estimate(*(getattr(record, field.name) for field in dataclasses.fields(Estimate)))


class Simulation:
    """A running simulation. Ends with the object, with ``close()`` or with a ``with`` block."""

    def __init__(
        self,
        scene: Scene,
        threads: int = 0,
        memory_limit: int = 0,
        mesh_folder: Optional[str] = None,
        meshes: Optional[Dict[str, tuple]] = None,
        fields: Optional[Dict[str, tuple]] = None,
    ):
        """Build a scene at its first frame.

        ``threads`` 0 takes what the scene says, or all; ``memory_limit`` is in bytes. Mesh files of the scene
        are looked for in ``meshes`` (name to points n x 3, triangles m x 3 and perhaps a dict of what the points
        carry, such as ``{"viscosity": n numbers}``), then below ``mesh_folder``. Files of its fields are looked for in
        ``fields``: name to an array of the shape x, y, z (and 3 for vectors), the place of the first sample, and the step
        to the next: a length, three, or a row for each axis.
        """
        self._handle = None
        settings = lib.sized(lib.Settings)
        settings.threads, settings.memory_limit = threads, memory_limit
        settings.mesh_folder = mesh_folder.encode() if mesh_folder is not None else None
        rows, keep = (lib.NamedMesh * len(meshes or {}))(), []
        for row, (name, (points, triangles, *painted)) in zip(rows, (meshes or {}).items()):
            row.struct_size, row.name = ctypes.sizeof(row), name.encode()
            row.positions, held = lib.array_in(points, 3)
            row.triangles, held_too = lib.array_in(triangles, 3, integers=True)
            keep += [held, held_too, lib.paint(row, painted[0] if painted else None)]
        settings.meshes, settings.mesh_count = rows, len(rows)
        lattices = (lib.Field * len(fields or {}))()
        for row, (name, given) in zip(lattices, (fields or {}).items()):
            keep.append(lib.field(row, *given))
            row.name = name.encode()
        settings.fields, settings.field_count = lattices, len(lattices)
        handle = ctypes.c_void_p()
        lib.call("mns_simulation_create", _text(scene), ctypes.byref(settings), ctypes.byref(handle))
        self._handle = handle

    def close(self) -> None:
        """End the simulation and its threads; views of it must not be used any more."""
        handle, self._handle = self._handle, None
        if handle:
            lib.call("mns_simulation_destroy", handle)

    def __enter__(self) -> "Simulation":
        return self

    def __exit__(self, *_) -> None:
        self.close()

    def __del__(self):
        if getattr(self, "_handle", None):
            lib.library.mns_simulation_destroy(self._handle)

    @property
    def frame(self) -> int:
        """The last finished frame."""
        frame = ctypes.c_int64()
        lib.call("mns_simulation_frame", self._handle, ctypes.byref(frame))
        return frame.value

    @property
    def volume(self) -> float:
        """Liquid in cubic metres."""
        volume = ctypes.c_double()
        lib.call("mns_simulation_volume", self._handle, ctypes.byref(volume), None)
        return volume.value

    @property
    def report(self) -> dict:
        """How the last frame went."""
        text = ctypes.c_char_p()
        lib.call("mns_simulation_report_json", self._handle, ctypes.byref(text))
        return json.loads(text.value)

    def step(self, progress: Optional[Callable[[Progress], Optional[bool]]] = None) -> None:
        """Compute the next frame. ``progress`` is called several times a second; True cancels."""
        self._run("mns_simulation_step", (), progress)

    def advance(self, frame: int, progress: Optional[Callable[[Progress], Optional[bool]]] = None) -> None:
        """Compute frames until this one is finished."""
        self._run("mns_simulation_advance", (frame,), progress)

    def frames(self, first: int, last: int) -> Iterator[int]:
        """Advance to each frame in turn."""
        for frame in range(first, last + 1):
            self.advance(frame)
            yield frame

    def _run(self, name: str, arguments: tuple, progress) -> None:
        thrown: List[BaseException] = []

        def callback(_user, record) -> int:
            try:
                p = record.contents
                seen = Progress(p.frame, p.fraction, p.substeps, p.stage.decode(), p.volume)
                return 1 if progress(seen) else 0
            except BaseException as error:  # must not pass through C; raised again below
                thrown.append(error)
                return 1

        function = lib.PROGRESS(callback) if progress else lib.PROGRESS()
        try:
            lib.call(name, self._handle, *arguments, function, None)
        except lib.Error:
            if thrown:
                raise thrown[0] from None
            raise

    def interrupt(self) -> None:
        """Stop a step from another thread."""
        lib.call("mns_simulation_interrupt", self._handle)

    def field(self, name: str) -> numpy.ndarray:
        """A field by its name, as a view; see :attr:`field_names`."""
        array = lib.Array()
        lib.call("mns_simulation_field", self._handle, name.encode(), ctypes.byref(array))
        return lib.view(array, self)

    @property
    def field_names(self) -> List[str]:
        """All fields, as "surface.position"."""
        names, text = [], ctypes.c_char_p()
        while True:
            try:
                lib.call("mns_simulation_field_name", self._handle, len(names), ctypes.byref(text))
            except lib.Error as error:
                if error.code != lib.INVALID:
                    raise
                return names
            names.append(text.value.decode())

    def collider_mesh(self, name: str) -> Tuple[numpy.ndarray, numpy.ndarray]:
        """Points and triangles of a collider in its own coordinates."""
        points, triangles = lib.Array(), lib.Array()
        lib.call(
            "mns_simulation_collider_mesh", self._handle, name.encode(), ctypes.byref(points), ctypes.byref(triangles)
        )
        return lib.view(points, self), lib.view(triangles, self)

    def set_geometry(self, name: str, samples: Sequence[tuple], kind: int = COLLIDER) -> None:
        """Replace the geometry of a collider or an emitter from the present frame on: samples of (frame, points,
        triangles), and perhaps velocities and a dict of what the points carry, at rising frames; None for what there is
        not. One sample for the frame to come, before each step, feeds an animated mesh. A body takes one closed mesh,
        which holds at once."""
        rows, keep = (lib.MeshSample * len(samples))(), []
        for row, (frame, points, triangles, *more) in zip(rows, samples):
            row.struct_size, row.frame = ctypes.sizeof(row), frame
            row.positions, held = lib.array_in(points, 3)
            row.triangles, held_too = lib.array_in(triangles, 3, integers=True)
            keep += [held, held_too]
            if more and more[0] is not None:
                row.velocities, held = lib.array_in(more[0], 3)
                keep.append(held)
            keep += lib.paint(row, more[1] if len(more) > 1 else None)
        lib.call("mns_simulation_set_geometry", self._handle, kind, name.encode(), rows, len(rows))

    def set_field(self, name: str, samples: Sequence[tuple]) -> None:
        """Replace a field of the scene by samples of (frame, values, origin, steps) at rising frames, as those of the frame
        to come and of its beginning before each step."""
        rows, keep = (lib.Field * len(samples))(), []
        for row, (frame, *given) in zip(rows, samples):
            keep.append(lib.field(row, *given))
            row.frame = frame
        lib.call("mns_simulation_set_field", self._handle, name.encode(), rows, len(rows))

    def set_keys(self, path: str, keys: Sequence) -> None:
        """Replace a number of the scene, as "liquids[0].viscosity", by rows of a frame and one value, or three for a
        vector. Sent before each step, it follows an animated slider without beginning anew."""
        rows = numpy.asarray([[row[0], *numpy.ravel(row[1])] for row in keys], dtype=numpy.float64)
        array, held = lib.array_in(rows, rows.shape[1] if rows.ndim == 2 else 2)
        lib.call("mns_simulation_set_keys", self._handle, path.encode(), ctypes.byref(array))
        del held

    def save(self, path: Optional[str] = None) -> Optional[bytes]:
        """The complete state as bytes, or into a file."""
        if path is not None:
            lib.call("mns_simulation_save_file", self._handle, path.encode())
            return None
        array = lib.Array()
        lib.call("mns_simulation_save", self._handle, ctypes.byref(array))
        return ctypes.string_at(array.data, array.count)

    def load(self, state: Union[bytes, str]) -> None:
        """Continue from saved bytes, or from a file."""
        if isinstance(state, str):
            lib.call("mns_simulation_load_file", self._handle, state.encode())
        else:
            lib.call("mns_simulation_load", self._handle, state, len(state))
