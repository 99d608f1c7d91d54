/* SPDX-License-Identifier: BSD-3-Clause */
/* Timestamps never decrease, and their error stays within the reported bound, whatever the clock does. */
#define _POSIX_C_SOURCE 200809L
#include "trace/timestamp.h"

#include "testing/assert.h"

#include <pthread.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int64_t monotonic_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static int64_t change_ns, period;

/* A clock that gains a nanosecond in every `period` from an instant on; or loses one, if that is negative. */
static int64_t drifting_ns(void) {
    const int64_t now_ns = monotonic_ns();
    return now_ns < change_ns ? now_ns : now_ns + (now_ns - change_ns) / period;
}

typedef struct statistics {
    int64_t last_ns, max_error_ns;
    int from_tsc; /* timestamps without a reading of the clock */
} statistics;

/* Takes a timestamp between two readings of a clock. */
static void observe(offbeat_tracer_timestamps *timestamps, int64_t (*clock_ns)(void), statistics *totals) {
    const int64_t before_ns = clock_ns(), timestamp_ns = offbeat_tracer_timestamp_ns(timestamps);
    const int64_t after_ns = clock_ns();
    const int64_t early_ns = before_ns - timestamp_ns, late_ns = timestamp_ns - after_ns;
    const int64_t error_ns = early_ns > late_ns ? early_ns : late_ns;
    test_assert(timestamp_ns >= totals->last_ns, "a timestamp decreased by %lld ns",
                (long long)(totals->last_ns - timestamp_ns));
    totals->last_ns = timestamp_ns;
    totals->from_tsc += timestamps->valid_ticks > 0;
    if (error_ns > totals->max_error_ns)
        totals->max_error_ns = error_ns;
}

static void *observe_for_a_while(void *argument) {
    int64_t (*clock_ns)(void) = *(int64_t(**)(void))argument;
    static const struct timespec pause = {0, 30000000};
    offbeat_tracer_timestamps timestamps = {0};
    statistics totals = {0};
    for (int round = 0; round < 4; round++) {
        for (int64_t end_ns = monotonic_ns() + 30000000; monotonic_ns() < end_ns;)
            observe(&timestamps, clock_ns, &totals);
        nanosleep(&pause, NULL);
    }
    offbeat_tracer_recalibrate(&timestamps); /* measures the error of the last fit */
    test_assert(totals.max_error_ns <= offbeat_tracer_timestamp_bound_ns(),
                "the error was %lld ns, the bound is %lld ns", (long long)totals.max_error_ns,
                (long long)offbeat_tracer_timestamp_bound_ns());
    test_assert(totals.from_tsc > 0 || offbeat_tracer_timestamp_bound_ns() == 0,
                "there is a bound without timestamps from the TSC");
    return NULL;
}

static void observe_in_threads(int64_t (*clock_ns)(void)) {
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, observe_for_a_while, &clock_ns);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
}

static void test_errors_are_within_the_bound(void) {
    offbeat_tracer_timestamps_init(monotonic_ns, 1);
    observe_in_threads(monotonic_ns);
}

static void observe_drifting(int64_t drift_period) {
    period = drift_period;
    change_ns = monotonic_ns() + 50000000;
    offbeat_tracer_timestamps_init(drifting_ns, 1);
    observe_in_threads(drifting_ns);
}

static void test_a_small_drift_is_followed(void) {
    observe_drifting(-5000);
}

static void check_that_the_tsc_is_disabled(void) {
    offbeat_tracer_timestamps timestamps = {0};
    offbeat_tracer_timestamp_ns(&timestamps);
    test_assert(timestamps.valid_ticks == 0, "the TSC is still used");
}

static void test_a_clock_that_gains_disables_the_tsc(void) {
    observe_drifting(500);
    check_that_the_tsc_is_disabled();
}

static void test_a_clock_that_loses_disables_the_tsc(void) {
    observe_drifting(-500);
    check_that_the_tsc_is_disabled();
}

static void test_other_clocks_are_always_read(void) {
    offbeat_tracer_timestamps_init(monotonic_ns, 0);
    observe_in_threads(monotonic_ns);
    test_assert(offbeat_tracer_timestamp_bound_ns() == 0, "the bound of readings is %lld ns",
                (long long)offbeat_tracer_timestamp_bound_ns());
}

/* Each test needs a process of its own, as the bound is a property of the process. */
static void in_child(void (*test)(void), const char *name) {
    pid_t child = fork();
    if (child == 0) {
        test();
        _exit(0);
    }
    int status;
    waitpid(child, &status, 0);
    test_assert(status == 0, "%s failed", name);
}

int main(void) {
    in_child(test_errors_are_within_the_bound, "errors");
    in_child(test_a_small_drift_is_followed, "a small drift");
    in_child(test_a_clock_that_gains_disables_the_tsc, "a clock that gains");
    in_child(test_a_clock_that_loses_disables_the_tsc, "a clock that loses");
    in_child(test_other_clocks_are_always_read, "another clock");
    return 0;
}
