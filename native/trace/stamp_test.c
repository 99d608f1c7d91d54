/* SPDX-License-Identifier: BSD-3-Clause */
/* Stamps go on, and stay as near to the clock as they say, whatever the clock does. */
#define _POSIX_C_SOURCE 200809L
#include "trace/stamp.h"

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

static int64_t bends_ns, bend;

/* A clock that runs too fast or too slowly from a moment on. */
static int64_t bent_ns(void) {
    const int64_t now_ns = monotonic_ns();
    return now_ns < bends_ns ? now_ns : now_ns + (now_ns - bends_ns) / bend;
}

typedef struct seen {
    int64_t last_ns, worst_ns;
    int counted; /* stamps without a reading of the clock */
} seen;

/* Takes a stamp between two readings of a clock. */
static void look(offbeat_stamps *stamps, int64_t (*clock_ns)(void), seen *all) {
    const int64_t before_ns = clock_ns(), stamp_ns = offbeat_stamp(stamps), after_ns = clock_ns();
    const int64_t early_ns = before_ns - stamp_ns, late_ns = stamp_ns - after_ns;
    const int64_t wrong_ns = early_ns > late_ns ? early_ns : late_ns;
    test_assert(stamp_ns >= all->last_ns, "a stamp went back by %lld ns",
                (long long)(all->last_ns - stamp_ns));
    all->last_ns = stamp_ns;
    all->counted += stamps->due_ticks > 0;
    if (wrong_ns > all->worst_ns)
        all->worst_ns = wrong_ns;
}

static void *look_for_a_while(void *given) {
    int64_t (*clock_ns)(void) = *(int64_t(**)(void))given;
    static const struct timespec rest = {0, 30000000};
    offbeat_stamps stamps = {0};
    seen all = {0};
    for (int round = 0; round < 4; round++) {
        for (int64_t until_ns = monotonic_ns() + 30000000; monotonic_ns() < until_ns;)
            look(&stamps, clock_ns, &all);
        nanosleep(&rest, NULL);
    }
    offbeat_stamp_anew(&stamps); /* the last line is looked at, too */
    test_assert(all.worst_ns <= offbeat_stamps_bound_ns(), "stamps were %lld ns off, and say %lld",
                (long long)all.worst_ns, (long long)offbeat_stamps_bound_ns());
    test_assert(all.counted > 0 || offbeat_stamps_bound_ns() == 0, "a bound without stamps of the counter");
    return NULL;
}

static void in_threads(int64_t (*clock_ns)(void)) {
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, look_for_a_while, &clock_ns);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
}

static void test_stamps_are_within_their_bound(void) {
    offbeat_stamps_begin(monotonic_ns, 1);
    in_threads(monotonic_ns);
}

/* @param by the clock gains one nanosecond in so many */
static void look_at_bent(int64_t by) {
    bend = by;
    bends_ns = monotonic_ns() + 50000000;
    offbeat_stamps_begin(bent_ns, 1);
    in_threads(bent_ns);
}

static void test_a_clock_that_bends_a_little_is_followed(void) {
    look_at_bent(-5000);
}

static void is_given_up(void) {
    offbeat_stamps stamps = {0};
    offbeat_stamp(&stamps);
    test_assert(stamps.due_ticks == 0, "the counter is still used");
}

static void test_a_clock_that_gains_is_admitted_and_asked_from_then_on(void) {
    look_at_bent(500);
    is_given_up();
}

static void test_a_clock_that_loses_is_admitted_and_asked_from_then_on(void) {
    look_at_bent(-500);
    is_given_up();
}

static void test_other_clocks_are_always_asked(void) {
    offbeat_stamps_begin(monotonic_ns, 0);
    in_threads(monotonic_ns);
    test_assert(offbeat_stamps_bound_ns() == 0, "readings are %lld ns wrong",
                (long long)offbeat_stamps_bound_ns());
}

/* What is known of stamps is one a process. */
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
    in_child(test_stamps_are_within_their_bound, "stamps");
    in_child(test_a_clock_that_bends_a_little_is_followed, "a clock that bends a little");
    in_child(test_a_clock_that_gains_is_admitted_and_asked_from_then_on, "a clock that gains");
    in_child(test_a_clock_that_loses_is_admitted_and_asked_from_then_on, "a clock that loses");
    in_child(test_other_clocks_are_always_asked, "another clock");
    return 0;
}
