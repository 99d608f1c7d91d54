/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests of the shared clock. All processes are on one machine and read one physical clock, so that the true
 * offsets are the virtual offsets that the test sets.
 */
#define _POSIX_C_SOURCE 200809L
#include <offbeat/clock.h>

#include "testing/mpi_assert.h"
#include "testing/virtual_clocks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static offbeat_clock *create_clock(MPI_Comm comm) {
    offbeat_clock *clock = NULL;
    mpi_assert_success(offbeat_clock_create(comm, &clock), "offbeat_clock_create");
    return clock;
}

static void free_clock(offbeat_clock *clock) {
    mpi_assert_success(offbeat_clock_free(&clock), "offbeat_clock_free");
    mpi_assert(clock == NULL, "offbeat_clock_free left the pointer set.");
    mpi_assert_success(offbeat_clock_free(&clock), "offbeat_clock_free of NULL");
}

/* The true offset of this process, from the virtual offsets. */
static int64_t true_offset_ns(MPI_Comm comm) {
    return first_of(own_virtual_offset_ns(), comm) - own_virtual_offset_ns();
}

static void assert_within_bound(const offbeat_clock *clock, int64_t true_offset, const char *where) {
    int64_t local_ns = offbeat_clock_local_ns(clock);
    int64_t error_ns = llabs(offbeat_clock_global_ns(clock, local_ns) - local_ns - true_offset);
    int64_t bound_ns = offbeat_clock_bound_ns(clock, local_ns);
    mpi_assert(error_ns <= bound_ns, "On %s the error of the offset is %lld ns, the bound is %lld ns.", where,
               (long long)error_ns, (long long)bound_ns);
}

static void the_offset_is_within_its_bound_on(MPI_Comm comm, const char *where) {
    int rank;
    MPI_Comm_rank(comm, &rank);
    int64_t true_offset = true_offset_ns(comm);
    int64_t root_has_offset = first_of(own_virtual_offset_ns() != 0, comm);
    offbeat_clock *clock = create_clock(comm);
    for (int i = 0; i < 2; i++) {
        assert_within_bound(clock, true_offset, where);
        int has_offset = own_virtual_offset_ns() != 0 || root_has_offset;
        mpi_assert(rank == 0 || !has_offset || !offbeat_clock_is_shared(clock),
                   "On %s a clock with a virtual offset counts as shared.", where);
        mpi_assert_success(offbeat_clock_sync(clock), "offbeat_clock_sync");
    }
    free_clock(clock);
}

static void one_physical_clock_is_detected(void) {
    offbeat_clock *clock = create_clock(MPI_COMM_WORLD);
    int64_t now_ns = offbeat_clock_local_ns(clock);
    mpi_assert(offbeat_clock_is_shared(clock),
               "A process on rank 0's machine was not verified to share rank 0's clock.");
    mpi_assert(offbeat_clock_global_ns(clock, now_ns) == now_ns, "A shared clock has an offset.");
    mpi_assert(offbeat_clock_bound_ns(clock, now_ns + 1000000000) == 0, "A shared clock has a bound.");
    free_clock(clock);
}

static void every_kind_of_communicator_gets_a_clock(void) {
    int rank, size;
    MPI_Comm comm, other_comm;
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
    MPI_Comm_split(MPI_COMM_WORLD, rank > 0 ? 0 : MPI_UNDEFINED, rank, &other_comm);
    if (comm != MPI_COMM_NULL)
        the_offset_is_within_its_bound_on(comm, "all processes but the last");
    if (other_comm != MPI_COMM_NULL) {
        the_offset_is_within_its_bound_on(other_comm,
                                          "all processes but the first, overlapping another communicator");
        MPI_Comm_free(&other_comm);
    }
    if (comm != MPI_COMM_NULL)
        MPI_Comm_free(&comm);
}

static void a_clock_outlives_its_communicator(void) {
    MPI_Comm comm;
    int64_t true_offset = true_offset_ns(MPI_COMM_WORLD);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    offbeat_clock *clock = create_clock(comm);
    MPI_Comm_free(&comm);
    mpi_assert_success(offbeat_clock_sync(clock), "offbeat_clock_sync after MPI_Comm_free");
    assert_within_bound(clock, true_offset, "a communicator that was freed");
    free_clock(clock);
}

