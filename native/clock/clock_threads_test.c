/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Two threads of each process make, synchronise, read and free clocks at once, each on its own communicators,
 * between clocks that run apart. Ends with status 77 where the MPI library does not allow threads.
 */
#include <offbeat/clock.h>

#include "clock/expect.h"

#include <pthread.h>
#include <stdlib.h>

enum { THREADS = 2, CLOCKS = 4, SYNCS = 4, SKIPPED = 77 };

typedef struct work {
    MPI_Comm comm;
    const char *method;
    int rank;
} work;

static void expect_truth(const offbeat_clock *clock, int rank) {
    int64_t now_ns = physical_now_ns();
    offbeat_instant instant = offbeat_clock_at(clock, drifting_clock_ns(rank, now_ns));
    int64_t error_ns = instant.global_ns - drifting_clock_ns(0, now_ns);
    expect(llabs(error_ns) <= instant.bound_ns,
           "%s, beside another thread: wrong by %lld ns, the bound is %lld ns.", offbeat_clock_method(clock),
           (long long)error_ns, (long long)instant.bound_ns);
}

static void *do_work(void *argument) {
    const work *own = argument;
    offbeat_clock_options options = {.method = own->method};
    for (int i = 0; i < CLOCKS; i++) {
        offbeat_clock *clock = NULL;
        expect_success(offbeat_clock_create_with(own->comm, &options, &clock), "offbeat_clock_create_with");
        for (int sync = 0; sync < SYNCS; sync++) {
            expect_truth(clock, own->rank);
            expect_success(offbeat_clock_sync(clock), "offbeat_clock_sync");
        }
        expect_success(offbeat_clock_free(&clock), "offbeat_clock_free");
    }
    return NULL;
}

static void *expect_no_error(void *unused) {
    expect(offbeat_clock_error()[0] == '\0', "A thread hears of another one's error.");
    return unused;
}

/* What went wrong in one thread is nothing to another. */
static void errors_stay_in_their_thread(void) {
    pthread_t thread;
    offbeat_clock *clock;
    offbeat_clock_options options = {.method = "sundial"};
    expect(offbeat_clock_create_with(MPI_COMM_SELF, &options, &clock) == MPI_ERR_ARG,
           "An unknown method was accepted.");
    expect(pthread_create(&thread, NULL, expect_no_error, NULL) == 0, "No thread could be started.");
    pthread_join(thread, NULL);
}

int main(int argc, char **argv) {
    int provided;
    pthread_t threads[THREADS];
    work works[THREADS] = {{.method = "constraints"}, {.method = "hierarchical"}};
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    if (provided < MPI_THREAD_MULTIPLE) {
        MPI_Finalize();
        return SKIPPED;
    }
    errors_stay_in_their_thread();
    drift_clocks(0, 0);
    for (int i = 0; i < THREADS; i++) {
        MPI_Comm_dup(MPI_COMM_WORLD, &works[i].comm);
        MPI_Comm_rank(works[i].comm, &works[i].rank);
    }
    for (int i = 0; i < THREADS; i++)
        expect(pthread_create(&threads[i], NULL, do_work, &works[i]) == 0, "No thread could be started.");
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        MPI_Comm_free(&works[i].comm);
    }
    MPI_Finalize();
    return 0;
}
