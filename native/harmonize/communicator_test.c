/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests of MPIX_Harmonize on different communicators: it works on all intra-communicators, frees everything,
 * and reports errors as MPI does. The library's communicators are counted by wrapping the PMPI functions that
 * create and free them; the test itself uses MPI's public names.
 */
#define _POSIX_C_SOURCE 200809L
#include <offbeat/harmonize.h>

#include "testing/fault_injection.h"
#include "testing/mpi_assert.h"
#include "testing/virtual_clocks.h"

#include <stdio.h>
#include <stdlib.h>

static const int64_t MILLISECOND = 1000000;

static int alive; /* communicators that the library created and did not free */

int __real_PMPI_Comm_create(MPI_Comm, MPI_Group, MPI_Comm *);
int __wrap_PMPI_Comm_create(MPI_Comm, MPI_Group, MPI_Comm *);
int __real_PMPI_Comm_dup(MPI_Comm, MPI_Comm *);
int __wrap_PMPI_Comm_dup(MPI_Comm, MPI_Comm *);
int __real_PMPI_Comm_split_type(MPI_Comm, int, int, MPI_Info, MPI_Comm *);
int __wrap_PMPI_Comm_split_type(MPI_Comm, int, int, MPI_Info, MPI_Comm *);
int __real_PMPI_Comm_free(MPI_Comm *);
int __wrap_PMPI_Comm_free(MPI_Comm *);

int __wrap_PMPI_Comm_create(MPI_Comm comm, MPI_Group group, MPI_Comm *newcomm) {
    alive++;
    return __real_PMPI_Comm_create(comm, group, newcomm);
}

int __wrap_PMPI_Comm_dup(MPI_Comm comm, MPI_Comm *newcomm) {
    alive++;
    return __real_PMPI_Comm_dup(comm, newcomm);
}

int __wrap_PMPI_Comm_split_type(MPI_Comm comm, int type, int order, MPI_Info info, MPI_Comm *newcomm) {
    alive++;
    return __real_PMPI_Comm_split_type(comm, type, order, info, newcomm);
}

int __wrap_PMPI_Comm_free(MPI_Comm *comm) {
    alive--;
    return __real_PMPI_Comm_free(comm);
}

/* Starts, and checks what must hold for every start. */
static offbeat_start checked_start(MPI_Comm comm, int64_t delay_ns) {
    offbeat_start start;
    int64_t entered_ns = physical_now_ns();
    mpi_assert_success(MPIX_Harmonize_delayed(comm, delay_ns, &start), "MPIX_Harmonize_delayed");
    int64_t left_ns = physical_now_ns();
    offbeat_clock *clock = MPIX_Harmonize_clock(comm);
    mpi_assert(clock != NULL, "There is no clock after a start.");
    mpi_assert(offbeat_clock_now(clock).global_ns >= start.planned_ns,
               "A process left before its planned time.");
    mpi_assert(left_ns >= largest_of(entered_ns, comm), "A process left before all had arrived.");
    mpi_assert(first_of(start.deadline_ns, comm) == start.deadline_ns,
               "Two processes have different deadlines.");
    mpi_assert(start.planned_ns == start.deadline_ns + delay_ns,
               "A planned time is not the deadline plus the delay.");
    return start;
}

static void start_on(MPI_Comm comm) {
    int rank;
    MPI_Comm_rank(comm, &rank);
    for (int i = 0; i < 3; i++) {
        int flag = -1;
        mpi_assert_success(MPIX_Harmonize(comm, &flag), "MPIX_Harmonize");
        mpi_assert(flag == 0 || flag == 1, "The flag is %d.", flag);
        checked_start(comm, rank * MILLISECOND / 10);
    }
}

static void communicators_of_every_size_can_start(void) {
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int n = 1; n <= size; n++) {
        MPI_Comm subset;
        int communicators_before = alive;
        MPI_Comm_split(MPI_COMM_WORLD, rank < n ? 0 : MPI_UNDEFINED, -rank, &subset);
        if (subset == MPI_COMM_NULL)
            continue;
        start_on(subset);
        mpi_assert(alive == communicators_before + 2,
                   "After a start there are %d communicators of the library instead of 2.",
                   alive - communicators_before);
        MPI_Comm_free(&subset);
        mpi_assert(alive == communicators_before,
                   "After MPI_Comm_free there are still %d communicators of the library.",
                   alive - communicators_before);
    }
}

