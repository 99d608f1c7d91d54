/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What MPIX_Harmonize promises on any communicator: that it works on all of them, that it leaves nothing
 * behind, and that its errors go where MPI's own go. The library's communicators are counted by wrapping the
 * PMPI functions that make and free them; the test itself uses MPI's public names.
 */
#define _POSIX_C_SOURCE 200809L
#include <offbeat/harmonize.h>

#include "clock/expect.h"
#include "harmonize/accident.h"

#include <stdio.h>
#include <stdlib.h>

static const int64_t MILLISECOND = 1000000;

static int alive; /* communicators that the library made and didn't free */

int __real_PMPI_Comm_create(MPI_Comm, MPI_Group, MPI_Comm *);
int __wrap_PMPI_Comm_create(MPI_Comm, MPI_Group, MPI_Comm *);
int __real_PMPI_Comm_dup(MPI_Comm, MPI_Comm *);
int __wrap_PMPI_Comm_dup(MPI_Comm, MPI_Comm *);
int __real_PMPI_Comm_split_type(MPI_Comm, int, int, MPI_Info, MPI_Comm *);
int __wrap_PMPI_Comm_split_type(MPI_Comm, int, int, MPI_Info, MPI_Comm *);
int __real_PMPI_Comm_free(MPI_Comm *);
int __wrap_PMPI_Comm_free(MPI_Comm *);

int __wrap_PMPI_Comm_create(MPI_Comm comm, MPI_Group group, MPI_Comm *made) {
    alive++;
    return __real_PMPI_Comm_create(comm, group, made);
}

int __wrap_PMPI_Comm_dup(MPI_Comm comm, MPI_Comm *made) {
    alive++;
    return __real_PMPI_Comm_dup(comm, made);
}

int __wrap_PMPI_Comm_split_type(MPI_Comm comm, int type, int order, MPI_Info info, MPI_Comm *made) {
    alive++;
    return __real_PMPI_Comm_split_type(comm, type, order, info, made);
}

int __wrap_PMPI_Comm_free(MPI_Comm *comm) {
    alive--;
    return __real_PMPI_Comm_free(comm);
}

/* A start of which everything is checked that always holds. */
static offbeat_start checked_start(MPI_Comm comm, int64_t delay_ns) {
    offbeat_start start;
    int64_t entered_ns = physical_now_ns();
    expect_success(MPIX_Harmonize_delayed(comm, delay_ns, &start), "MPIX_Harmonize_delayed");
    int64_t left_ns = physical_now_ns();
    offbeat_clock *clock = MPIX_Harmonize_clock(comm);
    expect(clock != NULL, "After a start there is no clock.");
    expect(offbeat_clock_now(clock).global_ns >= start.planned_ns, "A process left before its planned time.");
    expect(left_ns >= largest_of(entered_ns, comm), "A process left before all had arrived.");
    expect(first_of(start.deadline_ns, comm) == start.deadline_ns, "Two processes have different deadlines.");
    expect(start.planned_ns == start.deadline_ns + delay_ns, "A delay is not what was asked for.");
    return start;
}

static void starts_on(MPI_Comm comm) {
    int rank;
    MPI_Comm_rank(comm, &rank);
    for (int i = 0; i < 3; i++) {
        int flag = -1;
        expect_success(MPIX_Harmonize(comm, &flag), "MPIX_Harmonize");
        expect(flag == 0 || flag == 1, "The flag is %d.", flag);
        checked_start(comm, rank * MILLISECOND / 10);
    }
}

static void communicators_of_every_size_can_start(void) {
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int n = 1; n <= size; n++) {
        MPI_Comm some;
        int before = alive;
        MPI_Comm_split(MPI_COMM_WORLD, rank < n ? 0 : MPI_UNDEFINED, -rank, &some);
        if (some == MPI_COMM_NULL)
            continue;
        starts_on(some);
        expect(alive == before + 2, "A start keeps %d communicators instead of 2.", alive - before);
        MPI_Comm_free(&some);
        expect(alive == before, "MPI_Comm_free left %d of the library's communicators.", alive - before);
    }
}

