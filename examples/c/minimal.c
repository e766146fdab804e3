/* A dam breaks: simulate ten frames, write the surface of each as OBJ.

       cc minimal.c $(pkg-config --cflags --libs meniscus) -o minimal && ./minimal [folder]             */
#include <meniscus.h>
#include <stdio.h>

static const char scene[] =
    "{\"meniscus\": 1, \"frames\": [1, 10],"
    " \"domain\": {\"min\": [0, 0, 0], \"max\": [1, 0.6, 0.4]}, \"resolution\": {\"divisions\": 24},"
    " \"initial\": [{\"shape\": {\"box\": {\"min\": [0, 0, 0], \"max\": [0.4, 0.4, 0.4]}}}]}";

static int failed(mns_result result) {
    if (result != MNS_OK) fprintf(stderr, "%s: %s\n", mns_result_name(result), mns_last_error());
    return result != MNS_OK;
}

static int write_obj(const char *folder, int frame, mns_array points, mns_array triangles) {
    const double *p = points.data;
    const uint32_t *t = triangles.data;
    char name[1024];
    size_t i;
    FILE *file;
    sprintf(name, "%.900s/water.%04d.obj", folder, frame);
    if (!(file = fopen(name, "w"))) return 1;
    for (i = 0; i < points.count; ++i) fprintf(file, "v %g %g %g\n", p[3 * i], p[3 * i + 1], p[3 * i + 2]);
    for (i = 0; i < triangles.count; ++i)
        fprintf(file, "f %u %u %u\n", t[3 * i] + 1, t[3 * i + 1] + 1, t[3 * i + 2] + 1);
    return fclose(file);
}

int main(int argc, char **argv) {
    mns_simulation *water;
    mns_array points, triangles;
    double volume;
    int frame;
    if (failed(mns_simulation_create(scene, NULL, &water))) return 1;
    for (frame = 2; frame <= 10; ++frame) {
        if (failed(mns_simulation_step(water, NULL, NULL))) return 1;
        if (failed(mns_simulation_field(water, "surface.position", &points))) return 1;
        if (failed(mns_simulation_field(water, "surface.triangle", &triangles))) return 1;
        if (failed(mns_simulation_volume(water, &volume, NULL))) return 1;
        if (write_obj(argc > 1 ? argv[1] : ".", frame, points, triangles)) return 1;
        printf("frame %d: %.2f l, %lu triangles\n", frame, 1000 * volume, (unsigned long)triangles.count);
    }
    return failed(mns_simulation_destroy(water));
}
