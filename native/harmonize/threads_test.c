/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Starts of several threads at once, each on communicators of its own, which come and go; and clocks of
 * several threads. Where the library has no MPI_THREAD_MULTIPLE there is nothing to test: exit status 77.
 */
#include <offbeat/harmonize.h>

#include "clock/expect.h"

#include <pthread.h>
#include <stdio.h>

enum { THREADS = 2, ROUNDS = 6, STARTS = 8, NOTHING_TO_TEST = 77 };

typedef struct work {
    MPI_Comm comm;
    int reversed;
} work;

/* Starts of which it is checked that all processes of the communicator, and no other, took part in each. */
static void start_on(MPI_Comm comm) {
    for (int i = 0; i < STARTS; i++) {
        offbeat_start start;
        int64_t entered_ns = physical_now_ns();
        expect_success(MPIX_Harmonize_delayed(comm, 0, &start), "MPIX_Harmonize_delayed");
        int64_t left_ns = physical_now_ns();
        expect(first_of(start.deadline_ns, comm) == start.deadline_ns,
               "Two processes have different deadlines: starts of two threads were mixed up.");
        expect(left_ns >= largest_of(entered_ns, comm), "A process left before all had arrived.");
    }
}

static void *keep_starting(void *given) {
    const work *mine = given;
    int rank;
    MPI_Comm_rank(mine->comm, &rank);
    for (int round = 0; round < ROUNDS; round++) {
        MPI_Comm comm;
        MPI_Comm_split(mine->comm, 0, mine->reversed ? -rank : rank, &comm);
        start_on(comm);
        start_on(mine->comm);
        MPI_Comm_free(&comm);
    }
    return NULL;
}

static void threads_start_on_communicators_of_their_own(void) {
    pthread_t threads[THREADS];
    work all[THREADS];
    for (int i = 0; i < THREADS; i++) {
        all[i].reversed = i % 2;
        MPI_Comm_dup(MPI_COMM_WORLD, &all[i].comm);
    }
    for (int i = 0; i < THREADS; i++)
        expect(pthread_create(&threads[i], NULL, keep_starting, &all[i]) == 0, "No thread could be made.");
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    /* One is left to MPI_Finalize. */
    MPI_Comm_free(&all[0].comm);
}

int main(int argc, char **argv) {
    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    if (provided == MPI_THREAD_MULTIPLE)
        threads_start_on_communicators_of_their_own();
    MPI_Finalize();
    return provided == MPI_THREAD_MULTIPLE ? 0 : NOTHING_TO_TEST;
}
