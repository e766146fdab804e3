"""Evaluated meshes as binary PLY files that are named by their content, so that none is written twice."""

import hashlib
import os
import pathlib

import numpy

from . import units


class BadMesh(ValueError):
    """A mesh that cannot be part of a liquid; the text names the object and the fix."""


def arrays(obj, depsgraph):
    """Points in the object's own space (n x 3 f32), faces and carried attributes.

    Faces are a pair: the vertices of all corners, one face after another, and the number of corners of each.
    """
    evaluated = obj.evaluated_get(depsgraph)
    try:
        mesh = evaluated.to_mesh(preserve_all_data_layers=False, depsgraph=depsgraph)
    except RuntimeError:
        mesh = None
    if mesh is None:
        raise BadMesh(f"{obj.name} has no mesh: give the role to a mesh, curve or text object")
    try:
        points = numpy.empty(3 * len(mesh.vertices), numpy.float32)
        mesh.vertices.foreach_get("co", points)
        faces = _faces(mesh)
        carried = _carried(obj, mesh)
    finally:
        evaluated.to_mesh_clear()
    return points.reshape(-1, 3), faces, carried


def _faces(mesh) -> tuple:
    corners = numpy.empty(len(mesh.loops), numpy.int32)
    attribute = mesh.attributes.get(".corner_vert")
    if attribute is not None:
        # Ten times faster than by way of the loops.
        attribute.data.foreach_get("value", corners)
    elif len(corners):
        mesh.loops.foreach_get("vertex_index", corners)
    count = len(mesh.polygons)
    # No face has fewer than three corners, so these are all triangles and need not be asked one by one.
    if len(corners) == 3 * count:
        return corners, numpy.full(count, 3, numpy.int32)
    starts = numpy.empty(count, numpy.int32)
    mesh.polygons.foreach_get("loop_start", starts)
    return corners, numpy.diff(starts, append=len(corners)).astype(numpy.int32)


def triangles(indices: numpy.ndarray) -> tuple:
    """Faces from an array of triangles."""
    return numpy.ascontiguousarray(indices, numpy.int32).ravel(), numpy.full(len(indices), 3, numpy.int32)


def check(obj, points, faces):
    if not len(faces[1]):
        raise BadMesh(f"{obj.name} has no faces: give it some or set its role to None")
    if not numpy.isfinite(points).all():
        bad = int(numpy.flatnonzero(~numpy.isfinite(points).all(axis=1))[0])
        raise BadMesh(f"{obj.name}: vertex {bad} is not a number: delete it (Mesh > Clean Up) or apply its modifiers")


# Of Blender's attributes on vertices: how many numbers, and what they are called there.
_KINDS = {"FLOAT": (1, "value"), "INT": (1, "value"), "BOOLEAN": (1, "value"), "FLOAT2": (2, "vector"), "FLOAT_VECTOR": (3, "vector"),
          "FLOAT_COLOR": (4, "color"), "BYTE_COLOR": (4, "color")}
# What the simulation finds out itself.
_TAKEN = {"position", "normal", "velocity", "id", "age", "phase"}


def _carried(obj, mesh) -> dict:
    """Painted values: attributes on the vertices, all of them for sources, and vertex groups with a meaning."""
    found = {}
    painted = ("viscosity", "friction")
    source = obj.meniscus.role in ("LIQUID", "INFLOW")
    for attribute in mesh.attributes:
        wanted = attribute.name in painted or source and attribute.name not in _TAKEN and not attribute.name.startswith(".")
        if wanted and attribute.domain == "POINT" and attribute.data_type in _KINDS:
            width, what = _KINDS[attribute.data_type]
            values = numpy.empty(len(mesh.vertices) * width, numpy.float32)
            if attribute.data_type in ("INT", "BOOLEAN"):
                values = numpy.empty(len(mesh.vertices), numpy.int32 if attribute.data_type == "INT" else bool)
            attribute.data.foreach_get(what, values)
            values = values.astype(numpy.float32).reshape(-1, width)
            # A colour is three numbers; how much it covers is for renderers.
            found[attribute.name] = values[:, 0] if width == 1 else values[:, :3]
    for name in painted:
        if name not in found and name in obj.vertex_groups:
            index = obj.vertex_groups[name].index
            weight = (next((g.weight for g in v.groups if g.group == index), 0.0) for v in mesh.vertices)
            found[name] = numpy.fromiter(weight, numpy.float32, len(mesh.vertices))
    if "viscosity" in found and "viscosity" in obj.vertex_groups and "viscosity" not in mesh.attributes:
        found["viscosity"] *= numpy.float32(_viscosity(obj))
    return found


def _viscosity(obj) -> float:
    domains = [o for scene in obj.users_scene for o in scene.objects if o.meniscus.role == "DOMAIN"]
    return domains[0].meniscus.domain.viscosity if domains else 1.0


def placed(points: numpy.ndarray, matrix) -> numpy.ndarray:
    """Points of an object's own space in the scene's axes."""
    m = numpy.array(units.TO_SCENE @ matrix, dtype=numpy.float64)
    out = points.astype(numpy.float64) @ m[:3, :3].T + m[:3, 3]
    return numpy.ascontiguousarray(out, dtype=numpy.float32)


def _face_bytes(corners, counts) -> bytes:
    """A byte for the number of corners, then their vertices, face after face."""
    if counts.max(initial=0) > 255:
        raise BadMesh(f"A face has {counts.max()} corners: cut it (Face > Triangulate Faces)")
    if len(counts) and (counts == counts[0]).all():
        rows = numpy.empty(len(counts), numpy.dtype([("n", "u1"), ("v", "<i4", int(counts[0]))]))
        rows["n"], rows["v"] = counts[0], corners.reshape(len(counts), -1)
        return rows.tobytes()
    out = numpy.empty(len(counts) + 4 * len(corners), numpy.uint8)
    face = numpy.arange(len(counts))
    starts = numpy.concatenate([[0], numpy.cumsum(counts)[:-1]]) if len(counts) else numpy.empty(0, int)
    out[face + 4 * starts] = counts
    place = numpy.repeat(face, counts) + 1 + 4 * numpy.arange(len(corners))
    out[place[:, None] + numpy.arange(4)] = numpy.ascontiguousarray(corners, "<i4").view(numpy.uint8).reshape(-1, 4)
    return out.tobytes()


def to_bytes(points, faces, carried) -> bytes:
    names = ["x", "y", "z"]
    for name, values in carried.items():
        name = "_".join(name.split())
        names += [name] if values.ndim == 1 else [f"{name}_{i}" for i in range(values.shape[1])]
    properties = "".join(f"property float {a}\n" for a in names)
    header = (
        f"ply\nformat binary_little_endian 1.0\nelement vertex {len(points)}\n{properties}"
        f"element face {len(faces[1])}\nproperty list uchar int vertex_indices\nend_header\n"
    )
    vertices = numpy.column_stack([points, *carried.values()]) if carried else points
    return b"".join([header.encode(), numpy.ascontiguousarray(vertices, "<f4").tobytes(), _face_bytes(*faces)])


def write(folder: pathlib.Path, points, faces, carried) -> str:
    """Write a mesh unless it is there already; returns its name."""
    data = to_bytes(points, faces, carried)
    name = hashlib.blake2b(data, digest_size=12).hexdigest() + ".ply"
    path = folder / name
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        temporary = folder / f".{name}.{os.getpid()}.tmp"
        try:
            temporary.write_bytes(data)
            os.replace(temporary, path)
        except OSError:
            temporary.unlink(missing_ok=True)
            raise
    return name
