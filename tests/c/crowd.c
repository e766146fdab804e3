/* Many simulations from many threads: no error, the same bits as alone, and no memory left behind.

       crowd [rounds] [simulations] [threads]        */
#include <malloc.h>
#include <meniscus.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static const char scene[] =
    "{\"meniscus\": 1, \"frames\": [1, 10], \"domain\": {\"min\": [0, 0, 0], \"max\": [0.4, 0.3, 0.2]},"
    " \"resolution\": {\"divisions\": 6}, \"threads\": 1,"
    " \"initial\": [{\"shape\": {\"box\": {\"min\": [0, 0, 0], \"max\": [0.2, 0.2, 0.2]}}}]}";
static const char empty[] =
    "{\"meniscus\": 1, \"frames\": [1, 10], \"domain\": {\"min\": [0, 0, 0], \"max\": [1, 1, 1]}, \"threads\": 1}";

static uint64_t expected;
static int each;

static uint64_t run(void) {
    mns_simulation *water;
    mns_array x;
    uint64_t hash = 1469598103934665603u;
    size_t i;
    if (mns_simulation_create(scene, NULL, &water) != MNS_OK) return 0;
    if (mns_simulation_step(water, NULL, NULL) != MNS_OK) return 0;
    if (mns_simulation_field(water, "surface.position", &x) != MNS_OK) return 0;
    for (i = 0; i < x.count * x.stride; ++i) hash = (hash ^ ((const unsigned char *)x.data)[i]) * 1099511628211u;
    return mns_simulation_destroy(water) == MNS_OK ? hash : 0;
}

static void *work(void *wrong) {
    int i;
    for (i = 0; i < each; ++i)
        if (run() != expected) ++*(int *)wrong;
    return NULL;
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Seconds of a step with nothing to simulate: what the calls themselves cost. */
static double overhead(void) {
    mns_simulation *nothing;
    double best = 1;
    int i;
    if (mns_simulation_create(empty, NULL, &nothing) != MNS_OK) return 1;
    for (i = 0; i < 200; ++i) {
        int64_t frame;
        const double start = now();
        mns_simulation_frame(nothing, &frame);
        if (now() - start < best) best = now() - start;
    }
    printf("a call that reads: %.2f us\n", 1e6 * best);
    best = 1;
    for (i = 0; i < 200; ++i) {
        const double start = now();
        if (mns_simulation_step(nothing, NULL, NULL) != MNS_OK) return 1;
        if (now() - start < best) best = now() - start;
    }
    mns_simulation_destroy(nothing);
    return best;
}

int main(int argc, char **argv) {
    const int rounds = argc > 1 ? atoi(argv[1]) : 3, simulations = argc > 2 ? atoi(argv[2]) : 64;
    const int threads = argc > 3 ? atoi(argv[3]) : 16;
    size_t in_use = 0;
    int r, t, wrong[64] = {0}, bad = 0;
    printf("an empty step: %.2f us\n", 1e6 * overhead());
    expected = run();
    each = simulations / threads;
    for (r = 0; r < rounds; ++r) {
        pthread_t ids[64];
        for (t = 0; t < threads; ++t) pthread_create(&ids[t], NULL, work, &wrong[t]);
        for (t = 0; t < threads; ++t) pthread_join(ids[t], NULL);
        if (r == 1) in_use = mallinfo2().uordblks;
    }
    for (t = 0; t < threads; ++t) bad += wrong[t];
    printf("%d simulations from %d threads: %d wrong; bytes in use %lu after two rounds, %lu after all\n",
           rounds * simulations, threads, bad, (unsigned long)in_use, (unsigned long)mallinfo2().uordblks);
    /* Up to half a megabyte waits to be reclaimed, whatever the number of rounds; a kilobyte left behind by each
       simulation would be more than that after ten rounds. */
    if (rounds > 2 && mallinfo2().uordblks > in_use + 524288) bad = 1, printf("memory was left behind\n");
    return bad != 0 || expected == 0;
}
