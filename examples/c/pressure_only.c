/* One solver for an engine of your own: the pressure in a tilted tank of water, without a scene.

       cc pressure_only.c $(pkg-config --cflags --libs meniscus) -lm -o pressure_only && ./pressure_only        */
#include <meniscus.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { N = 32 };

static int failed(mns_result result) {
    if (result != MNS_OK) fprintf(stderr, "%s: %s\n", mns_result_name(result), mns_last_error());
    return result != MNS_OK;
}

/* Set a field to a + b x + c y at the places where its values sit. */
static mns_result set_linear(mns_grid *grid, const char *name, double a, double b, double c) {
    mns_array at, values;
    mns_result result = mns_grid_positions(grid, name, &at);
    const double *x = at.data;
    double *v;
    size_t i;
    if (result != MNS_OK) return result;
    v = malloc(at.count * sizeof *v);
    if (!v) return MNS_ERROR_MEMORY;
    for (i = 0; i < at.count; ++i) v[i] = a + b * x[3 * i] + c * x[3 * i + 1];
    values.data = v;
    values.count = at.count;
    values.stride = 0;
    values.type = MNS_TYPE_F64;
    values.width = 1;
    result = mns_grid_set(grid, name, &values);
    free(v);
    return result;
}

int main(void) {
    const double gx = 2.0, gy = -9.6, dt = 0.01, rho = 1000.0;
    const double g = sqrt(gx * gx + gy * gy);
    mns_grid_options options;
    mns_pressure_options pressure;
    mns_solve_info info;
    mns_array p, phi;
    mns_grid *grid;
    double worst = 0;
    size_t i;

    /* A flat grid: 32 by 32 cells over one square metre. */
    if (failed(mns_grid_options_init(&options, sizeof options))) return 1;
    options.cells[0] = options.cells[1] = N;
    options.cells[2] = 1;
    options.cell = 1.0 / N;
    if (failed(mns_grid_create(&options, &grid))) return 1;

    /* Water below a surface at right angles to gravity, above a floor that slopes the other way. */
    if (failed(set_linear(grid, "liquid_distance", (0.5 * gx + 0.6 * gy) / g, -gx / g, -gy / g))) return 1;
    if (failed(set_linear(grid, "solid_distance", -0.15, 0.28, 0.96))) return 1;
    if (failed(set_linear(grid, "velocity_x", gx * dt, 0, 0))) return 1;
    if (failed(set_linear(grid, "velocity_y", gy * dt, 0, 0))) return 1;

    if (failed(mns_pressure_options_init(&pressure, sizeof pressure))) return 1;
    pressure.dt = dt;
    pressure.tolerance = 1e-12;
    info.struct_size = sizeof info;
    if (failed(mns_grid_solve_pressure(grid, &pressure, &info))) return 1;

    /* Still water carries its weight: p = rho g times the depth below the surface. */
    if (failed(mns_grid_field(grid, "pressure", &p))) return 1;
    if (failed(mns_grid_field(grid, "liquid_distance", &phi))) return 1;
    for (i = 0; i < p.count; ++i) {
        const double found = ((const double *)p.data)[i], depth = -((const double *)phi.data)[i];
        if (found != 0) worst = fmax(worst, fabs(found - rho * g * depth) / (rho * g));
    }
    printf("%lu pressures in %u iterations; greatest error %.1e m of water\n", (unsigned long)info.unknowns,
           info.iterations, worst);
    return failed(mns_grid_destroy(grid)) || worst > 1e-8;
}