/* Every process shares one communicator with its left neighbour, and another with its right one. */
static void overlapping_communicators_can_start(void) {
    int rank, size;
    MPI_Comm pair[2];
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int odd = 0; odd < 2; odd++)
        MPI_Comm_split(MPI_COMM_WORLD, (rank + odd) / 2, rank, &pair[odd]);
    starts_on(MPI_COMM_WORLD);
    for (int round = 0; round < 3; round++)
        for (int odd = 0; odd < 2; odd++)
            starts_on(pair[odd]);
    starts_on(MPI_COMM_WORLD);
    /* In another order than they were made in. */
    MPI_Comm_free(&pair[0]);
    starts_on(pair[1]);
    MPI_Comm_free(&pair[1]);
}

static int copies;

static int count_copy(MPI_Comm comm, int key, void *extra, void *value, void *copy, int *flag) {
    (void)comm;
    (void)key;
    (void)extra;
    *(void **)copy = value;
    *flag = 1;
    copies++;
    return MPI_SUCCESS;
}

static void a_duplicate_starts_anew_and_the_users_attributes_stay_his(void) {
    MPI_Comm first, second;
    int key, before = alive;
    MPI_Comm_create_keyval(count_copy, MPI_COMM_NULL_DELETE_FN, &key, NULL);
    MPI_Comm_dup(MPI_COMM_WORLD, &first);
    MPI_Comm_set_attr(first, key, &copies);
    expect(MPIX_Harmonize_clock(first) == NULL, "A communicator has a clock before its first start.");
    starts_on(first);
    expect(copies == 0, "A start copied the user's attribute %d times.", copies);
    offbeat_clock *clock = MPIX_Harmonize_clock(first);
    MPI_Comm_dup(first, &second);
    expect(copies == 1, "MPI_Comm_dup copied the user's attribute %d times.", copies);
    expect(MPIX_Harmonize_clock(second) == NULL, "A duplicate has the original's clock.");
    starts_on(second);
    expect(MPIX_Harmonize_clock(first) == clock, "A duplicate's start changed the original's clock.");
    MPI_Comm_free(&first);
    starts_on(second);
    MPI_Comm_free(&second);
    MPI_Comm_free_keyval(&key);
    expect(alive == before, "Duplicates left %d communicators.", alive - before);
}

static int handled, handled_class;

/* MPI's type of a handler has the dots. */
static void handle(MPI_Comm *comm, int *code, ...) {
    (void)comm;
    handled++;
    MPI_Error_class(*code, &handled_class);
}

static void expect_handled(int code, int expected_class, const char *what) {
    expect(code != MPI_SUCCESS, "%s is no error.", what);
    expect(handled == 1, "%s called the error handler %d times.", what, handled);
    expect(handled_class == expected_class, "%s is an error of class %d instead of %d.", what, handled_class,
           expected_class);
    handled = 0;
}

static void wrong_arguments_go_to_the_communicators_handler(MPI_Comm comm) {
    offbeat_start start;
    expect_handled(MPIX_Harmonize(comm, NULL), MPI_ERR_ARG, "A NULL flag");
    expect_handled(MPIX_Harmonize_delayed(comm, 0, NULL), MPI_ERR_ARG, "A NULL start");
    expect_handled(MPIX_Harmonize_delayed(comm, -1, &start), MPI_ERR_ARG, "A negative delay");
}

/* The processes see different things; all must hear of it, none may wait for the others. */
static void a_bad_environment_goes_to_the_communicators_handler(MPI_Comm comm) {
    int rank, size, flag, before = alive;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    setenv("OFFBEAT_HARMONIZE_TOLERANCE_NS", rank == size - 1 ? "soon" : "1000", 1);
    expect_handled(MPIX_Harmonize(comm, &flag), MPI_ERR_ARG, "A tolerance that can't be read");
    setenv("OFFBEAT_HARMONIZE_TOLERANCE_NS", "1000", 1);
    setenv("OFFBEAT_CLOCK_METHOD", "sundial", 1);
    expect_handled(MPIX_Harmonize(comm, &flag), MPI_ERR_ARG, "A clock method that doesn't exist");
    unsetenv("OFFBEAT_CLOCK_METHOD");
    expect(alive == before, "Failed starts left %d communicators.", alive - before);
    starts_on(comm);
    expect(handled == 0, "A start that succeeded called the error handler.");
}

