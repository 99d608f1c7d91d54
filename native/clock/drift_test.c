/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the shared clock promises between processes whose clocks run apart, on any number of processes of one
 * machine: there all virtual clocks are bent from one physical clock, so that the truth is known at every
 * moment, also in the future.
 */
#define _POSIX_C_SOURCE 200809L
#include <offbeat/clock.h>

#include "clock/expect.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const int64_t MILLISECOND = 1000000, SECOND = 1000000000;

static int world_rank;

static offbeat_clock *created(MPI_Comm comm, const offbeat_clock_options *options) {
    offbeat_clock *clock = NULL;
    int rc = offbeat_clock_create_with(comm, options, &clock);
    expect(rc == MPI_SUCCESS, "offbeat_clock_create_with returned %d: %s", rc, offbeat_clock_error());
    return clock;
}

static void freed(offbeat_clock *clock) {
    expect_success(offbeat_clock_free(&clock), "offbeat_clock_free");
}

/* The rank in MPI_COMM_WORLD of a communicator's rank 0. */
static int reference_of(MPI_Comm comm) {
    return (int)first_of(world_rank, comm);
}

static void expect_truth_at(const offbeat_clock *clock, int reference, int64_t physical_ns,
                            const char *where) {
    offbeat_instant instant = offbeat_clock_at(clock, drifting_clock_ns(world_rank, physical_ns));
    int64_t error_ns = instant.global_ns - drifting_clock_ns(reference, physical_ns);
    expect(llabs(error_ns) <= instant.bound_ns,
           "%s on %s: wrong by %lld ns %.3f s after a sync, the bound is %lld ns.",
           offbeat_clock_method(clock), where, (long long)error_ns,
           (double)(physical_ns - physical_now_ns()) * 1e-9, (long long)instant.bound_ns);
}

static void expect_truth(const offbeat_clock *clock, int reference, const char *where) {
    static const double ages_s[] = {-10, -1, -0.01, -0.0001, 0, 0.001, 0.1, 1, 10, 100};
    int64_t now_ns = physical_now_ns();
    for (size_t i = 0; i < sizeof ages_s / sizeof *ages_s; i++)
        expect_truth_at(clock, reference, now_ns + (int64_t)(ages_s[i] * 1e9), where);
    expect(offbeat_clock_sync_facts(clock).contradictions == 0, "%s on %s: a contradiction without a step.",
           offbeat_clock_method(clock), where);
}

static void the_bound_holds_on(MPI_Comm comm, const offbeat_clock_options *options, int syncs,
                               const char *where) {
    int reference = reference_of(comm);
    int before = collectives_called();
    offbeat_clock *clock = created(comm, options);
    for (int i = 0; i < syncs; i++) {
        expect_truth(clock, reference, where);
        expect_success(offbeat_clock_sync(clock), "offbeat_clock_sync");
    }
    expect_truth(clock, reference, where);
    expect(world_rank == reference || !offbeat_clock_is_shared(clock), "On %s a bent clock counts as shared.",
           where);
    freed(clock);
    expect(collectives_called() == before, "The clock called %d collectives.", collectives_called() - before);
}

static void the_bound_holds_for_every_method(void) {
    for (int i = 0; offbeat_clock_method_name(i) != NULL; i++) {
        offbeat_clock_options options = {.method = offbeat_clock_method_name(i)};
        the_bound_holds_on(MPI_COMM_WORLD, &options, 3, "MPI_COMM_WORLD");
    }
    offbeat_clock_options few = {.exchanges = 1};
    the_bound_holds_on(MPI_COMM_WORLD, &few, 3, "MPI_COMM_WORLD with one exchange a sync");
}