static void queries_are_consistent(void) {
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    offbeat_clock *clock = create_clock(MPI_COMM_WORLD);
    int64_t now_ns = offbeat_clock_local_ns(clock);
    for (int64_t t_ns = now_ns - 5; t_ns < now_ns + 5; t_ns++) {
        int64_t global_ns = offbeat_clock_global_ns(clock, t_ns);
        int64_t to_client_ns = offbeat_clock_to_local_ns(clock, global_ns);
        offbeat_instant instant = offbeat_clock_at(clock, t_ns);
        mpi_assert(to_client_ns == t_ns || to_client_ns == t_ns - 1,
                   "The error of converting to the shared clock and back is %lld ns.",
                   (long long)(to_client_ns - t_ns));
        mpi_assert(instant.global_ns == global_ns && instant.bound_ns == offbeat_clock_bound_ns(clock, t_ns),
                   "offbeat_clock_at returns another time or bound.");
    }
    int64_t before_ns = offbeat_clock_global_ns(clock, offbeat_clock_local_ns(clock));
    offbeat_instant instant = offbeat_clock_now(clock);
    mpi_assert(instant.global_ns >= before_ns, "The shared clock went backwards.");
    offbeat_sync_facts facts = offbeat_clock_sync_facts(clock);
    mpi_assert(facts.duration_ns > 0 && facts.contradictions == 0, "The facts of the sync are wrong.");
    mpi_assert(rank == 0 ? facts.exchanges == 0 && facts.best_round_trip_ns == 0
                         : facts.exchanges > 0 && facts.best_round_trip_ns > 0,
               "The sync had %d exchanges, the best of %lld ns.", facts.exchanges,
               (long long)facts.best_round_trip_ns);
    mpi_assert(offbeat_clock_age_ns(clock) >= 0, "The age of a clock is negative.");
    mpi_assert(offbeat_clock_resolution_ns(clock) > 0, "The clock has no resolution.");
    free_clock(clock);
}

/* A sync is too short to measure the drift exactly; the drift limit restricts the growth. */
static void the_bound_grows_by_the_possible_drift(void) {
    offbeat_clock *clock = create_clock(MPI_COMM_WORLD);
    int64_t now_ns = offbeat_clock_local_ns(clock), later_ns = now_ns + 1000000000;
    int64_t growth_ns = offbeat_clock_bound_ns(clock, later_ns) - offbeat_clock_bound_ns(clock, now_ns);
    mpi_assert(offbeat_clock_is_shared(clock) ? growth_ns == 0 : growth_ns > 0 && growth_ns < 1000000,
               "In one second the bound grows by %lld ns.", (long long)growth_ns);
    mpi_assert(offbeat_clock_is_shared(clock) || offbeat_clock_bound_ns(clock, now_ns) > 0,
               "A measured offset has a bound of 0.");
    free_clock(clock);
}

static void no_collective_is_called(void) {
    int calls_before = collectives_called();
    offbeat_clock *clock = create_clock(MPI_COMM_WORLD);
    mpi_assert_success(offbeat_clock_sync(clock), "offbeat_clock_sync");
    free_clock(clock);
    mpi_assert(collectives_called() == calls_before, "The clock called %d collectives.",
               collectives_called() - calls_before);
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
        mpi_assert(offbeat_clock_create(MPI_COMM_SELF, &clock) == MPI_ERR_ARG,
                   "The time source '%s' was accepted.", bad[i]);
        mpi_assert(strlen(offbeat_clock_error()) > 20, "The time source '%s' was refused without a message.",
                   bad[i]);
    }
    restore_clocks();
    mpi_assert(offbeat_clock_create(MPI_COMM_NULL, &clock) == MPI_ERR_COMM, "MPI_COMM_NULL was accepted.");
    mpi_assert(offbeat_clock_create(MPI_COMM_SELF, NULL) == MPI_ERR_ARG, "A NULL result was accepted.");
    mpi_assert(clock == NULL, "A failed offbeat_clock_create returned a clock.");
}

static void assert_refused(const offbeat_clock_options *options, const char *case_name) {
    offbeat_clock *clock = NULL;
    mpi_assert(offbeat_clock_create_with(MPI_COMM_WORLD, options, &clock) == MPI_ERR_ARG, "%s was accepted.",
               case_name);
    mpi_assert(clock == NULL, "A clock was returned for %s.", case_name);
    mpi_assert(strlen(offbeat_clock_error()) > 20, "%s was refused without a message.", case_name);
}

