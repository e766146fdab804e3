"""Blender has Z up and single precision; the scene has Y up, metres and words."""

import numpy
from mathutils import Matrix

# Rows: a point (x, y, z) of Blender is (x, z, -y) in the scene.
TO_SCENE = Matrix(((1, 0, 0, 0), (0, 0, 1, 0), (0, -1, 0, 0), (0, 0, 0, 1)))
TO_BLENDER = TO_SCENE.inverted()


def to_scene(v):
    return [short(v[0]), short(v[2]), short(-v[1])]


def to_blender(v):
    return (v[0], -v[2], v[1])


def points_to_scene(points: numpy.ndarray) -> numpy.ndarray:
    """n x 3 points or vectors."""
    out = numpy.empty_like(points)
    out[:, 0], out[:, 1], out[:, 2] = points[:, 0], points[:, 2], -points[:, 1]
    return out


def short(x: float) -> float:
    """What the artist typed: the shortest decimal that is the same single-precision number."""
    return float(str(numpy.float32(x))) + 0.0


def pretty(text):
    if text is None:
        return ""
    for plain, nice in (("Pa.s", "Pa·s"), ("m^3", "m³"), ("s^2", "s²")):
        text = text.replace(plain, nice)
    return text


def length(metres: float) -> str:
    if metres >= 1.0:
        return f"{metres:.3g} m"
    if metres >= 0.1:
        return f"{metres * 100:.3g} cm"
    return f"{metres * 1000:.3g} mm"


def volume(litres: float) -> str:
    return f"{litres:.3f} l" if litres >= 1.0 else f"{litres * 1000:.1f} ml"


def duration(seconds: float) -> str:
    seconds = int(round(max(seconds, 0)))
    if seconds < 60:
        return f"{seconds} s"
    if seconds < 3600:
        return f"{seconds // 60} min {seconds % 60:02d} s"
    return f"{seconds // 3600} h {seconds // 60 % 60:02d} min"
