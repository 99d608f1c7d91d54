/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the shared clock promises, on any number of processes on one machine: there all processes read one
 * physical clock, so the true offsets are just the virtual ones that the test gives.
 */
#define _POSIX_C_SOURCE 200809L
#include <offbeat/clock.h>

#include "clock/expect.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

/* The offset this process should have learned, from the virtual offsets. */
static int64_t true_offset_ns(MPI_Comm comm) {
    return first_of(own_virtual_offset_ns(), comm) - own_virtual_offset_ns();
}

static void expect_truth(const offbeat_clock *clock, int64_t truth_ns, const char *where) {
    int64_t local_ns = offbeat_clock_local_ns(clock);
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
    int64_t now_ns = offbeat_clock_local_ns(clock);
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

static void answers_agree_with_each_other(void) {
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    offbeat_clock *clock = created(MPI_COMM_WORLD);
    int64_t now_ns = offbeat_clock_local_ns(clock);
    for (int64_t t_ns = now_ns - 5; t_ns < now_ns + 5; t_ns++) {
        int64_t global_ns = offbeat_clock_global_ns(clock, t_ns);
        int64_t back_ns = offbeat_clock_to_local_ns(clock, global_ns);
        offbeat_instant instant = offbeat_clock_at(clock, t_ns);
        expect(back_ns == t_ns || back_ns == t_ns - 1, "To the shared clock and back is %lld ns off.",
               (long long)(back_ns - t_ns));
        expect(instant.global_ns == global_ns && instant.bound_ns == offbeat_clock_bound_ns(clock, t_ns),
               "offbeat_clock_at says another time or bound.");
    }
    int64_t before_ns = offbeat_clock_global_ns(clock, offbeat_clock_local_ns(clock));
    offbeat_instant instant = offbeat_clock_now(clock);
    expect(instant.global_ns >= before_ns, "The shared clock went backwards.");
    offbeat_sync_facts facts = offbeat_clock_sync_facts(clock);
    expect(facts.duration_ns > 0 && facts.contradictions == 0, "The facts of the sync are wrong.");
    expect(rank == 0 ? facts.exchanges == 0 && facts.best_round_trip_ns == 0
                     : facts.exchanges > 0 && facts.best_round_trip_ns > 0,
           "The sync had %d exchanges, the best of %lld ns.", facts.exchanges,
           (long long)facts.best_round_trip_ns);
    expect(offbeat_clock_age_ns(clock) >= 0, "The age of a clock is negative.");
    expect(offbeat_clock_resolution_ns(clock) > 0, "The clock has no resolution.");
    freed(clock);
}

/* No sync is long enough for a rate that needs no bound, and no clock drifts further than the limit. */
static void the_bound_grows_by_what_clocks_can_drift(void) {
    offbeat_clock *clock = created(MPI_COMM_WORLD);
    int64_t now_ns = offbeat_clock_local_ns(clock), later_ns = now_ns + 1000000000;
    int64_t growth_ns = offbeat_clock_bound_ns(clock, later_ns) - offbeat_clock_bound_ns(clock, now_ns);
    expect(offbeat_clock_is_shared(clock) ? growth_ns == 0 : growth_ns > 0 && growth_ns < 1000000,
           "In a second the bound grows by %lld ns.", (long long)growth_ns);
    expect(offbeat_clock_is_shared(clock) || offbeat_clock_bound_ns(clock, now_ns) > 0,
           "A measured offset has a bound of 0.");
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
    static const char *const bad[] = {"x",
                                      "CLOCK_REALTIME",
                                      "virtual:1",
                                      "virtual:1:",
                                      "virtual:1:offset=2x",
                                      "virtual:1:offset=2,2:offset=3",
                                      "virtual::offset=5",
                                      "virtual:-1:offset=5",
                                      "virtual:0:offset=99999999999999999999",
                                      "virtual:0:drift=nan",
                                      "virtual:0:wander=3",
                                      "virtual:0:wander=3/0",
                                      "virtual:0:step=3",
                                      "virtual:epoch=;0:drift=1",
                                      "virtual:0:drift=1;"};
    offbeat_clock *clock = NULL;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        setenv("OFFBEAT_CLOCK_SOURCE", bad[i], 1);
        expect(offbeat_clock_create(MPI_COMM_SELF, &clock) == MPI_ERR_ARG,
               "The time source '%s' was accepted.", bad[i]);
        expect(strlen(offbeat_clock_error()) > 20, "The time source '%s' was refused without a word.",
               bad[i]);
    }
    restore_clocks();
    expect(offbeat_clock_create(MPI_COMM_NULL, &clock) == MPI_ERR_COMM, "MPI_COMM_NULL was accepted.");
    expect(offbeat_clock_create(MPI_COMM_SELF, NULL) == MPI_ERR_ARG, "A NULL result was accepted.");
    expect(clock == NULL, "A failed offbeat_clock_create left a clock.");
}

