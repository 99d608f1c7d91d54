/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests of the shared clock between processes whose clocks drift. All processes are on one machine, and their
 * virtual clocks are functions of one physical clock: the true time is known, also in the future.
 */
#define _POSIX_C_SOURCE 200809L
#include <offbeat/clock.h>

#include "testing/mpi_assert.h"
#include "testing/virtual_clocks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const int64_t MILLISECOND = 1000000, SECOND = 1000000000;

static int world_rank;

static offbeat_clock *create_clock(MPI_Comm comm, const offbeat_clock_options *options) {
    offbeat_clock *clock = NULL;
    int rc = offbeat_clock_create_with(comm, options, &clock);
    mpi_assert(rc == MPI_SUCCESS, "offbeat_clock_create_with returned %d: %s", rc, offbeat_clock_error());
    return clock;
}

static void free_clock(offbeat_clock *clock) {
    mpi_assert_success(offbeat_clock_free(&clock), "offbeat_clock_free");
}

/* The rank in MPI_COMM_WORLD of a communicator's rank 0. */
static int reference_of(MPI_Comm comm) {
    return (int)first_of(world_rank, comm);
}

static void assert_within_bound_at(const offbeat_clock *clock, int reference, int64_t physical_ns,
                                   const char *where) {
    offbeat_instant instant = offbeat_clock_at(clock, drifting_clock_ns(world_rank, physical_ns));
    int64_t error_ns = instant.global_ns - drifting_clock_ns(reference, physical_ns);
    mpi_assert(llabs(error_ns) <= instant.bound_ns,
               "%s on %s: %.3f s after a sync the error is %lld ns, the bound is %lld ns.",
               offbeat_clock_method(clock), where, (double)(physical_ns - physical_now_ns()) * 1e-9,
               (long long)error_ns, (long long)instant.bound_ns);
}

static void assert_within_bound(const offbeat_clock *clock, int reference, const char *where) {
    static const double ages_s[] = {-10, -1, -0.01, -0.0001, 0, 0.001, 0.1, 1, 10, 100};
    int64_t now_ns = physical_now_ns();
    for (size_t i = 0; i < sizeof ages_s / sizeof *ages_s; i++)
        assert_within_bound_at(clock, reference, now_ns + (int64_t)(ages_s[i] * 1e9), where);
    mpi_assert(offbeat_clock_sync_facts(clock).contradictions == 0,
               "%s on %s: a contradiction without a step.", offbeat_clock_method(clock), where);
}

static void the_bound_holds_on(MPI_Comm comm, const offbeat_clock_options *options, int syncs,
                               const char *where) {
    int reference = reference_of(comm);
    int calls_before = collectives_called();
    offbeat_clock *clock = create_clock(comm, options);
    for (int i = 0; i < syncs; i++) {
        assert_within_bound(clock, reference, where);
        mpi_assert_success(offbeat_clock_sync(clock), "offbeat_clock_sync");
    }
    assert_within_bound(clock, reference, where);
    mpi_assert(world_rank == reference || !offbeat_clock_is_shared(clock),
               "On %s a drifting clock counts as shared.", where);
    free_clock(clock);
    mpi_assert(collectives_called() == calls_before, "The clock called %d collectives.",
               collectives_called() - calls_before);
}

static void the_bound_holds_for_every_method(void) {
    for (int i = 0; offbeat_clock_method_name(i) != NULL; i++) {
        offbeat_clock_options options = {.method = offbeat_clock_method_name(i)};
        the_bound_holds_on(MPI_COMM_WORLD, &options, 3, "MPI_COMM_WORLD");
    }
    offbeat_clock_options single_exchange = {.exchanges = 1};
    the_bound_holds_on(MPI_COMM_WORLD, &single_exchange, 3, "MPI_COMM_WORLD with one exchange a sync");
}

/* Above 8 processes: of every third size, the rest being of the others. */
static void the_bound_holds_on_sub_communicators_of_every_size(int size) {
    char where[80];
    for (int count = 1; count <= size; count += size > 8 ? 3 : 1) {
        MPI_Comm part;
        MPI_Comm_split(MPI_COMM_WORLD, world_rank < count, count % 2 ? world_rank : -world_rank, &part);
        snprintf(where, sizeof where, "%d of %d processes, or the rest", count, size);
        the_bound_holds_on(part, NULL, 1, where);
        MPI_Comm_free(&part);
    }
    MPI_Comm odd;
    MPI_Comm_split(MPI_COMM_WORLD, world_rank % 2, world_rank, &odd);
    the_bound_holds_on(odd, &(offbeat_clock_options){.method = "hierarchical"}, 1, "every other process");
    MPI_Comm_free(&odd);
}

/* All processes but the last, and all but the first: two clocks exist and are synchronised alternately. */
static void the_bound_holds_on_overlapping_communicators(int size) {
    MPI_Comm comms[2];
    offbeat_clock *clocks[2] = {NULL, NULL};
    int references[2] = {0, 0};
    MPI_Comm_split(MPI_COMM_WORLD, world_rank < size - 1 ? 0 : MPI_UNDEFINED, world_rank, &comms[0]);
    MPI_Comm_split(MPI_COMM_WORLD, world_rank > 0 ? 0 : MPI_UNDEFINED, world_rank, &comms[1]);
    for (int i = 0; i < 2; i++)
        if (comms[i] != MPI_COMM_NULL) {
            references[i] = reference_of(comms[i]);
            clocks[i] = create_clock(comms[i], NULL);
            MPI_Comm_free(&comms[i]);
        }
    for (int round = 0; round < 3; round++)
        for (int i = 0; i < 2; i++)
            if (clocks[i] != NULL) {
                mpi_assert_success(offbeat_clock_sync(clocks[i]), "offbeat_clock_sync");
                assert_within_bound(clocks[i], references[i],
                                    "one of two overlapping communicators that were freed");
            }
    for (int i = 0; i < 2; i++)
        free_clock(clocks[i]);
}

