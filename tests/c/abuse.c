/* What a careless host does to the library, from outside: it must answer with a code and live.
   Run plainly, under valgrind and with AddressSanitizer.

       abuse [tries with random handles]        */
#include <meniscus.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failures = 0;

static void expect(const char *what, int holds) {
    if (!holds) {
        printf("FAILED: %s (%s)\n", what, mns_last_error());
        ++failures;
    }
}

static const char scene[] =
    "{\"meniscus\": 1, \"frames\": [1, 10], \"domain\": {\"min\": [0, 0, 0], \"max\": [0.4, 0.3, 0.2]},"
    " \"resolution\": {\"divisions\": 8},"
    " \"initial\": [{\"shape\": {\"box\": {\"min\": [0, 0, 0], \"max\": [0.2, 0.2, 0.2]}}}],"
    " \"colliders\": [{\"name\": \"post\", \"shape\": {\"sphere\": {\"center\": [0.3, 0, 0.1], \"radius\": 0.05}}}]}";

struct visit {
    mns_simulation *simulation;
    mns_result step, destroy, frame, interrupt;
    int calls, cancel;
};

static int32_t callback(void *user, const mns_progress *progress) {
    struct visit *visit = user;
    int64_t frame;
    visit->calls++;
    if (progress->struct_size < sizeof *progress || !progress->stage) return 1;
    visit->step = mns_simulation_step(visit->simulation, NULL, NULL);
    visit->destroy = mns_simulation_destroy(visit->simulation);
    visit->frame = mns_simulation_frame(visit->simulation, &frame);
    return visit->cancel;
}

static void handles(long tries) {
    mns_simulation *a, *b;
    mns_grid *grid;
    mns_grid_options options;
    int64_t frame = 0;
    long i;
    uint64_t bits = 88172645463325252u;
    expect("create", mns_simulation_create(scene, NULL, &a) == MNS_OK);
    expect("destroy", mns_simulation_destroy(a) == MNS_OK);
    expect("twice", mns_simulation_destroy(a) == MNS_ERROR_HANDLE);
    expect("stale", mns_simulation_frame(a, &frame) == MNS_ERROR_HANDLE);
    expect("again", mns_simulation_create(scene, NULL, &b) == MNS_OK);
    expect("stale after reuse", mns_simulation_frame(a, &frame) == MNS_ERROR_HANDLE);
    expect("NULL may be destroyed", mns_simulation_destroy(NULL) == MNS_OK && mns_grid_destroy(NULL) == MNS_OK);
    expect("grid options", mns_grid_options_init(&options, sizeof options) == MNS_OK);
    expect("grid", mns_grid_create(&options, &grid) == MNS_OK);
    expect("foreign", mns_simulation_frame((mns_simulation *)(void *)grid, &frame) == MNS_ERROR_HANDLE);
    expect("address", mns_simulation_frame((mns_simulation *)(void *)&frame, &frame) == MNS_ERROR_HANDLE);
    for (i = 0; i < tries; ++i) {
        mns_simulation *random;
        bits ^= bits << 13, bits ^= bits >> 7, bits ^= bits << 17;
        /* Half of them look like handles of simulations. */
        if (i % 2) bits = (bits & 0x00ffffffffffffffu) | 0x4100000000000000u;
        random = (mns_simulation *)(size_t)bits;
        if (random != b && mns_simulation_interrupt(random) != MNS_ERROR_HANDLE) expect("random handle", 0);
    }
    expect("destroy", mns_simulation_destroy(b) == MNS_OK && mns_grid_destroy(grid) == MNS_OK);
}

static void callbacks(void) {
    struct visit visit;
    int64_t before = 0, after = 0;
    memset(&visit, 0, sizeof visit);
    expect("create", mns_simulation_create(scene, NULL, &visit.simulation) == MNS_OK);
    expect("step", mns_simulation_step(visit.simulation, callback, &visit) == MNS_OK && visit.calls > 0);
    expect("no reentry", visit.step == MNS_ERROR_BUSY && visit.destroy == MNS_ERROR_BUSY && visit.frame == MNS_ERROR_BUSY);
    mns_simulation_frame(visit.simulation, &before);
    visit.cancel = 1;
    expect("cancel", mns_simulation_step(visit.simulation, callback, &visit) == MNS_ERROR_CANCELLED);
    mns_simulation_frame(visit.simulation, &after);
    expect("the frame is not finished", before == after);
    expect("goes on", mns_simulation_step(visit.simulation, NULL, NULL) == MNS_OK);
    expect("destroy", mns_simulation_destroy(visit.simulation) == MNS_OK);
}

