/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the shared clock promises, on any number of processes on one machine: there all processes read one
 * physical clock, so the true offsets are just the virtual ones that the test gives.
 */
#define _POSIX_C_SOURCE 200809L
#include <offbeat/clock.h>

#include "clock/expect.h"
#include "clock/interval.h"
#include "clock/tree.h"

#include <stdio.h>
#include <stdlib.h>

static offbeat_clock *created(MPI_Comm comm) {
    offbeat_clock *clock = NULL;
    expect_success(offbeat_clock_create(comm, &clock), "offbeat_clock_create");
    return clock;
}

static void freed(offbeat_clock *clock) {
    expect_success(offbeat_clock_free(&clock), "offbeat_clock_free");
    expect(clock == NULL, "offbeat_clock_free left the pointer set.");
    expect_success(offbeat_clock_free(&clock), "offbeat_clock_free of NULL");
}

static int tree_depth(int rank) {
    int depth = 0;
    for (; rank != 0; rank = offbeat_tree_parent(rank))
        depth++;
    return depth;
}

static void the_tree_reaches_everybody_in_logarithmic_rounds(void) {
    for (int size = 1; size <= 300; size++) {
        int reached = 1, limit = 0;
        while ((1 << limit) < size)
            limit++;
        for (int rank = 0; rank < size; rank++) {
            int children = 0;
            for (int m = offbeat_tree_span(rank, size) / 2; m > 0; m /= 2) {
                if (rank + m >= size)
                    continue;
                children++;
                expect(offbeat_tree_parent(rank + m) == rank, "p=%d: %d is not the parent of its child %d.",
                       size, rank, rank + m);
            }
            reached += children;
            expect(children + tree_depth(rank) <= limit, "p=%d: rank %d takes part in more than %d rounds.",
                   size, rank, limit);
        }
        expect(reached == size, "p=%d: the tree reaches %d processes.", size, reached);
    }
}

/* A remote clock that runs 150 ppm fast, behind a network with delays from 1 to some 50 us each way. */
static void an_interval_holds_the_true_offset_of_a_drifting_clock(void) {
    const int64_t offset_ns = -123456789;
    offbeat_interval interval = {.exchanges = 0};
    int64_t now_ns = 1000000000, low_ns, high_ns;
    srand(7);
    for (int i = 0; i < 2000; i++) {
        int64_t there_ns = 1000 + rand() % 50000, back_ns = 1000 + rand() % 50000;
        int64_t reached_ns = now_ns + there_ns;
        offbeat_exchange exchange = {.sent_ns = now_ns,
                                     .answered_ns = reached_ns + offset_ns + reached_ns * 3 / 20000,
                                     .answered_error_ns = i % 3,
                                     .received_ns = reached_ns + back_ns};
        offbeat_interval_narrow(&interval, &exchange);
        now_ns = exchange.received_ns + rand() % 100000;
        offbeat_interval_at(&interval, now_ns, &low_ns, &high_ns);
        int64_t truth_ns = offset_ns + now_ns * 3 / 20000;
        expect(low_ns <= truth_ns && truth_ns <= high_ns,
               "After %d exchanges the true offset left the interval.", i + 1);
    }
    expect(high_ns - low_ns < 20000, "2000 exchanges left an interval of %lld ns.",
           (long long)(high_ns - low_ns));
}

static void an_exchange_that_contradicts_all_others_replaces_them(void) {
    offbeat_interval interval = {.exchanges = 0};
    int64_t low_ns, high_ns;
    offbeat_exchange before = {.sent_ns = 0, .answered_ns = 500, .received_ns = 1000};
    offbeat_exchange after = {.sent_ns = 2000, .answered_ns = 1000002500, .received_ns = 3000};
    offbeat_interval_narrow(&interval, &before);
    expect(offbeat_interval_narrow(&interval, &after),
           "A clock that was set by a second passed for nothing new.");
    offbeat_interval_at(&interval, 3000, &low_ns, &high_ns);
    expect(low_ns <= 1000000000 && 1000000000 <= high_ns,
           "The interval did not follow a clock that was set.");
}