static void expect_refused(const offbeat_clock_options *options, const char *what) {
    offbeat_clock *clock = NULL;
    expect(offbeat_clock_create_with(MPI_COMM_WORLD, options, &clock) == MPI_ERR_ARG, "%s was accepted.",
           what);
    expect(clock == NULL, "A clock refused for %s was left.", what);
    expect(strlen(offbeat_clock_error()) > 20, "%s was refused without a word.", what);
}

static void bad_options_are_refused(void) {
    expect_refused(&(offbeat_clock_options){.method = "hca4"}, "an unknown method");
    expect_refused(&(offbeat_clock_options){.method = ""}, "a method without a name");
    expect_refused(&(offbeat_clock_options){.source = "CLOCK"}, "an unknown source");
    expect_refused(&(offbeat_clock_options){.exchanges = -1}, "a negative number of exchanges");
    expect_refused(&(offbeat_clock_options){.fit_points = 5}, "a fit where nothing is fitted");
    expect_refused(&(offbeat_clock_options){.method = "hca3", .fit_points = 1}, "a line through one point");
    expect_refused(&(offbeat_clock_options){.method = "jk", .exchanges = 9, .fit_points = 10},
                   "more points than exchanges");
    expect_refused(&(offbeat_clock_options){.method = "hca3", .exchanges = 1}, "a fit through one exchange");
    static const char *const variables[][2] = {{"OFFBEAT_CLOCK_METHOD", "Constraints"},
                                               {"OFFBEAT_CLOCK_EXCHANGES", "0"},
                                               {"OFFBEAT_CLOCK_EXCHANGES", "-4"},
                                               {"OFFBEAT_CLOCK_EXCHANGES", "12x"},
                                               {"OFFBEAT_CLOCK_EXCHANGES", "99999999999999999999"}};
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) {
        setenv(variables[i][0], variables[i][1], 1);
        expect_refused(NULL, variables[i][1]);
        unsetenv(variables[i][0]);
    }
}

/* Nobody waits for a process that refuses. */
static void what_one_process_refuses_all_do(void) {
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int wrong = 0; wrong < size; wrong++) {
        expect_refused(&(offbeat_clock_options){.source = rank == wrong ? "sundial" : NULL},
                       "a bad source at one process");
        if (size == 1)
            continue;
        expect_refused(&(offbeat_clock_options){.method = rank == wrong ? "skampi" : "offset"},
                       "another method at one process");
        expect_refused(&(offbeat_clock_options){.exchanges = rank == wrong ? 7 : 8},
                       "another number of exchanges at one process");
    }
}

static void options_are_obeyed(void) {
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    offbeat_clock *clock = NULL;
    offbeat_clock_options options = {
        .method = "hca3", .source = "CLOCK_MONOTONIC_RAW", .exchanges = 35, .fit_points = 7};
    expect_success(offbeat_clock_create_with(MPI_COMM_WORLD, &options, &clock), "offbeat_clock_create_with");
    expect(strcmp(offbeat_clock_method(clock), "hca3") == 0, "The method is %s.",
           offbeat_clock_method(clock));
    expect(strcmp(offbeat_clock_source(clock), "CLOCK_MONOTONIC_RAW") == 0, "The source is %s.",
           offbeat_clock_source(clock));
    expect(offbeat_clock_is_shared(clock), "CLOCK_MONOTONIC_RAW is not recognised as one clock.");
    freed(clock);
    clock = NULL;
    move_clocks(1);
    setenv("OFFBEAT_CLOCK_EXCHANGES", "3", 1);
    setenv("OFFBEAT_CLOCK_METHOD", "skampi", 1);
    expect_success(offbeat_clock_create(MPI_COMM_WORLD, &clock), "offbeat_clock_create");
    int exchanges = offbeat_clock_sync_facts(clock).exchanges;
    expect(exchanges == (rank == 0 ? 0 : 3), "There were %d exchanges instead of 3.", exchanges);
    expect(strcmp(offbeat_clock_method(clock), "skampi") == 0, "OFFBEAT_CLOCK_METHOD was not obeyed.");
    expect(strcmp(offbeat_clock_source(clock), "virtual") == 0, "OFFBEAT_CLOCK_SOURCE was not obeyed.");
    unsetenv("OFFBEAT_CLOCK_EXCHANGES");
    unsetenv("OFFBEAT_CLOCK_METHOD");
    restore_clocks();
    freed(clock);
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
    one_physical_clock_is_recognised();
    for (int move_rank_0 = 0; move_rank_0 <= 1; move_rank_0++) {
        move_clocks(move_rank_0);
        every_kind_of_communicator_gets_a_clock();
        a_clock_outlives_its_communicator();
        answers_agree_with_each_other();
        the_bound_grows_by_what_clocks_can_drift();
        no_collective_is_called();
        restore_clocks();
    }
    the_offset_is_within_its_bound_on(MPI_COMM_WORLD, "MPI_COMM_WORLD with no clock moved");
    bad_input_gives_an_error_code();
    bad_options_are_refused();
    what_one_process_refuses_all_do();
    options_are_obeyed();
    an_inter_communicator_is_refused();
    MPI_Finalize();
    return 0;
}