static void ages(void) {
    struct {
        mns_settings known;
        uint64_t future;
    } newer;
    struct {
        mns_report known;
        uint64_t future;
    } large;
    mns_simulation *a = NULL;
    mns_report small;
    expect("init", mns_settings_init(&newer.known, sizeof newer) == MNS_OK && newer.future == 0);
    expect("a newer host that asks for nothing new", mns_simulation_create(scene, &newer.known, &a) == MNS_OK);
    newer.future = 1;
    {
        mns_simulation *b = a;
        expect("a newer host that does", mns_simulation_create(scene, &newer.known, &b) == MNS_ERROR_VERSION && !b);
    }
    newer.known.struct_size = 8;
    newer.known.threads = 1;
    newer.known.mesh_count = 99; /* beyond what an older host knows */
    {
        mns_simulation *b;
        expect("an older host", mns_simulation_create(scene, &newer.known, &b) == MNS_OK);
        mns_simulation_destroy(b);
    }
    newer.known.struct_size = 0;
    {
        mns_simulation *b;
        expect("no size", mns_simulation_create(scene, &newer.known, &b) == MNS_ERROR_INVALID);
    }
    memset(&small, 7, sizeof small);
    small.struct_size = 16;
    expect("an old report", mns_simulation_report(a, &small) == MNS_OK && small.frame == 1 && small.struct_size == 16);
    expect("is not overrun", ((unsigned char *)&small)[16] == 7);
    memset(&large, 7, sizeof large);
    large.known.struct_size = sizeof large;
    expect("a new report", mns_simulation_report(a, &large.known) == MNS_OK && large.future == 0);
    mns_simulation_destroy(a);
}

static void states(void) {
    mns_simulation *a, *b;
    mns_array saved, x, y;
    uint8_t *copy;
    size_t size;
    expect("create", mns_simulation_create(scene, NULL, &a) == MNS_OK);
    expect("advance", mns_simulation_advance(a, 3, NULL, NULL) == MNS_OK);
    expect("save", mns_simulation_save(a, &saved) == MNS_OK && saved.type == MNS_TYPE_U8 && saved.count > 100);
    size = saved.count;
    copy = malloc(size);
    memcpy(copy, saved.data, size);
    expect("second", mns_simulation_create(scene, NULL, &b) == MNS_OK);
    expect("load", mns_simulation_load(b, copy, size) == MNS_OK);
    expect("both go on", mns_simulation_step(a, NULL, NULL) == MNS_OK && mns_simulation_step(b, NULL, NULL) == MNS_OK);
    mns_simulation_field(a, "particle.position", &x);
    mns_simulation_field(b, "particle.position", &y);
    expect("in the same bits", x.count == y.count && x.count > 0 && memcmp(x.data, y.data, x.count * x.stride) == 0);
    copy[size / 2] ^= 4;
    expect("damage is noticed", mns_simulation_load(b, copy, size) == MNS_ERROR_FORMAT);
    expect("nothing is no state", mns_simulation_load(b, copy, 0) == MNS_ERROR_FORMAT);
    expect("collider", mns_simulation_collider_mesh(a, "post", &x, &y) == MNS_OK && x.count > 10 && y.width == 3);
    expect("no such", mns_simulation_collider_mesh(a, "past", &x, &y) == MNS_ERROR_INVALID);
    free(copy);
    mns_simulation_destroy(a);
    mns_simulation_destroy(b);
}