/* The offset this process should have learned, from the virtual offsets. */
static int64_t true_offset_ns(MPI_Comm comm) {
    return first_of(own_virtual_offset_ns(), comm) - own_virtual_offset_ns();
}

static void expect_truth(const offbeat_clock *clock, int64_t truth_ns, const char *where) {
    int64_t local_ns = offbeat_clock_local_ns();
    int64_t error_ns = llabs(offbeat_clock_global_ns(clock, local_ns) - local_ns - truth_ns);
    int64_t bound_ns = offbeat_clock_bound_ns(clock, local_ns);
    expect(error_ns <= bound_ns, "On %s the offset is wrong by %lld ns, the bound is %lld ns.", where,
           (long long)error_ns, (long long)bound_ns);
}

static void the_offset_is_within_its_bound_on(MPI_Comm comm, const char *where) {
    int rank;
    MPI_Comm_rank(comm, &rank);
    int64_t truth_ns = true_offset_ns(comm);
    int64_t reference_moved = first_of(own_virtual_offset_ns() != 0, comm);
    offbeat_clock *clock = created(comm);
    for (int i = 0; i < 2; i++) {
        expect_truth(clock, truth_ns, where);
        int moved = own_virtual_offset_ns() != 0 || reference_moved;
        expect(rank == 0 || !moved || !offbeat_clock_is_shared(clock),
               "On %s a moved clock counts as shared.", where);
        expect_success(offbeat_clock_sync(clock), "offbeat_clock_sync");
    }
    freed(clock);
}

static void one_physical_clock_is_recognised(void) {
    offbeat_clock *clock = created(MPI_COMM_WORLD);
    int64_t now_ns = offbeat_clock_local_ns();
    expect(offbeat_clock_is_shared(clock),
           "A process on rank 0's machine was not verified to share its clock.");
    expect(offbeat_clock_global_ns(clock, now_ns) == now_ns, "A shared clock has an offset.");
    expect(offbeat_clock_bound_ns(clock, now_ns + 1000000000) == 0, "A shared clock has a bound.");
    freed(clock);
}

static void every_kind_of_communicator_gets_a_clock(void) {
    int rank, size;
    MPI_Comm comm, other;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    the_offset_is_within_its_bound_on(MPI_COMM_WORLD, "MPI_COMM_WORLD");
    the_offset_is_within_its_bound_on(MPI_COMM_SELF, "MPI_COMM_SELF");
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    the_offset_is_within_its_bound_on(comm, "a duplicate");
    MPI_Comm_free(&comm);
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &comm);
    the_offset_is_within_its_bound_on(comm, "half of the processes in reverse order");
    MPI_Comm_free(&comm);
    MPI_Comm_split(MPI_COMM_WORLD, rank < size - 1 ? 0 : MPI_UNDEFINED, rank, &comm);
    MPI_Comm_split(MPI_COMM_WORLD, rank > 0 ? 0 : MPI_UNDEFINED, rank, &other);
    if (comm != MPI_COMM_NULL)
        the_offset_is_within_its_bound_on(comm, "all processes but the last");
    if (other != MPI_COMM_NULL) {
        the_offset_is_within_its_bound_on(other,
                                          "all processes but the first, overlapping another communicator");
        MPI_Comm_free(&other);
    }
    if (comm != MPI_COMM_NULL)
        MPI_Comm_free(&comm);
}

static void a_clock_outlives_its_communicator(void) {
    MPI_Comm comm;
    int64_t truth_ns = true_offset_ns(MPI_COMM_WORLD);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    offbeat_clock *clock = created(comm);
    MPI_Comm_free(&comm);
    expect_success(offbeat_clock_sync(clock), "offbeat_clock_sync after MPI_Comm_free");
    expect_truth(clock, truth_ns, "a communicator that was freed");
    freed(clock);
}