/* Every process shares one communicator with its left neighbour and another one with its right neighbour. */
static void overlapping_communicators_can_start(void) {
    int rank, size;
    MPI_Comm pair[2];
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int odd = 0; odd < 2; odd++)
        MPI_Comm_split(MPI_COMM_WORLD, (rank + odd) / 2, rank, &pair[odd]);
    start_on(MPI_COMM_WORLD);
    for (int round = 0; round < 3; round++)
        for (int odd = 0; odd < 2; odd++)
            start_on(pair[odd]);
    start_on(MPI_COMM_WORLD);
    /* Freed in another order than created. */
    MPI_Comm_free(&pair[0]);
    start_on(pair[1]);
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

static void a_duplicate_has_its_own_state_and_user_attributes_are_not_copied(void) {
    MPI_Comm first, second;
    int key, communicators_before = alive;
    MPI_Comm_create_keyval(count_copy, MPI_COMM_NULL_DELETE_FN, &key, NULL);
    MPI_Comm_dup(MPI_COMM_WORLD, &first);
    MPI_Comm_set_attr(first, key, &copies);
    mpi_assert(MPIX_Harmonize_clock(first) == NULL, "A communicator has a clock before its first start.");
    start_on(first);
    mpi_assert(copies == 0, "A start copied the user's attribute %d times.", copies);
    offbeat_clock *clock = MPIX_Harmonize_clock(first);
    MPI_Comm_dup(first, &second);
    mpi_assert(copies == 1, "MPI_Comm_dup copied the user's attribute %d times.", copies);
    mpi_assert(MPIX_Harmonize_clock(second) == NULL, "A duplicate has the original's clock.");
    start_on(second);
    mpi_assert(MPIX_Harmonize_clock(first) == clock, "A duplicate's start changed the original's clock.");
    MPI_Comm_free(&first);
    start_on(second);
    MPI_Comm_free(&second);
    MPI_Comm_free_keyval(&key);
    mpi_assert(alive == communicators_before,
               "After freeing duplicates there are still %d communicators of the library.",
               alive - communicators_before);
}

static int errors_handled, handled_class;

/* The MPI standard declares error handlers as variadic functions. */
static void handle(MPI_Comm *comm, int *code, ...) {
    (void)comm;
    errors_handled++;
    MPI_Error_class(*code, &handled_class);
}

static void assert_handled(int code, int expected_class, const char *case_name) {
    mpi_assert(code != MPI_SUCCESS, "%s is not an error.", case_name);
    mpi_assert(errors_handled == 1, "%s called the error handler %d times.", case_name, errors_handled);
    mpi_assert(handled_class == expected_class, "%s is an error of class %d instead of %d.", case_name,
               handled_class, expected_class);
    errors_handled = 0;
}

static void wrong_arguments_go_to_the_communicators_handler(MPI_Comm comm) {
    offbeat_start start;
    assert_handled(MPIX_Harmonize(comm, NULL), MPI_ERR_ARG, "A NULL flag");
    assert_handled(MPIX_Harmonize_delayed(comm, 0, NULL), MPI_ERR_ARG, "A NULL start");
    assert_handled(MPIX_Harmonize_delayed(comm, -1, &start), MPI_ERR_ARG, "A negative delay");
}