static void the_bound_holds_on_sub_communicators_of_every_size(int size) {
    char where[80];
    for (int count = 1; count <= size; count++) {
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

/* All but the last and all but the first: two clocks live, and are synchronised in turn. */
static void the_bound_holds_on_overlapping_communicators(int size) {
    MPI_Comm comms[2];
    offbeat_clock *clocks[2] = {NULL, NULL};
    int references[2] = {0, 0};
    MPI_Comm_split(MPI_COMM_WORLD, world_rank < size - 1 ? 0 : MPI_UNDEFINED, world_rank, &comms[0]);
    MPI_Comm_split(MPI_COMM_WORLD, world_rank > 0 ? 0 : MPI_UNDEFINED, world_rank, &comms[1]);
    for (int i = 0; i < 2; i++)
        if (comms[i] != MPI_COMM_NULL) {
            references[i] = reference_of(comms[i]);
            clocks[i] = created(comms[i], NULL);
            MPI_Comm_free(&comms[i]);
        }
    for (int round = 0; round < 3; round++)
        for (int i = 0; i < 2; i++)
            if (clocks[i] != NULL) {
                expect_success(offbeat_clock_sync(clocks[i]), "offbeat_clock_sync");
                expect_truth(clocks[i], references[i],
                             "one of two overlapping communicators that were freed");
            }
    for (int i = 0; i < 2; i++)
        freed(clocks[i]);
}

static void the_bound_holds_on_duplicates(void) {
    MPI_Comm duplicate;
    MPI_Comm_dup(MPI_COMM_WORLD, &duplicate);
    offbeat_clock *first = created(MPI_COMM_WORLD, NULL), *second = created(duplicate, NULL);
    MPI_Comm_free(&duplicate);
    for (int i = 0; i < 2; i++) {
        expect_success(offbeat_clock_sync(second), "offbeat_clock_sync after MPI_Comm_free");
        expect_success(offbeat_clock_sync(first), "offbeat_clock_sync");
    }
    expect_truth(second, 0, "a duplicate that was freed");
    freed(second);
    expect_truth(first, 0, "MPI_COMM_WORLD, whose duplicate's clock is gone");
    freed(first);
}

/* The clocks of odd ranks are set by 5 s. */
static void a_step_is_told_of(int size) {
    const int64_t after_ns = 200 * MILLISECOND;
    MPI_Barrier(MPI_COMM_WORLD);
    drift_clocks(5 * SECOND, after_ns);
    int64_t began_ns = physical_now_ns();
    offbeat_clock *clock = created(MPI_COMM_WORLD, NULL);
    /* Only where the first sync was over before the step. */
    int64_t was_quick = largest_of(physical_now_ns() - began_ns, MPI_COMM_WORLD) < after_ns / 2;
    while (physical_now_ns() < began_ns + after_ns)
        nanosleep(&(struct timespec){.tv_nsec = 10 * MILLISECOND}, NULL);
    MPI_Barrier(MPI_COMM_WORLD);
    expect_success(offbeat_clock_sync(clock), "offbeat_clock_sync");
    expect_truth_at(clock, 0, physical_now_ns(), "MPI_COMM_WORLD after a step");
    int told = offbeat_clock_sync_facts(clock).contradictions;
    expect(!was_quick || world_rank % 2 == 0 || told > 0, "A step of 5 s was not told of.");
    expect(size > 1 || told == 0, "A process by itself contradicts itself.");
    freed(clock);
    drift_clocks(0, 0);
}

/* How much MPI_Wtime is ahead of the physical clock, and how well that is known. */
static void look_at_wtime(int64_t *ahead_ns, int64_t *unsure_ns) {
    *unsure_ns = INT64_MAX;
    for (int i = 0; i < 200; i++) {
        int64_t before_ns = physical_now_ns();
        int64_t wtime_ns = (int64_t)(MPI_Wtime() * 1e9);
        int64_t after_ns = physical_now_ns();
        if (after_ns - before_ns < *unsure_ns) {
            *unsure_ns = after_ns - before_ns;
            *ahead_ns = wtime_ns - before_ns;
        }
    }
}

/* Some libraries give MPI_Wtime an origin in every process, so that one machine is not one clock. */
static void the_origins_of_wtime_are_found(void) {
    int64_t ahead_ns = 0, unsure_ns;
    offbeat_clock_options options = {.source = "MPI_Wtime"};
    offbeat_clock *clock = created(MPI_COMM_WORLD, &options);
    int64_t looked_ns = physical_now_ns();
    look_at_wtime(&ahead_ns, &unsure_ns);
    int64_t reference_ahead_ns = first_of(ahead_ns, MPI_COMM_WORLD);
    unsure_ns = first_of(unsure_ns, MPI_COMM_WORLD);
    int64_t before_ns = physical_now_ns();
    offbeat_instant instant = offbeat_clock_now(clock);
    int64_t after_ns = physical_now_ns();
    /* MPI_Wtime may run at another rate than the physical clock that it is compared with. */
    int64_t allowed_ns =
        instant.bound_ns + unsure_ns + offbeat_clock_resolution_ns(clock) + (after_ns - looked_ns) / 1000;
    int64_t behind_ns = before_ns + reference_ahead_ns - instant.global_ns;
    int64_t in_front_ns = instant.global_ns - after_ns - reference_ahead_ns;
    expect(behind_ns <= allowed_ns && in_front_ns <= allowed_ns,
           "By MPI_Wtime the shared clock is %lld ns behind or %lld ns in front, where %lld ns are possible.",
           (long long)behind_ns, (long long)in_front_ns, (long long)allowed_ns);
    expect(world_rank == 0 || !offbeat_clock_is_shared(clock), "MPI_Wtime counts as one clock.");
    expect(strcmp(offbeat_clock_source(clock), "MPI_Wtime") == 0, "The source is %s.",
           offbeat_clock_source(clock));
    freed(clock);
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
    a_step_is_told_of(size);
    the_origins_of_wtime_are_found();
    MPI_Finalize();
    return 0;
}
