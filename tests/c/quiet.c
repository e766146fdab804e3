/* What a guest does not do: print, install signal handlers, read the environment, leave threads behind.

   The program takes the place of getenv for the library, looks at all signal handlers before and after, sends its
   output to a file, and counts its threads in /proc. Between, it uses every door, also wrongly. */
#define _GNU_SOURCE
#include <dirent.h>
#include <meniscus.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int watching = 0, asked = 0;
static char first_asked[64];

/* glibc keeps its own way to the environment, so that only others end here. */
char *getenv(const char *name) {
    extern char **environ;
    char **at;
    const size_t length = strlen(name);
    if (watching && !asked++) strncpy(first_asked, name, sizeof first_asked - 1);
    for (at = environ; at && *at; ++at)
        if (!strncmp(*at, name, length) && (*at)[length] == '=') return *at + length + 1;
    return NULL;
}

char *secure_getenv(const char *name) { return getenv(name); }

static int threads(void) {
    DIR *folder = opendir("/proc/self/task");
    int count = 0;
    while (readdir(folder)) ++count;
    closedir(folder);
    return count - 2;
}

static const char scene[] =
    "{\"meniscus\": 1, \"frames\": [1, 10], \"domain\": {\"min\": [0, 0, 0], \"max\": [0.4, 0.3, 0.2]},"
    " \"resolution\": {\"divisions\": 8}, \"threads\": 2,"
    " \"initial\": [{\"shape\": {\"box\": {\"min\": [0, 0, 0], \"max\": [0.2, 0.2, 0.2]}}}],"
    " \"emitters\": [{\"name\": \"tap\", \"velocity\": [0, -1, 0],"
    "   \"shape\": {\"sphere\": {\"center\": [0.3, 0.2, 0.1], \"radius\": 0.05}}}],"
    " \"bodies\": [{\"name\": \"cork\", \"density\": 300,"
    "   \"shape\": {\"sphere\": {\"center\": [0.1, 0.25, 0.1], \"radius\": 0.04}}}],"
    " \"colliders\": [{\"name\": \"post\", \"shape\": {\"sphere\": {\"center\": [0.3, 0, 0.1], \"radius\": 0.05}}}]}";
static const char graded[] =
    "{\"meniscus\": 1, \"frames\": [1, 10], \"domain\": {\"min\": [0, 0, 0], \"max\": [0.4, 0.4, 0.4]},"
    " \"resolution\": {\"divisions\": 8}, \"threads\": 2, \"simulator\": {\"type\": \"bcc\", \"detail\": 2},"
    " \"initial\": [{\"shape\": {\"box\": {\"min\": [0, 0, 0], \"max\": [0.2, 0.2, 0.4]}}}]}";

static const uint32_t triangles[] = {0, 4, 6, 0, 6, 2, 1, 3, 7, 1, 7, 5, 0, 1, 5, 0, 5, 4,
                                     2, 6, 7, 2, 7, 3, 0, 2, 3, 0, 3, 1, 4, 5, 7, 4, 7, 6};

/* A block that swells, so that its points move against each other. */
static void block(double *at, double x, double y, double size) {
    int i;
    for (i = 0; i < 8; ++i) {
        at[3 * i] = x + (i & 1 ? size : 0.0);
        at[3 * i + 1] = y + (i & 2 ? 0.12 : 0.0);
        at[3 * i + 2] = 0.05 + (i & 4 ? 0.1 : 0.0);
    }
}

static mns_mesh_sample sample(double frame, const double *points) {
    mns_mesh_sample s;
    memset(&s, 0, sizeof s);
    s.struct_size = sizeof s;
    s.frame = frame;
    s.positions.data = points;
    s.positions.count = 8;
    s.positions.type = MNS_TYPE_F64;
    s.positions.width = 3;
    s.triangles.data = triangles;
    s.triangles.count = 12;
    s.triangles.type = MNS_TYPE_U32;
    s.triangles.width = 3;
    return s;
}

