/* Many simulations from many threads: all alive at once, no error, the same bits as alone, and no memory left behind.

       crowd [rounds] [most microseconds of an empty step]        */
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

enum { THREADS = 16, EACH = 4 };

static uint64_t expected;
static pthread_barrier_t all_alive;

static uint64_t hash_of(mns_simulation *water) {
    mns_array x;
    uint64_t hash = 1469598103934665603u;
    size_t i;
    if (mns_simulation_step(water, NULL, NULL) != MNS_OK) return 0;
    if (mns_simulation_field(water, "surface.position", &x) != MNS_OK) return 0;
    for (i = 0; i < x.count * x.stride; ++i) hash = (hash ^ ((const unsigned char *)x.data)[i]) * 1099511628211u;
    return hash;
}

/* Four simulations a thread; none steps before all are there, and none ends before all have stepped. */
static void *work(void *wrong) {
    mns_simulation *water[EACH];
    int i;
    for (i = 0; i < EACH; ++i)
        if (mns_simulation_create(scene, NULL, &water[i]) != MNS_OK) ++*(int *)wrong;
    pthread_barrier_wait(&all_alive);
    for (i = 0; i < EACH; ++i)
        if (hash_of(water[i]) != expected) ++*(int *)wrong;
    pthread_barrier_wait(&all_alive);
    for (i = 0; i < EACH; ++i)
        if (mns_simulation_destroy(water[i]) != MNS_OK) ++*(int *)wrong;
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
    const int rounds = argc > 1 ? atoi(argv[1]) : 3;
    const double most = argc > 2 ? atof(argv[2]) : 0, empty_step = 1e6 * overhead();
    mns_simulation *alone = NULL;
    size_t in_use = 0, at_end;
    int r, t, wrong[THREADS] = {0}, all_wrong = 0, bad = 0;
    printf("an empty step: %.2f us\n", empty_step);
    if (most > 0 && empty_step > most) bad = 1, printf("FAILED: more than %.1f us\n", most);
    if (mns_simulation_create(scene, NULL, &alone) == MNS_OK) expected = hash_of(alone);
    if (!expected || mns_simulation_destroy(alone) != MNS_OK) bad = 1, printf("FAILED: the run alone\n");
    pthread_barrier_init(&all_alive, NULL, THREADS);
    for (r = 0; r < rounds; ++r) {
        pthread_t ids[THREADS];
        for (t = 0; t < THREADS; ++t) pthread_create(&ids[t], NULL, work, &wrong[t]);
        for (t = 0; t < THREADS; ++t) pthread_join(ids[t], NULL);
        if (r == 1) in_use = mallinfo2().uordblks;
    }
    at_end = mallinfo2().uordblks;
    for (t = 0; t < THREADS; ++t) all_wrong += wrong[t];
    printf("%d simulations, %d alive at once, from %d threads: %d wrong; bytes in use %lu after two rounds, %lu after all\n",
           rounds * THREADS * EACH, THREADS * EACH, THREADS, all_wrong, (unsigned long)in_use, (unsigned long)at_end);
    /* Up to half a megabyte waits to be reclaimed, whatever the number of rounds; a kilobyte left behind by each
       simulation would be more than that after ten rounds. */
    if (rounds > 2 && at_end > in_use + 524288) bad = 1, printf("FAILED: memory was left behind\n");
    return bad != 0 || all_wrong != 0;
}
