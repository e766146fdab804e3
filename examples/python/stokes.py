# %% [markdown]
# # Stokes flow with a free surface
#
# A disk of thick liquid whose exact motion is known. Its radius is 0.75 m, its density 1, its viscosity 0.1; it is given a
# velocity that one step of 1 s turns into the stream function r cos 2a cos(sqrt(3) ln r) B(r), with a pressure that
# balances the viscous stress at the surface. We solve the step on two grids, compare with the exact state, and draw it.
#
# Editors that know `# %%` show this file as a notebook; as a script it prints the errors and writes stokes.png.

# %%
import meniscus
import numpy

MU, RADIUS, STEP = 0.1, 0.75, 1e-4

# %% [markdown]
# ## The exact state
#
# The velocity is the curl of the stream function. Derivatives are taken by differences, which are good to nine digits here.

# %%


def stream(x, y):
    r = numpy.hypot(x, y) + 1e-30
    s = r / RADIUS
    return (x * x - y * y) / r * numpy.cos(3**0.5 * numpy.log(r)) * s**3 * (10 - 15 * s + 6 * s * s)


def pressure(x, y):
    r = numpy.hypot(x, y) + 1e-30
    s = r / RADIUS
    return 8 * 3**0.5 * MU * x * y / r**3 * numpy.sin(3**0.5 * numpy.log(r)) * s**3 * (10 - 15 * s + 6 * s * s)


def along(f, axis):
    """The derivative of a function of x and y, by differences of fourth order."""

    def derivative(x, y):
        step = lambda n: f(x + n * STEP, y) if axis == 0 else f(x, y + n * STEP)
        return (8 * (step(1) - step(-1)) - (step(2) - step(-2))) / (12 * STEP)

    return derivative


# %% [markdown]
# ## What the step begins with
#
# Backwards in time by one step: u* = u + grad p - mu laplace u.

# %%
velocity = (along(stream, 1), lambda x, y: -along(stream, 0)(x, y))


def vorticity(x, y):
    wide = 1e-3
    around = stream(x + wide, y) + stream(x - wide, y) + stream(x, y + wide) + stream(x, y - wide)
    return -(around - 4 * stream(x, y)) / wide**2


def before(axis):
    """u* = u + grad p - mu laplace u; laplace u is the curl of -vorticity."""
    wide = 1e-3

    def value(x, y):
        if axis == 0:
            bend = -(vorticity(x, y + wide) - vorticity(x, y - wide)) / (2 * wide)
        else:
            bend = (vorticity(x + wide, y) - vorticity(x - wide, y)) / (2 * wide)
        return velocity[axis](x, y) + along(pressure, axis)(x, y) - MU * bend

    return value


# %% [markdown]
# ## One solve
#
# A grid of our own: set distances, material and velocities; solve; read back.

# %%
def solve(n):
    grid = meniscus.Grid((n, n), 3 / n, origin=(-1.5, -1.5))
    x = grid.positions("liquid_distance")
    grid["liquid_distance"] = numpy.hypot(x[..., 0], x[..., 1]) - RADIUS
    grid["density"], grid["viscosity"] = 1.0, MU
    for axis, name in enumerate(("velocity_x", "velocity_y")):
        x = grid.positions(name)
        inside = numpy.hypot(x[..., 0], x[..., 1]) < RADIUS + 6 / n
        grid[name] = numpy.where(inside, before(axis)(x[..., 0], x[..., 1]), 0.0)
    info = grid.solve_stokes(1.0, tolerance=1e-10)
    print(f"{n} x {n}: {info.unknowns} unknowns, {info.iterations} iterations, residual {info.residual:.1e}")
    for name, exact in (("velocity_x", velocity[0]), ("velocity_y", velocity[1]), ("pressure", pressure)):
        x = grid.positions(name)
        wet = numpy.hypot(x[..., 0], x[..., 1]) < RADIUS
        error = abs(grid[name] - exact(x[..., 0], x[..., 1]))[wet]
        print(f"    {name:10}  largest error {error.max():.2e}  sum of errors {error.sum() * (3 / n) ** 2:.2e}")
    return grid


# %%
for cells in (32, 64):
    solved = solve(cells)

# %% [markdown]
# Halving the cells leaves about a third of the error in velocity. The largest error in pressure sits at the surface and
# falls more slowly.
#
# ## A picture

# %%
try:
    import matplotlib
except ImportError:
    print("matplotlib is not here: no picture")
    raise SystemExit(0)

matplotlib.use("Agg")
from matplotlib import pyplot

figure, panels = pyplot.subplots(1, 3, figsize=(13, 4))
for panel, name in zip(panels, ("velocity_x", "pressure", "stress_xy")):
    x = solved.positions(name)
    wet = numpy.hypot(x[..., 0], x[..., 1]) < RADIUS
    image = panel.imshow(numpy.where(wet, solved[name], numpy.nan), origin="lower", extent=(-1.5, 1.5, -1.5, 1.5))
    panel.set(title=name, xlim=(-0.8, 0.8), ylim=(-0.8, 0.8))
    figure.colorbar(image, ax=panel)
figure.savefig("stokes.png", dpi=120)
print("drawn: stokes.png")
