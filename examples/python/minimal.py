"""A dam breaks: simulate ten frames, write the surface of each as OBJ.

    pip install meniscus && python minimal.py [folder]
"""

import sys

import meniscus

SCENE = {
    "meniscus": 1,
    "frames": [1, 10],
    "domain": {"min": [0, 0, 0], "max": [1, 0.6, 0.4]},
    "resolution": {"divisions": 24},
    "initial": [{"shape": {"box": {"min": [0, 0, 0], "max": [0.4, 0.4, 0.4]}}}],
}

folder = sys.argv[1] if len(sys.argv) > 1 else "."
water = meniscus.Simulation(SCENE)
for frame in water.frames(2, 10):
    points, triangles = water.field("surface.position"), water.field("surface.triangle")
    with open(f"{folder}/water.{frame:04}.obj", "w") as file:
        file.writelines(f"v {x:g} {y:g} {z:g}\n" for x, y, z in points)
        file.writelines(f"f {a} {b} {c}\n" for a, b, c in triangles + 1)
    print(f"frame {frame}: {1000 * water.volume:.2f} l, {len(triangles)} triangles")