static void bad_options_are_refused(void) {
    assert_refused(&(offbeat_clock_options){.method = "hca4"}, "an unknown method");
    assert_refused(&(offbeat_clock_options){.method = ""}, "a method without a name");
    assert_refused(&(offbeat_clock_options){.source = "CLOCK"}, "an unknown source");
    assert_refused(&(offbeat_clock_options){.exchanges = -1}, "a negative number of exchanges");
    assert_refused(&(offbeat_clock_options){.fit_points = 5},
                   "fit points with a method that does not fit a line");
    assert_refused(&(offbeat_clock_options){.method = "hca3", .fit_points = 1}, "a line through one point");
    assert_refused(&(offbeat_clock_options){.method = "jk", .exchanges = 9, .fit_points = 10},
                   "more points than exchanges");
    assert_refused(&(offbeat_clock_options){.method = "hca3", .exchanges = 1}, "a fit through one exchange");
    static const char *const variables[][2] = {{"OFFBEAT_CLOCK_METHOD", "Constraints"},
                                               {"OFFBEAT_CLOCK_EXCHANGES", "0"},
                                               {"OFFBEAT_CLOCK_EXCHANGES", "-4"},
                                               {"OFFBEAT_CLOCK_EXCHANGES", "12x"},
                                               {"OFFBEAT_CLOCK_EXCHANGES", "99999999999999999999"}};
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) {
        setenv(variables[i][0], variables[i][1], 1);
        assert_refused(NULL, variables[i][1]);
        unsetenv(variables[i][0]);
    }
}

/* No process waits for a process that fails. */
static void a_failure_of_one_process_fails_at_all_processes(void) {
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int wrong = 0; wrong < size; wrong++) {
        assert_refused(&(offbeat_clock_options){.source = rank == wrong ? "sundial" : NULL},
                       "a bad source at one process");
        if (size == 1)
            continue;
        assert_refused(&(offbeat_clock_options){.method = rank == wrong ? "skampi" : "offset"},
                       "another method at one process");
        assert_refused(&(offbeat_clock_options){.exchanges = rank == wrong ? 7 : 8},
                       "another number of exchanges at one process");
    }
}

static void options_and_environment_are_applied(void) {
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    offbeat_clock *clock = NULL;
    offbeat_clock_options options = {
        .method = "hca3", .source = "CLOCK_MONOTONIC_RAW", .exchanges = 35, .fit_points = 7};
    mpi_assert_success(offbeat_clock_create_with(MPI_COMM_WORLD, &options, &clock),
                       "offbeat_clock_create_with");
    mpi_assert(strcmp(offbeat_clock_method(clock), "hca3") == 0, "The method is %s.",
               offbeat_clock_method(clock));
    mpi_assert(strcmp(offbeat_clock_source(clock), "CLOCK_MONOTONIC_RAW") == 0, "The source is %s.",
               offbeat_clock_source(clock));
    mpi_assert(offbeat_clock_is_shared(clock), "CLOCK_MONOTONIC_RAW is not detected as one physical clock.");
    free_clock(clock);
    clock = NULL;
    offset_clocks(1);
    setenv("OFFBEAT_CLOCK_EXCHANGES", "3", 1);
    setenv("OFFBEAT_CLOCK_METHOD", "skampi", 1);
    mpi_assert_success(offbeat_clock_create(MPI_COMM_WORLD, &clock), "offbeat_clock_create");
    int exchanges = offbeat_clock_sync_facts(clock).exchanges;
    mpi_assert(exchanges == (rank == 0 ? 0 : 3), "There were %d exchanges instead of 3.", exchanges);
    mpi_assert(strcmp(offbeat_clock_method(clock), "skampi") == 0, "OFFBEAT_CLOCK_METHOD was ignored.");
    mpi_assert(strcmp(offbeat_clock_source(clock), "virtual") == 0, "OFFBEAT_CLOCK_SOURCE was ignored.");
    unsetenv("OFFBEAT_CLOCK_EXCHANGES");
    unsetenv("OFFBEAT_CLOCK_METHOD");
    restore_clocks();
    free_clock(clock);
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
    mpi_assert(offbeat_clock_create(inter, &clock) == MPI_ERR_COMM, "An inter-communicator was accepted.");
    MPI_Comm_free(&inter);
    MPI_Comm_free(&half);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    restore_clocks();
    one_physical_clock_is_detected();
    for (int offset_rank_0 = 0; offset_rank_0 <= 1; offset_rank_0++) {
        offset_clocks(offset_rank_0);
        every_kind_of_communicator_gets_a_clock();
        a_clock_outlives_its_communicator();
        queries_are_consistent();
        the_bound_grows_by_the_possible_drift();
        no_collective_is_called();
        restore_clocks();
    }
    the_offset_is_within_its_bound_on(MPI_COMM_WORLD, "MPI_COMM_WORLD without virtual offsets");
    bad_input_gives_an_error_code();
    bad_options_are_refused();
    a_failure_of_one_process_fails_at_all_processes();
    options_and_environment_are_applied();
    an_inter_communicator_is_refused();
    MPI_Finalize();
    return 0;
}