static void other_communicators_are_refused(MPI_Comm comm, MPI_Errhandler handler) {
    int rank, size, flag;
    MPI_Comm half, inter;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, handler);
    expect_handled(MPIX_Harmonize(MPI_COMM_NULL, &flag), MPI_ERR_COMM, "MPI_COMM_NULL");
    expect(MPIX_Harmonize_clock(MPI_COMM_NULL) == NULL, "MPI_COMM_NULL has a clock.");
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
    if (size == 1)
        return;
    MPI_Comm_split(comm, rank % 2, rank, &half);
    MPI_Intercomm_create(half, 0, comm, 1 - rank % 2, 7, &inter);
    MPI_Comm_set_errhandler(inter, handler);
    expect_handled(MPIX_Harmonize(inter, &flag), MPI_ERR_COMM, "An inter-communicator");
    MPI_Comm_free(&inter);
    MPI_Comm_free(&half);
}

static void errors_go_to_the_communicators_handler(void) {
    MPI_Comm comm;
    MPI_Errhandler handler;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_create_errhandler(handle, &handler);
    MPI_Comm_set_errhandler(comm, handler);
    wrong_arguments_go_to_the_communicators_handler(comm);
    a_bad_environment_goes_to_the_communicators_handler(comm);
    wrong_arguments_go_to_the_communicators_handler(comm);
    other_communicators_are_refused(comm, handler);
    MPI_Errhandler_free(&handler);
    MPI_Comm_free(&comm);
}

static void the_flag_is_the_verdict(void) {
    MPI_Comm comm;
    int rank, size, flag;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    setenv("OFFBEAT_HARMONIZE_TOLERANCE_NS", "3600000000000", 1);
    starts_on(comm);
    expect_success(MPIX_Harmonize(comm, &flag), "MPIX_Harmonize");
    expect(flag == 1, "With an hour of tolerance a start is not on time.");
    MPI_Comm_free(&comm);
    setenv("OFFBEAT_HARMONIZE_TOLERANCE_NS", "20000000", 1);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    starts_on(comm);
    if (rank == size - 1 && size > 1)
        sleep_on_receipt(200 * MILLISECOND);
    expect_success(MPIX_Harmonize(comm, &flag), "MPIX_Harmonize");
    expect(flag == 0 || rank != size - 1 || size == 1, "A process that slept past the deadline is on time.");
    unsetenv("OFFBEAT_HARMONIZE_TOLERANCE_NS");
    MPI_Comm_free(&comm);
}

static void no_collective_of_the_library_is_called(void) {
    int before = collectives_called();
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    int flag;
    for (int i = 0; i < 3; i++)
        expect_success(MPIX_Harmonize(comm, &flag), "MPIX_Harmonize");
    MPI_Comm_free(&comm);
    expect(collectives_called() == before, "Starts called %d collectives.", collectives_called() - before);
}

/* State on MPI_COMM_WORLD and on a communicator that is never freed: MPI_Finalize frees it. */
static void leave_starts_to_mpi_finalize(void) {
    MPI_Comm forgotten;
    MPI_Comm_dup(MPI_COMM_WORLD, &forgotten);
    starts_on(forgotten);
    starts_on(MPI_COMM_WORLD);
    starts_on(MPI_COMM_SELF);
    expect(alive == 6, "Three communicators with starts keep %d others instead of 6.", alive);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    restore_clocks();
    communicators_of_every_size_can_start();
    move_clocks(1);
    communicators_of_every_size_can_start();
    overlapping_communicators_can_start();
    restore_clocks();
    a_duplicate_starts_anew_and_the_users_attributes_stay_his();
    the_flag_is_the_verdict();
    no_collective_of_the_library_is_called();
    errors_go_to_the_communicators_handler();
    leave_starts_to_mpi_finalize();
    MPI_Finalize();
    if (alive != 0)
        fprintf(stderr, "MPI_Finalize left %d of the library's communicators.\n", alive);
    return alive != 0;
}
