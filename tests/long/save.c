/* One save of a simulation, for tests/long/system_calls: `save new FILE` begins and saves, `save next FILE` goes on from
 * the file for a frame and saves over it, `save frame FILE` says at which frame the file is. Ends with the result. */
#include <meniscus.h>
#include <stdio.h>
#include <string.h>

static const char scene[] =
    "{\"meniscus\": 1, \"frames\": [1, 10], \"domain\": {\"min\": [0, 0, 0], \"max\": [0.2, 0.2, 0.2]},"
    " \"resolution\": {\"divisions\": 6},"
    " \"initial\": [{\"shape\": {\"box\": {\"min\": [0, 0, 0], \"max\": [0.1, 0.1, 0.2]}}}]}";

static int told(mns_result result) {
    if (result != MNS_OK) fprintf(stderr, "%s: %s\n", mns_result_name(result), mns_last_error());
    return -(int)result;
}

int main(int argc, char **argv) {
    mns_settings settings;
    mns_simulation *water = NULL;
    int64_t frame = 0;
    int code;
    if (argc != 3) return 99;
    mns_settings_init(&settings, sizeof settings);
    settings.threads = 1;
    if ((code = told(mns_simulation_create(scene, &settings, &water)))) return code;
    if (strcmp(argv[1], "new") && (code = told(mns_simulation_load_file(water, argv[2])))) return code;
    if (!strcmp(argv[1], "frame")) {
        if ((code = told(mns_simulation_frame(water, &frame)))) return code;
        printf("%d\n", (int)frame);
        return 0;
    }
    if ((code = told(mns_simulation_step(water, NULL, NULL)))) return code;
    code = told(mns_simulation_save_file(water, argv[2]));
    /* A save that failed leaves a simulation that can be saved elsewhere. */
    mns_simulation_destroy(water);
    return code;
}
