/* A host that flushes small numbers to zero gets the same bits, and its own state back. */
#include <meniscus.h>
#include <stdio.h>
#include <string.h>
#include <xmmintrin.h>

static const char scene[] =
    "{\"meniscus\": 1, \"frames\": [1, 10], \"domain\": {\"min\": [0, 0, 0], \"max\": [0.4, 0.3, 0.2]},"
    " \"resolution\": {\"divisions\": 12},"
    " \"initial\": [{\"shape\": {\"box\": {\"min\": [0, 0, 0], \"max\": [0.2, 0.2, 0.2]}}}]}";

static int wrong_in_callback;
static unsigned host_word;

static int32_t callback(void *user, const mns_progress *progress) {
    (void)user, (void)progress;
    /* The lower bits only record what happened. */
    if ((_mm_getcsr() & ~0x3fu) != (host_word & ~0x3fu)) wrong_in_callback = 1;
    return 0;
}

static uint64_t run(unsigned word, uint32_t threads) {
    mns_settings settings;
    mns_simulation *water = NULL;
    mns_array x;
    uint64_t hash = 1469598103934665603u;
    size_t i;
    mns_settings_init(&settings, sizeof settings);
    settings.threads = threads;
    host_word = word;
    _mm_setcsr(word);
    mns_simulation_create(scene, &settings, &water);
    mns_simulation_advance(water, 4, callback, NULL);
    mns_simulation_field(water, "particle.position", &x);
    if ((_mm_getcsr() & ~0x3fu) != (word & ~0x3fu)) wrong_in_callback = 1;
    _mm_setcsr(0x1f80);
    for (i = 0; i < x.count * x.stride; ++i) hash = (hash ^ ((const unsigned char *)x.data)[i]) * 1099511628211u;
    mns_simulation_destroy(water);
    return x.count > 0 ? hash : 0;
}

int main(void) {
    /* Default; flush to zero and denormals are zero; rounding down; status bits left over. */
    const unsigned words[] = {0x1f80, 0x9fc0, 0x3f80, 0x1fa3};
    const uint64_t expected = run(words[0], 1);
    int i, bad = expected == 0;
    for (i = 0; i < 4; ++i)
        if (run(words[i], 1 + (uint32_t)i % 3) != expected) bad = 1, printf("other bits with control word %x\n", words[i]);
    if (wrong_in_callback) bad = 1, printf("the host's control word was changed\n");
    printf("%s\n", bad ? "FAILED" : "the same bits under every floating-point state");
    return bad;
}