static void conversions_are_inverse_and_the_bound_grows(void) {
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    offbeat_clock *clock = created(MPI_COMM_WORLD);
    int64_t now_ns = offbeat_clock_local_ns(), later_ns = now_ns + 1000000000;
    for (int64_t t_ns = now_ns - 5; t_ns < now_ns + 5; t_ns++)
        expect(offbeat_clock_to_local_ns(clock, offbeat_clock_global_ns(clock, t_ns)) == t_ns,
               "Converting to the shared clock and back changes a time.");
    int64_t growth_ns = offbeat_clock_bound_ns(clock, later_ns) - offbeat_clock_bound_ns(clock, now_ns);
    int64_t expected_ns = offbeat_clock_is_shared(clock) ? 0 : 200000;
    expect(llabs(growth_ns - expected_ns) <= 1, "In a second the bound grows by %lld ns.",
           (long long)growth_ns);
    expect(rank == 0 || own_virtual_offset_ns() == 0 || offbeat_clock_bound_ns(clock, now_ns) > 0,
           "A measured offset has a bound of 0.");
    expect(offbeat_clock_age_ns(clock) >= 0, "The age of a clock is negative.");
    expect(offbeat_clock_resolution_ns() > 0, "The clock has no resolution.");
    freed(clock);
}

static void no_collective_is_called(void) {
    int before = collectives_called();
    offbeat_clock *clock = created(MPI_COMM_WORLD);
    expect_success(offbeat_clock_sync(clock), "offbeat_clock_sync");
    freed(clock);
    expect(collectives_called() == before, "The clock called %d collectives.", collectives_called() - before);
}

static void bad_input_gives_an_error_code(void) {
    static const char *const bad[] = {"x",       "1",  "1:",   "1:2x",
                                      "1:2;2:3", ":5", "-1:5", "0:99999999999999999999"};
    offbeat_clock *clock = NULL;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        setenv("OFFBEAT_CLOCK_TEST_OFFSET_NS", bad[i], 1);
        expect(offbeat_clock_create(MPI_COMM_SELF, &clock) == MPI_ERR_ARG,
               "The offset text '%s' was accepted.", bad[i]);
    }
    restore_clocks();
    expect(offbeat_clock_create(MPI_COMM_NULL, &clock) == MPI_ERR_COMM, "MPI_COMM_NULL was accepted.");
    expect(offbeat_clock_create(MPI_COMM_SELF, NULL) == MPI_ERR_ARG, "A NULL result was accepted.");
    expect(clock == NULL, "A failed offbeat_clock_create left a clock.");
}

static void an_inter_communicator_is_refused(void) {
    int rank, size;
    MPI_Comm half, inter;
    offbeat_clock *clock = NULL;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (size < 2)
        return;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, rank % 2 == 0 ? 1 : 0, 5, &inter);
    expect(offbeat_clock_create(inter, &clock) == MPI_ERR_COMM, "An inter-communicator was accepted.");
    MPI_Comm_free(&inter);
    MPI_Comm_free(&half);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    restore_clocks();
    the_tree_reaches_everybody_in_logarithmic_rounds();
    an_interval_holds_the_true_offset_of_a_drifting_clock();
    an_exchange_that_contradicts_all_others_replaces_them();
    one_physical_clock_is_recognised();
    for (int move_rank_0 = 0; move_rank_0 <= 1; move_rank_0++) {
        move_clocks(move_rank_0);
        every_kind_of_communicator_gets_a_clock();
        a_clock_outlives_its_communicator();
        conversions_are_inverse_and_the_bound_grows();
        no_collective_is_called();
        restore_clocks();
    }
    the_offset_is_within_its_bound_on(MPI_COMM_WORLD, "MPI_COMM_WORLD with no clock moved");
    bad_input_gives_an_error_code();
    an_inter_communicator_is_refused();
    MPI_Finalize();
    return 0;
}
