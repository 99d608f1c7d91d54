/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Several threads of each process create, use and free clocks and harmonised starts at the same time, each on
 * its own communicators. Exits with status 77 (skipped) when the MPI library has no MPI_THREAD_MULTIPLE.
 */
#include <offbeat/harmonize.h>

#include "testing/mpi_assert.h"
#include "testing/virtual_clocks.h"

#include <pthread.h>
#include <stdlib.h>

enum { THREADS = 2, CLOCKS = 4, SYNCS = 4, ROUNDS = 6, STARTS = 8, SKIP_STATUS = 77 };

typedef struct thread_task {
    MPI_Comm comm;
    int rank;
    const char *method;
    int is_reversed;
} thread_task;

static void run_threads(void *(*function)(void *), thread_task *tasks) {
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) {
        MPI_Comm_dup(MPI_COMM_WORLD, &tasks[i].comm);
        MPI_Comm_rank(tasks[i].comm, &tasks[i].rank);
    }
    for (int i = 0; i < THREADS; i++)
        mpi_assert(pthread_create(&threads[i], NULL, function, &tasks[i]) == 0, "No thread was created.");
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
}

/* --- clocks --- */

static void assert_within_bound(const offbeat_clock *clock, int rank) {
    int64_t now_ns = physical_now_ns();
    offbeat_instant instant = offbeat_clock_at(clock, drifting_clock_ns(rank, now_ns));
    int64_t error_ns = instant.global_ns - drifting_clock_ns(0, now_ns);
    mpi_assert(llabs(error_ns) <= instant.bound_ns,
               "%s, with another thread running: the error is %lld ns, the bound is %lld ns.",
               offbeat_clock_method(clock), (long long)error_ns, (long long)instant.bound_ns);
}

static void *use_clocks(void *argument) {
    const thread_task *task = argument;
    offbeat_clock_options options = {.method = task->method};
    for (int i = 0; i < CLOCKS; i++) {
        offbeat_clock *clock = NULL;
        mpi_assert_success(offbeat_clock_create_with(task->comm, &options, &clock),
                           "offbeat_clock_create_with");
        for (int sync = 0; sync < SYNCS; sync++) {
            assert_within_bound(clock, task->rank);
            mpi_assert_success(offbeat_clock_sync(clock), "offbeat_clock_sync");
        }
        mpi_assert_success(offbeat_clock_free(&clock), "offbeat_clock_free");
    }
    return NULL;
}

static void the_bound_holds_in_several_threads(void) {
    thread_task tasks[THREADS] = {{.method = "constraints"}, {.method = "hierarchical"}};
    drift_clocks(0, 0);
    run_threads(use_clocks, tasks);
    for (int i = 0; i < THREADS; i++)
        MPI_Comm_free(&tasks[i].comm);
    restore_clocks();
}

static void *assert_no_error(void *argument) {
    mpi_assert(offbeat_clock_error()[0] == '\0', "A thread has the error of another thread.");
    return argument;
}

static void errors_belong_to_their_thread(void) {
    pthread_t thread;
    offbeat_clock *clock;
    offbeat_clock_options options = {.method = "sundial"};
    mpi_assert(offbeat_clock_create_with(MPI_COMM_SELF, &options, &clock) == MPI_ERR_ARG,
               "An unknown method was accepted.");
    mpi_assert(pthread_create(&thread, NULL, assert_no_error, NULL) == 0, "No thread was created.");
    pthread_join(thread, NULL);
}

/* --- starts --- */

/* Starts, and checks that exactly the processes of the communicator took part. */
static void start_on(MPI_Comm comm) {
    for (int i = 0; i < STARTS; i++) {
        offbeat_start start;
        int64_t entered_ns = physical_now_ns();
        mpi_assert_success(MPIX_Harmonize_delayed(comm, 0, &start), "MPIX_Harmonize_delayed");
        int64_t left_ns = physical_now_ns();
        mpi_assert(first_of(start.deadline_ns, comm) == start.deadline_ns,
                   "Two processes have different deadlines: the messages of two threads were mixed up.");
        mpi_assert(left_ns >= largest_of(entered_ns, comm), "A process left before all had arrived.");
    }
}

static void *start_repeatedly(void *argument) {
    const thread_task *task = argument;
    for (int round = 0; round < ROUNDS; round++) {
        MPI_Comm comm;
        MPI_Comm_split(task->comm, 0, task->is_reversed ? -task->rank : task->rank, &comm);
        start_on(comm);
        start_on(task->comm);
        MPI_Comm_free(&comm);
    }
    return NULL;
}

static void threads_start_on_their_own_communicators(void) {
    thread_task tasks[THREADS] = {{.is_reversed = 0}, {.is_reversed = 1}};
    run_threads(start_repeatedly, tasks);
    MPI_Comm_free(&tasks[0].comm); /* MPI_Finalize frees the state of the other communicator */
}

int main(int argc, char **argv) {
    int thread_level;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &thread_level);
    if (thread_level == MPI_THREAD_MULTIPLE) {
        errors_belong_to_their_thread();
        the_bound_holds_in_several_threads();
        threads_start_on_their_own_communicators();
    }
    MPI_Finalize();
    return thread_level == MPI_THREAD_MULTIPLE ? 0 : SKIP_STATUS;
}
