"""One solver alone: the pressure round a ball in a stream, as a picture in text.

Liquid fills a channel; the left border pushes it in and the right border lets it out at the same speed. One pressure
solve turns the uniform stream into the flow round the ball: pressure is highest where the stream meets it.
"""

import meniscus
import numpy

N, SPEED, DT = 48, 1.0, 0.01
grid = meniscus.Grid((2 * N, N), 1 / N)
nodes = grid.positions("solid_distance")
grid["liquid_distance"] = numpy.full((N, 2 * N), -1.0)
grid["solid_distance"] = numpy.hypot(nodes[..., 0] - 1.0, nodes[..., 1] - 0.5) - 0.15
grid["velocity_x"] = numpy.full((N, 2 * N + 1), SPEED)
border = numpy.zeros((N, 2 * N + 1))
border[:, [0, -1]] = SPEED
grid["solid_velocity_x"] = border
info = grid.solve_pressure(DT, tolerance=1e-10)
pressure = grid["pressure"]
print(f"{info.unknowns} unknowns, {info.iterations} iterations, refused {info.refused_inflow:.1e} m2/s")
low, high = pressure.min(), pressure.max()
for row in pressure[::-2]:
    print("".join(" .:-=+*#%@"[int(9.99 * (p - low) / (high - low + 1e-30))] for p in row))