static void the_bound_holds_on_duplicates(void) {
    MPI_Comm duplicate;
    MPI_Comm_dup(MPI_COMM_WORLD, &duplicate);
    offbeat_clock *first = create_clock(MPI_COMM_WORLD, NULL), *second = create_clock(duplicate, NULL);
    MPI_Comm_free(&duplicate);
    for (int i = 0; i < 2; i++) {
        mpi_assert_success(offbeat_clock_sync(second), "offbeat_clock_sync after MPI_Comm_free");
        mpi_assert_success(offbeat_clock_sync(first), "offbeat_clock_sync");
    }
    assert_within_bound(second, 0, "a duplicate that was freed");
    free_clock(second);
    assert_within_bound(first, 0, "MPI_COMM_WORLD after the clock of a duplicate was freed");
    free_clock(first);
}

/* The clocks of odd ranks make a step of 5 s. */
static void a_step_is_detected(int size) {
    const int64_t after_ns = 200 * MILLISECOND;
    MPI_Barrier(MPI_COMM_WORLD);
    drift_clocks(5 * SECOND, after_ns);
    int64_t began_ns = physical_now_ns();
    offbeat_clock *clock = create_clock(MPI_COMM_WORLD, NULL);
    /* Whether the first sync was over before the step. */
    int64_t synced_before_step = largest_of(physical_now_ns() - began_ns, MPI_COMM_WORLD) < after_ns / 2;
    while (physical_now_ns() < began_ns + after_ns)
        nanosleep(&(struct timespec){.tv_nsec = 10 * MILLISECOND}, NULL);
    MPI_Barrier(MPI_COMM_WORLD);
    mpi_assert_success(offbeat_clock_sync(clock), "offbeat_clock_sync");
    assert_within_bound_at(clock, 0, physical_now_ns(), "MPI_COMM_WORLD after a step");
    int contradictions = offbeat_clock_sync_facts(clock).contradictions;
    mpi_assert(!synced_before_step || world_rank % 2 == 0 || contradictions > 0,
               "A step of 5 s was not detected.");
    mpi_assert(size > 1 || contradictions == 0, "A clock of one process counted a contradiction.");
    free_clock(clock);
    drift_clocks(0, 0);
}

/* Measures MPI_Wtime minus the physical clock, and the uncertainty of that. */
static void measure_wtime_offset(int64_t *ahead_ns, int64_t *uncertainty_ns) {
    *uncertainty_ns = INT64_MAX;
    for (int i = 0; i < 200; i++) {
        int64_t before_ns = physical_now_ns();
        int64_t wtime_ns = (int64_t)(MPI_Wtime() * 1e9);
        int64_t after_ns = physical_now_ns();
        if (after_ns - before_ns < *uncertainty_ns) {
            *uncertainty_ns = after_ns - before_ns;
            *ahead_ns = wtime_ns - before_ns;
        }
    }
}

/* Some libraries choose the origin of MPI_Wtime for each process, so that processes on one machine have
 * different clocks. */
static void different_origins_of_wtime_are_measured(void) {
    int64_t ahead_ns = 0, uncertainty_ns;
    offbeat_clock_options options = {.source = "MPI_Wtime"};
    offbeat_clock *clock = create_clock(MPI_COMM_WORLD, &options);
    int64_t measured_ns = physical_now_ns();
    measure_wtime_offset(&ahead_ns, &uncertainty_ns);
    int64_t reference_ahead_ns = first_of(ahead_ns, MPI_COMM_WORLD);
    uncertainty_ns = first_of(uncertainty_ns, MPI_COMM_WORLD);
    int64_t before_ns = physical_now_ns();
    offbeat_instant instant = offbeat_clock_now(clock);
    int64_t after_ns = physical_now_ns();
    /* MPI_Wtime may drift from the physical clock with which it is compared. */
    int64_t allowed_ns = instant.bound_ns + uncertainty_ns + offbeat_clock_resolution_ns(clock) +
                         (after_ns - measured_ns) / 1000;
    int64_t behind_range_ns = before_ns + reference_ahead_ns - instant.global_ns;
    int64_t ahead_of_range_ns = instant.global_ns - after_ns - reference_ahead_ns;
    mpi_assert(behind_range_ns <= allowed_ns && ahead_of_range_ns <= allowed_ns,
               "With MPI_Wtime the shared clock is %lld ns behind or %lld ns ahead; %lld ns are allowed.",
               (long long)behind_range_ns, (long long)ahead_of_range_ns, (long long)allowed_ns);
    mpi_assert(world_rank == 0 || !offbeat_clock_is_shared(clock), "MPI_Wtime counts as one physical clock.");
    mpi_assert(strcmp(offbeat_clock_source(clock), "MPI_Wtime") == 0, "The source is %s.",
               offbeat_clock_source(clock));
    free_clock(clock);
}

int main(int argc, char **argv) {
    int size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    drift_clocks(0, 0);
    the_bound_holds_for_every_method();
    the_bound_holds_on_sub_communicators_of_every_size(size);
    the_bound_holds_on_overlapping_communicators(size);
    the_bound_holds_on_duplicates();
    a_step_is_detected(size);
    different_origins_of_wtime_are_measured();
    MPI_Finalize();
    return 0;
}
