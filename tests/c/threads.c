/* Another thread, and the log callback, at an object that is in use: an answer at once, and a request to stop is heard
   whenever it comes, also between two frames. */
#include <meniscus.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static int failures = 0;

static void expect(const char *what, int holds) {
    if (!holds) {
        printf("FAILED: %s (%s)\n", what, mns_last_error());
        ++failures;
    }
}

static const char water[] =
    "{\"meniscus\": 1, \"frames\": [1, 1000000], \"domain\": {\"min\": [0, 0, 0], \"max\": [0.4, 0.3, 0.2]},"
    " \"resolution\": {\"divisions\": 16},"
    " \"initial\": [{\"shape\": {\"box\": {\"min\": [0, 0, 0], \"max\": [0.2, 0.2, 0.2]}}}]}";
/* Frames that take microseconds: nearly every moment is one between two frames. */
static const char nothing[] =
    "{\"meniscus\": 1, \"frames\": [1, 1000000], \"domain\": {\"min\": [0, 0, 0], \"max\": [1, 1, 1]}, \"threads\": 1}";

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void rest(double seconds) {
    struct timespec t;
    t.tv_sec = (time_t)seconds;
    t.tv_nsec = (long)(1e9 * (seconds - (double)t.tv_sec));
    nanosleep(&t, NULL);
}

struct job {
    mns_simulation *simulation;
    volatile int started;
    mns_result result;
    double ended;
};

static int32_t started(void *user, const mns_progress *progress) {
    (void)progress;
    ((struct job *)user)->started = 1;
    return 0;
}

static void *run(void *user) {
    struct job *job = user;
    job->result = mns_simulation_advance(job->simulation, 5000000, started, job);
    job->ended = now();
    return NULL;
}

static void begin(struct job *job, pthread_t *thread, const char *scene) {
    memset(job, 0, sizeof *job);
    if (mns_simulation_create(scene, NULL, &job->simulation) != MNS_OK) {
        printf("FAILED: create (%s)\n", mns_last_error());
        exit(1);
    }
    pthread_create(thread, NULL, run, job);
    while (!job->started) rest(1e-4);
}

static void interrupts(void) {
    int round;
    for (round = 0; round < 24; ++round) {
        struct job job;
        pthread_t thread;
        double asked;
        begin(&job, &thread, round % 8 ? nothing : water);
        rest(1e-3 + 2.1e-4 * round);
        asked = now();
        expect("interrupt", mns_simulation_interrupt(job.simulation) == MNS_OK);
        pthread_join(thread, NULL);
        expect("is heard", job.result == MNS_ERROR_CANCELLED);
        expect("within a second", job.ended - asked < 1.0);
        expect("without a call it does nothing", mns_simulation_interrupt(job.simulation) == MNS_OK);
        expect("goes on", mns_simulation_step(job.simulation, NULL, NULL) == MNS_OK);
        expect("destroy", mns_simulation_destroy(job.simulation) == MNS_OK);
    }
}

static void second_thread(void) {
    struct job job;
    pthread_t thread;
    mns_array array;
    int64_t frame;
    begin(&job, &thread, water);
    expect("step", mns_simulation_step(job.simulation, NULL, NULL) == MNS_ERROR_BUSY);
    expect("destroy", mns_simulation_destroy(job.simulation) == MNS_ERROR_BUSY);
    expect("frame", mns_simulation_frame(job.simulation, &frame) == MNS_ERROR_BUSY);
    expect("field", mns_simulation_field(job.simulation, "surface.position", &array) == MNS_ERROR_BUSY);
    expect("save", mns_simulation_save(job.simulation, &array) == MNS_ERROR_BUSY);
    expect("load", mns_simulation_load(job.simulation, (const uint8_t *)"x", 1) == MNS_ERROR_BUSY);
    expect("interrupt", mns_simulation_interrupt(job.simulation) == MNS_OK);
    pthread_join(thread, NULL);
    expect("was not disturbed", job.result == MNS_ERROR_CANCELLED);
    expect("destroy", mns_simulation_destroy(job.simulation) == MNS_OK);
}

struct listener {
    mns_simulation *simulation;
    int messages, wrong;
};

/* What a console may do when a line arrives: call anything. */
static void listen(void *user, int32_t level, const char *message) {
    struct listener *listener = user;
    int64_t frame;
    listener->messages++;
    if (!message || !*message) listener->wrong = 1;
    if (level != MNS_LOG_INFO) return;
    if (mns_simulation_step(listener->simulation, NULL, NULL) != MNS_ERROR_BUSY) listener->wrong = 1;
    if (mns_simulation_destroy(listener->simulation) != MNS_ERROR_BUSY) listener->wrong = 1;
    if (mns_simulation_frame(listener->simulation, &frame) != MNS_ERROR_BUSY) listener->wrong = 1;
    if (mns_log_set(MNS_LOG_INFO, listen, user) != MNS_OK) listener->wrong = 1;
}

static void stop_listening(void *user, int32_t level, const char *message) {
    (void)message;
    if (level == MNS_LOG_INFO) mns_simulation_interrupt(((struct listener *)user)->simulation);
}

static void log_callbacks(void) {
    struct listener listener;
    int64_t frame = 0;
    memset(&listener, 0, sizeof listener);
    expect("create", mns_simulation_create(water, NULL, &listener.simulation) == MNS_OK);
    expect("listen", mns_log_set(MNS_LOG_INFO, listen, &listener) == MNS_OK);
    expect("step", mns_simulation_advance(listener.simulation, 3, NULL, NULL) == MNS_OK);
    expect("one line a frame, and one for each refusal", listener.messages == 2 + 2 * 3 && !listener.wrong);
    expect("cancel from a line", mns_log_set(MNS_LOG_INFO, stop_listening, &listener) == MNS_OK);
    expect("is heard before the next frame", mns_simulation_advance(listener.simulation, 9, NULL, NULL) == MNS_ERROR_CANCELLED);
    expect("silence", mns_log_set(MNS_LOG_NONE, NULL, NULL) == MNS_OK);
    expect("after one frame", mns_simulation_frame(listener.simulation, &frame) == MNS_OK && frame == 4);
    expect("destroy", mns_simulation_destroy(listener.simulation) == MNS_OK);
}

int main(void) {
    interrupts();
    second_thread();
    log_callbacks();
    printf("%s\n", failures ? "some expectations failed" : "other threads and callbacks are answered, and heard");
    return failures != 0;
}