/* The environments of the processes differ: all processes must fail, so that none waits for another. */
static void invalid_environments_go_to_the_communicators_handler(MPI_Comm comm) {
    int rank, size, flag, communicators_before = alive;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    setenv("OFFBEAT_HARMONIZE_TOLERANCE_NS", rank == size - 1 ? "soon" : "1000", 1);
    assert_handled(MPIX_Harmonize(comm, &flag), MPI_ERR_ARG, "An invalid tolerance");
    setenv("OFFBEAT_HARMONIZE_TOLERANCE_NS", "1000", 1);
    setenv("OFFBEAT_CLOCK_METHOD", "sundial", 1);
    assert_handled(MPIX_Harmonize(comm, &flag), MPI_ERR_ARG, "An unknown clock method");
    unsetenv("OFFBEAT_CLOCK_METHOD");
    mpi_assert(alive == communicators_before,
               "After failed starts there are still %d communicators of the library.",
               alive - communicators_before);
    start_on(comm);
    mpi_assert(errors_handled == 0, "A start that succeeded called the error handler.");
}

static void invalid_communicators_are_refused(MPI_Comm comm, MPI_Errhandler handler) {
    int rank, size, flag;
    MPI_Comm half, inter;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, handler);
    assert_handled(MPIX_Harmonize(MPI_COMM_NULL, &flag), MPI_ERR_COMM, "MPI_COMM_NULL");
    mpi_assert(MPIX_Harmonize_clock(MPI_COMM_NULL) == NULL, "MPI_COMM_NULL has a clock.");
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
    if (size == 1)
        return;
    MPI_Comm_split(comm, rank % 2, rank, &half);
    MPI_Intercomm_create(half, 0, comm, 1 - rank % 2, 7, &inter);
    MPI_Comm_set_errhandler(inter, handler);
    assert_handled(MPIX_Harmonize(inter, &flag), MPI_ERR_COMM, "An inter-communicator");
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
    invalid_environments_go_to_the_communicators_handler(comm);
    wrong_arguments_go_to_the_communicators_handler(comm);
    invalid_communicators_are_refused(comm, handler);
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
    start_on(comm);
    mpi_assert_success(MPIX_Harmonize(comm, &flag), "MPIX_Harmonize");
    mpi_assert(flag == 1, "With a tolerance of one hour a start is not on time.");
    MPI_Comm_free(&comm);
    setenv("OFFBEAT_HARMONIZE_TOLERANCE_NS", "20000000", 1);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    start_on(comm);
    if (rank == size - 1 && size > 1)
        inject_sleep_after_receive(200 * MILLISECOND);
    mpi_assert_success(MPIX_Harmonize(comm, &flag), "MPIX_Harmonize");
    mpi_assert(flag == 0 || rank != size - 1 || size == 1,
               "A process that slept past the deadline is on time.");
    unsetenv("OFFBEAT_HARMONIZE_TOLERANCE_NS");
    MPI_Comm_free(&comm);
}

static void no_collective_is_called(void) {
    int communicators_before = collectives_called();
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    int flag;
    for (int i = 0; i < 3; i++)
        mpi_assert_success(MPIX_Harmonize(comm, &flag), "MPIX_Harmonize");
    MPI_Comm_free(&comm);
    mpi_assert(collectives_called() == communicators_before, "Starts called %d collectives.",
               collectives_called() - communicators_before);
}

/* MPI_Finalize frees the state of MPI_COMM_WORLD and of a communicator that is never freed. */
static void start_on_communicators_that_are_not_freed(void) {
    MPI_Comm never_freed;
    MPI_Comm_dup(MPI_COMM_WORLD, &never_freed);
    start_on(never_freed);
    start_on(MPI_COMM_WORLD);
    start_on(MPI_COMM_SELF);
    mpi_assert(alive == 6,
               "After starts on three communicators there are %d communicators of the library instead of 6.",
               alive);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    restore_clocks();
    communicators_of_every_size_can_start();
    offset_clocks(1);
    communicators_of_every_size_can_start();
    overlapping_communicators_can_start();
    restore_clocks();
    a_duplicate_has_its_own_state_and_user_attributes_are_not_copied();
    the_flag_is_the_verdict();
    no_collective_is_called();
    errors_go_to_the_communicators_handler();
    start_on_communicators_that_are_not_freed();
    MPI_Finalize();
    if (alive != 0)
        fprintf(stderr, "After MPI_Finalize there are still %d communicators of the library.\n", alive);
    return alive != 0;
}