/* A block pushed through the water by the host, one mesh a frame. */
static void geometry(void) {
    static const uint32_t triangles[] = {0, 4, 6, 0, 6, 2, 1, 3, 7, 1, 7, 5, 0, 1, 5, 0, 5, 4,
                                         2, 6, 7, 2, 7, 3, 0, 2, 3, 0, 3, 1, 4, 5, 7, 4, 7, 6};
    mns_simulation *a;
    mns_mesh_sample sample;
    mns_array poses, points, corners;
    float positions[24];
    int frame, i;
    memset(&sample, 0, sizeof sample);
    sample.struct_size = sizeof sample;
    sample.positions.data = positions;
    sample.positions.count = 8;
    sample.positions.type = MNS_TYPE_F32;
    sample.positions.width = 3;
    sample.triangles.data = triangles;
    sample.triangles.count = 12;
    sample.triangles.type = MNS_TYPE_U32;
    sample.triangles.width = 3;
    expect("create", mns_simulation_create(scene, NULL, &a) == MNS_OK);
    for (frame = 1; frame < 5; ++frame) {
        for (i = 0; i < 8; ++i) {
            positions[3 * i] = 0.3f - 0.01f * (float)frame + (i & 1 ? 0.1f : 0.0f);
            positions[3 * i + 1] = i & 2 ? 0.1f : 0.0f;
            positions[3 * i + 2] = i & 4 ? 0.2f : 0.0f;
        }
        sample.frame = frame + 1;
        expect("geometry", mns_simulation_set_geometry(a, MNS_GEOMETRY_COLLIDER, "post", &sample, 1) == MNS_OK);
        expect("step", mns_simulation_step(a, NULL, NULL) == MNS_OK);
    }
    expect("pose", mns_simulation_field(a, "collider.pose", &poses) == MNS_OK && poses.count == 1);
    i = (int)(1000 * ((const double *)poses.data)[0] - 0.5);
    expect("three hundredths along", i == -30);
    expect("its mesh", mns_simulation_collider_mesh(a, "post", &points, &corners) == MNS_OK && points.count == 8);
    expect("unknown", mns_simulation_set_geometry(a, MNS_GEOMETRY_COLLIDER, "past", &sample, 1) == MNS_ERROR_INVALID);
    expect("no emitter", mns_simulation_set_geometry(a, MNS_GEOMETRY_EMITTER, "post", &sample, 1) == MNS_ERROR_INVALID);
    expect("no body", mns_simulation_set_geometry(a, MNS_GEOMETRY_BODY, "post", &sample, 1) == MNS_ERROR_INVALID);
    positions[4] /= 0.0f * positions[1];
    expect("not a number", mns_simulation_set_geometry(a, MNS_GEOMETRY_COLLIDER, "post", &sample, 1) == MNS_ERROR_INVALID);
    expect("names it", strstr(mns_last_error(), "post") != NULL);
    expect("goes on", mns_simulation_step(a, NULL, NULL) == MNS_OK);
    mns_simulation_destroy(a);
}

