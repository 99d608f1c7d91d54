/* SPDX-License-Identifier: BSD-3-Clause */
/** @file work_test.c  Tests of what work promises without a clock: it ends, also for sizes of 0 and 1. */
#define _GNU_SOURCE
#include "work/work.h"

#include <stdio.h>
#include <time.h>

static int failures;

static void expect(int condition, const char *claim) {
    if (condition)
        return;
    fprintf(stderr, "work_test: failed: %s\n", claim);
    failures++;
}

static int64_t core_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* Time on the core of a run, the shortest of some. */
static int64_t taken_ns(offbeat_work *work, int64_t memory_bytes, int64_t flops) {
    int64_t shortest_ns = INT64_MAX;
    for (int i = 0; i < 5; i++) {
        const int64_t begin_ns = core_ns();
        offbeat_work_run(work, memory_bytes, flops);
        const int64_t ns = core_ns() - begin_ns;
        shortest_ns = ns < shortest_ns ? ns : shortest_ns;
    }
    return shortest_ns;
}

static void work_of_any_size_ends(void) {
    const int64_t sizes[] = {0, 1, 95, 96, 192, 4096, 1000003};
    const size_t arrays[] = {0, 1, 8192, 1 << 20};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
        offbeat_work *work = offbeat_work_create(arrays[i]);
        expect(work != NULL, "small arrays exist");
        for (size_t j = 0; j < sizeof sizes / sizeof *sizes; j++)
            for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++)
                offbeat_work_run(work, sizes[j], sizes[k]);
        offbeat_work_free(work);
    }
    offbeat_work_busy(0);
    offbeat_work_busy(-1);
    offbeat_work_run(NULL, 0, 1000); /* operations need no arrays */
}

static void more_work_takes_longer(void) {
    offbeat_work *work = offbeat_work_create(1 << 20);
    expect(taken_ns(work, 40000000, 0) > 4 * taken_ns(work, 4000000, 0), "ten times the traffic");
    expect(taken_ns(work, 0, 40000000) > 4 * taken_ns(work, 0, 4000000), "ten times the operations");
    expect(taken_ns(work, 4000000, 400000000) > 4 * taken_ns(work, 4000000, 0), "operations beside traffic");
    const int64_t begin_ns = core_ns();
    offbeat_work_busy(3000000);
    expect(core_ns() - begin_ns >= 3000000, "time on the core");
    offbeat_work_free(work);
}

static void too_much_memory_is_refused(void) {
    expect(offbeat_work_create((size_t)1 << 60) == NULL, "arrays larger than any machine");
    expect(offbeat_work_default_bytes() >= 64U << 20, "the default is larger than caches");
    expect(offbeat_work_domain() >= 0, "a domain");
}

int main(void) {
    work_of_any_size_ends();
    more_work_takes_longer();
    too_much_memory_is_refused();
    return failures ? 1 : 0;
}