static int simulate(const char *text) {
    mns_simulation *water = NULL;
    mns_array array, saved;
    const char *name;
    size_t i;
    int bad = mns_simulation_create(text, NULL, &water) != MNS_OK;
    for (i = 0; mns_simulation_field_name(water, i, &name) == MNS_OK; ++i)
        bad |= mns_simulation_field(water, name, &array) != MNS_OK;
    if (text == scene) {
        double now[24], next[24];
        mns_mesh_sample both[2];
        block(now, 0.2, 0.15, 0.12);
        block(next, 0.2, 0.15, 0.15);
        both[0] = sample(1, now);
        both[1] = sample(2, next);
        bad |= mns_simulation_set_geometry(water, MNS_GEOMETRY_EMITTER, "tap", both, 2) != MNS_OK;
        block(now, 0.25, 0, 0.1);
        bad |= mns_simulation_set_geometry(water, MNS_GEOMETRY_COLLIDER, "post", both, 2) != MNS_OK;
        bad |= mns_simulation_set_geometry(water, MNS_GEOMETRY_BODY, "cork", both, 1) != MNS_OK;
        bad |= mns_simulation_step(water, NULL, NULL) != MNS_OK;
        /* The emitter now deforms on from the frame before. */
        block(next, 0.2, 0.15, 0.1);
        both[1] = sample(3, next);
        bad |= mns_simulation_set_geometry(water, MNS_GEOMETRY_EMITTER, "tap", both + 1, 1) != MNS_OK;
    }
    bad |= mns_simulation_advance(water, 3, NULL, NULL) != MNS_OK;
    bad |= mns_simulation_save(water, &saved) != MNS_OK;
    bad |= mns_simulation_load(water, saved.data, saved.count) != MNS_OK;
    bad |= mns_simulation_report_json(water, &name) != MNS_OK;
    bad |= mns_simulation_field(water, "surface.position", &array) != MNS_OK;
    bad |= mns_simulation_destroy(water) != MNS_OK;
    if (bad) fprintf(stderr, "a simulation failed: %s\n", mns_last_error());
    return bad;
}

static int pieces(void) {
    mns_grid *grid = NULL;
    mns_lattice *lattice = NULL;
    mns_grid_options options;
    mns_lattice_options box;
    mns_stokes_options step;
    double phi[64];
    mns_array values;
    int i, bad = 0;
    for (i = 0; i < 64; ++i) phi[i] = 0.1 * (i / 8) - 0.45;
    memset(&values, 0, sizeof values);
    values.data = phi;
    values.count = 64;
    values.type = MNS_TYPE_F64;
    values.width = 1;
    mns_grid_options_init(&options, sizeof options);
    options.cells[0] = options.cells[1] = 8;
    options.cells[2] = 1;
    options.cell = 0.1;
    mns_stokes_options_init(&step, sizeof step);
    bad |= mns_grid_create(&options, &grid) != MNS_OK;
    bad |= mns_grid_set(grid, "liquid_distance", &values) != MNS_OK;
    bad |= mns_grid_solve_stokes(grid, &step, NULL) != MNS_OK;
    bad |= mns_grid_positions(grid, "stress_xy", &values) != MNS_OK;
    bad |= mns_grid_destroy(grid) != MNS_OK;
    mns_lattice_options_init(&box, sizeof box);
    box.depth = 1;
    bad |= mns_lattice_create(&box, NULL, &lattice) != MNS_OK;
    bad |= mns_lattice_positions(lattice, "velocity", &values) != MNS_OK;
    bad |= mns_lattice_field(lattice, "normal", &values) != MNS_OK;
    bad |= mns_lattice_destroy(lattice) != MNS_OK;
    if (bad) fprintf(stderr, "a solve failed: %s\n", mns_last_error());
    return bad;
}

static void handlers(struct sigaction *all) {
    int s;
    memset(all, 0, 65 * sizeof *all);
    for (s = 1; s <= 64; ++s) sigaction(s, NULL, &all[s]);
}

int main(void) {
    static struct sigaction before[65], after[65];
    struct stat told;
    const int out = dup(1), err = dup(2);
    FILE *file = tmpfile();
    int s, bad = 0, left;
    handlers(before);
    dup2(fileno(file), 1);
    dup2(fileno(file), 2);
    watching = 1;
    bad |= mns_version() != MNS_VERSION || !*mns_build_info();
    bad |= simulate(scene) | simulate(graded) | pieces();
    bad |= mns_scene_estimate("{\"watre\": 1}", NULL) != MNS_ERROR_SCENE;
    bad |= mns_simulation_destroy((mns_simulation *)(void *)&bad) != MNS_ERROR_HANDLE;
    watching = 0;
    /* A thread that was waited for may still be listed for a moment. */
    for (s = 0, left = threads(); left != 1 && s < 100; ++s, left = threads()) usleep(10000);
    fflush(NULL);
    fstat(fileno(file), &told);
    dup2(out, 1);
    dup2(err, 2);
    handlers(after);
    if (told.st_size) {
        char text[4096];
        rewind(file);
        text[fread(text, 1, sizeof text - 1, file)] = 0;
        bad = 1, printf("FAILED: the library printed, or a call failed: %s\n", text);
    }
    if (asked) bad = 1, printf("FAILED: the library asked %d times for the environment, first for %s\n", asked, first_asked);
    if (left != 1) bad = 1, printf("FAILED: %d threads are left behind\n", left - 1);
    for (s = 1; s <= 64; ++s)
        if (before[s].sa_handler != after[s].sa_handler) bad = 1, printf("FAILED: signal %d has another handler\n", s);
    printf("%s\n", bad ? "the library was not quiet" : "no output, no signal handlers, no environment, no threads left");
    return bad;
}