/* A floating block gets another shape: other mass, same place, and the fields of the cells beside it. */
static void bodies(void) {
    static const char floating[] =
        "{\"meniscus\": 1, \"frames\": [1, 10], \"domain\": {\"min\": [0, 0, 0], \"max\": [0.4, 0.3, 0.2]},"
        " \"resolution\": {\"divisions\": 12},"
        " \"initial\": [{\"shape\": {\"box\": {\"min\": [0, 0, 0], \"max\": [0.4, 0.1, 0.2]}}}],"
        " \"bodies\": [{\"name\": \"block\", \"density\": 500, \"velocity\": [0.1, 0, 0],"
        "   \"shape\": {\"box\": {\"min\": [0.1, 0.12, 0.05], \"max\": [0.2, 0.17, 0.15]}}}]}";
    static const uint32_t triangles[] = {0, 4, 6, 0, 6, 2, 1, 3, 7, 1, 7, 5, 0, 1, 5, 0, 5, 4,
                                         2, 6, 7, 2, 7, 3, 0, 2, 3, 0, 3, 1, 4, 5, 7, 4, 7, 6};
    mns_simulation *a;
    mns_mesh_sample sample[2];
    mns_array values, places, points, corners;
    const char *report;
    double positions[24];
    size_t i;
    int wet = 0;
    for (i = 0; i < 8; ++i) {
        positions[3 * i] = i & 1 ? 0.2 : 0.15;
        positions[3 * i + 1] = i & 2 ? 0.17 : 0.12;
        positions[3 * i + 2] = i & 4 ? 0.15 : 0.05;
    }
    memset(sample, 0, sizeof sample);
    for (i = 0; i < 2; ++i) {
        sample[i].struct_size = sizeof sample[i];
        sample[i].frame = (double)i + 1;
        sample[i].positions.data = positions;
        sample[i].positions.count = 8;
        sample[i].positions.type = MNS_TYPE_F64;
        sample[i].positions.width = 3;
        sample[i].triangles.data = triangles;
        sample[i].triangles.count = 12;
        sample[i].triangles.type = MNS_TYPE_U32;
        sample[i].triangles.width = 3;
    }
    expect("create", mns_simulation_create(floating, NULL, &a) == MNS_OK);
    mns_simulation_report_json(a, &report);
    expect("a quarter of a kilogram", strstr(report, "\"mass\":0.25") != NULL);
    expect("one sample only", mns_simulation_set_geometry(a, MNS_GEOMETRY_BODY, "block", sample, 2) == MNS_ERROR_INVALID);
    sample[1].triangles.count = 11;
    expect("only closed ones", mns_simulation_set_geometry(a, MNS_GEOMETRY_BODY, "block", sample + 1, 1) == MNS_ERROR_GEOMETRY);
    sample[1].triangles.count = sample[1].positions.count = 0;
    expect("not nothing", mns_simulation_set_geometry(a, MNS_GEOMETRY_BODY, "block", sample + 1, 1) == MNS_ERROR_GEOMETRY);
    expect("unknown", mns_simulation_set_geometry(a, MNS_GEOMETRY_BODY, "black", sample, 1) == MNS_ERROR_INVALID);
    expect("half of it", mns_simulation_set_geometry(a, MNS_GEOMETRY_BODY, "block", sample, 1) == MNS_OK);
    mns_simulation_report_json(a, &report);
    expect("half the mass", strstr(report, "\"mass\":0.125") != NULL);
    expect("its mesh", mns_simulation_collider_mesh(a, "block", &points, &corners) == MNS_OK && points.count == 8);
    expect("velocity", mns_simulation_field(a, "body.velocity", &values) == MNS_OK && values.width == 6);
    expect("goes on as it moved", ((const double *)values.data)[0] == 0.1);
    expect("steps", mns_simulation_advance(a, 3, NULL, NULL) == MNS_OK);
    expect("pressure", mns_simulation_field(a, "cell.pressure", &values) == MNS_OK && values.count > 100);
    expect("places", mns_simulation_field(a, "cell.position", &places) == MNS_OK && places.count == values.count);
    for (i = 0; i < values.count; ++i) {
        const double p = ((const double *)values.data)[i], y = ((const double *)places.data)[3 * i + 1];
        /* Not far from the weight of the water above. */
        if (p != 0.0 && y > 0.01 && y < 0.03) ++wet, expect("weight", p > 300 && p < 3000);
    }
    expect("under water", wet > 20);
    expect("faces", mns_simulation_field(a, "face.velocity_y", &values) == MNS_OK && values.count == places.count);
    expect("their places", mns_simulation_field(a, "face.position_y", &points) == MNS_OK && points.count == places.count);
    mns_simulation_destroy(a);
}

int main(int argc, char **argv) {
    expect("version", mns_version() == MNS_VERSION);
    expect("build", strstr(mns_build_info(), "meniscus") != NULL);
    expect("scene", mns_scene_estimate("{\"meniscus\": 1, \"watre\": 2}", NULL) == MNS_ERROR_SCENE);
    expect("names the key", strstr(mns_last_error(), "watre") != NULL);
    handles(argc > 1 ? atol(argv[1]) : 1000000);
    callbacks();
    ages();
    states();
    geometry();
    bodies();
    printf("%s\n", failures ? "some expectations failed" : "the library answers every abuse with a code");
    return failures != 0;
}
