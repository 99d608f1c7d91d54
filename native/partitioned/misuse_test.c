/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Wrong calls: each is an error of the right class with a sentence, given to the communicator's error
 * handler, and the request can be used afterwards. Argument: `multiple` (at this thread level, and with wrong
 * calls of two threads).
 */
#define _GNU_SOURCE /* sched_setaffinity */
#include <offbeat/partitioned.h>

#include "testing/mpi_assert.h"
#include "testing/thread_level.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static int rank, size, right, left;
static MPI_Comm comm;
static atomic_int errors_handled;

/* The MPI standard declares error handlers as variadic functions. */
static void handle(MPI_Comm *failed_comm, int *code, ...) {
    (void)failed_comm;
    (void)code;
    errors_handled++;
}

/* An error of a class was raised once, with a sentence that contains some words. */
static void assert_error(int code, int error_class, const char *words) {
    char sentence[MPI_MAX_ERROR_STRING];
    int length, found_class;
    const char *last_sentence = offbeat_partitioned_error();
    mpi_assert(code != MPI_SUCCESS, "No error although '%s'.", words);
    mpi_assert(errors_handled == 1, "'%s' called the error handler %d times.", words, errors_handled);
    MPI_Error_class(code, &found_class);
    MPI_Error_string(code, sentence, &length);
    mpi_assert(found_class == error_class, "'%s' has the error class %d instead of %d.", words, found_class,
               error_class);
    mpi_assert(strstr(last_sentence, words) != NULL, "The sentence is '%s' instead of '%s'.", last_sentence,
               words);
    mpi_assert(code == error_class || strcmp(sentence, last_sentence) == 0,
               "MPI's sentence is '%s' instead of '%s'.", sentence, last_sentence);
    errors_handled = 0;
}

/* --- initialisation --- */

static void wrong_descriptions_are_refused(void) {
    offbeat_prequest request;
    double data[8] = {0};
    assert_error(offbeat_precv_init(data, 2, 4, MPI_DOUBLE, MPI_ANY_SOURCE, 1, comm, MPI_INFO_NULL, &request),
                 MPI_ERR_RANK, "the source is MPI_ANY_SOURCE");
    assert_error(offbeat_precv_init(data, 2, 4, MPI_DOUBLE, left, MPI_ANY_TAG, comm, MPI_INFO_NULL, &request),
                 MPI_ERR_TAG, "the tag is MPI_ANY_TAG");
    assert_error(offbeat_psend_init(data, 2, 4, MPI_DOUBLE, size, 1, comm, MPI_INFO_NULL, &request),
                 MPI_ERR_RANK, "the destination is");
    assert_error(offbeat_psend_init(data, 2, 4, MPI_DOUBLE, right, -5, comm, MPI_INFO_NULL, &request),
                 MPI_ERR_TAG, "the tag is -5");
    assert_error(offbeat_psend_init(data, -2, 4, MPI_DOUBLE, right, 1, comm, MPI_INFO_NULL, &request),
                 MPI_ERR_ARG, "-2 partitions");
    assert_error(offbeat_psend_init(data, 2, -4, MPI_DOUBLE, right, 1, comm, MPI_INFO_NULL, &request),
                 MPI_ERR_COUNT, "-4 elements");
    assert_error(offbeat_psend_init(data, 2, 4, MPI_DATATYPE_NULL, right, 1, comm, MPI_INFO_NULL, &request),
                 MPI_ERR_TYPE, "the datatype is null");
    mpi_assert(request == OFFBEAT_PREQUEST_NULL, "A refused request is not null.");
}

static void wrong_settings_are_refused(void) {
    static const char *const values[][3] = {
        {"offbeat_messages", "0", "offbeat_messages is '0'; it must be a whole number from 1"},
        {"offbeat_messages", "many", "offbeat_messages is 'many'"},
        {"offbeat_message_bytes", "1k", "offbeat_message_bytes is '1k'"},
        {"offbeat_lane", "-1", "offbeat_lane is '-1'"}};
    offbeat_prequest request;
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        MPI_Info info;
        MPI_Info_create(&info);
        MPI_Info_set(info, values[i][0], values[i][1]);
        assert_error(offbeat_psend_init(NULL, 0, 0, MPI_INT, right, 1, comm, info, &request),
                     MPI_ERR_INFO_VALUE, values[i][2]);
        MPI_Info_free(&info);
    }
}

/* The settings of one process are wrong: no process waits for another. */
static void communicators_must_be_attached_with_valid_settings(void) {
    MPI_Comm other_comm;
    MPI_Info info;
    offbeat_prequest request;
    MPI_Comm_dup(comm, &other_comm);
    assert_error(offbeat_psend_init(NULL, 0, 0, MPI_INT, right, 1, other_comm, MPI_INFO_NULL, &request),
                 MPI_ERR_COMM, "is not attached");
    MPI_Info_create(&info);
    MPI_Info_set(info, "offbeat_lanes", rank == size - 1 ? "65" : "64");
    assert_error(offbeat_partitioned_attach(other_comm, info), MPI_ERR_INFO_VALUE,
                 rank == size - 1 ? "offbeat_lanes is '65'" : "it failed on another process");
    mpi_assert_success(offbeat_partitioned_attach(other_comm, MPI_INFO_NULL), "offbeat_partitioned_attach");
    MPI_Info_free(&info);
    MPI_Comm_free(&other_comm);
}

/* --- iterations --- */

static void wrong_calls_change_nothing(void) {
    enum { N = 4 };
    int output[N] = {0}, input[N], flag;
    offbeat_prequest requests[2], *send = &requests[0], *receive = &requests[1], first_handle;
    offbeat_psend_init(output, N, 1, MPI_INT, right, 1, comm, MPI_INFO_NULL, send);
    offbeat_precv_init(input, N, 1, MPI_INT, left, 1, comm, MPI_INFO_NULL, receive);
    for (int iteration = 0; iteration < 3; iteration++) {
        mpi_assert_success(offbeat_pcancel(send), "offbeat_pcancel of an inactive request");
        assert_error(offbeat_pready(0, *send), MPI_ERR_REQUEST, "is not started");
        for (int i = 0; i < N; i++)
            output[i] = rank * 1000 + iteration * 10 + i;
        if (iteration == 0) {
            offbeat_prequest twice[2] = {*send, *send};
            assert_error(offbeat_pstartall(2, twice), MPI_ERR_REQUEST, "was started already");
            offbeat_pstart(receive);
        } else {
            offbeat_pstartall(2, requests);
        }
        assert_error(offbeat_pstart(send), MPI_ERR_REQUEST, "was started already");
        assert_error(offbeat_pstartall(2, requests), MPI_ERR_REQUEST, "was started already");
        assert_error(offbeat_pready(0, *receive), MPI_ERR_REQUEST, "the request is a receive");
        assert_error(offbeat_pready(N, *send), MPI_ERR_ARG, "partition 4 does not exist");
        assert_error(offbeat_pready(-1, *send), MPI_ERR_ARG, "partition -1 does not exist");
        assert_error(offbeat_pready_range(3, 2, *send), MPI_ERR_ARG, "the range 3 to 2 is empty");
        assert_error(offbeat_pready_list(2, (const int[]){0, 9}, *send), MPI_ERR_ARG,
                     "partition 9 does not exist");
        assert_error(offbeat_parrived(*receive, N, &flag), MPI_ERR_ARG, "partition 4 does not exist");
        assert_error(offbeat_parrived(*send, 0, &flag), MPI_ERR_REQUEST, "the request is a send");
        offbeat_pready(1, *send);
        assert_error(offbeat_pready(1, *send), MPI_ERR_ARG, "partition 1 was marked ready before");
        assert_error(offbeat_pready_range(0, 2, *send), MPI_ERR_ARG, "partition 1 was marked ready before");
        assert_error(offbeat_pready_list(3, (const int[]){2, 0, 2}, *send), MPI_ERR_ARG,
                     "partition 2 was marked ready before");
        offbeat_pready_list(2, (const int[]){2, 0}, *send);
        first_handle = *send;
        assert_error(offbeat_prequest_free(send), MPI_ERR_REQUEST, "the request is active");
        mpi_assert(*send == first_handle, "A refused free changed the request.");
        assert_error(offbeat_pcancel(send), MPI_ERR_REQUEST, "an active partitioned request");
        offbeat_pready(3, *send);
        mpi_assert_success(offbeat_pwaitall(2, requests, MPI_STATUSES_IGNORE), "offbeat_pwaitall");
        for (int i = 0; i < N; i++)
            mpi_assert(input[i] == left * 1000 + iteration * 10 + i, "Partition %d is wrong.", i);
    }
    offbeat_prequest_free(send);
    offbeat_prequest_free(receive);
}

static void null_requests_and_pointers_are_refused(MPI_Errhandler handler) {
    offbeat_prequest none = OFFBEAT_PREQUEST_NULL;
    int flag, index;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, handler);
    assert_error(offbeat_pstart(&none), MPI_ERR_REQUEST, "the request is null");
    assert_error(offbeat_pready(0, none), MPI_ERR_REQUEST, "the request is null");
    assert_error(offbeat_prequest_free(&none), MPI_ERR_REQUEST, "the request is null");
    assert_error(offbeat_pcancel(&none), MPI_ERR_REQUEST, "the request is null");
    assert_error(offbeat_ptest(&none, NULL, MPI_STATUS_IGNORE), MPI_ERR_ARG, "a pointer is NULL");
    assert_error(offbeat_pwaitall(-1, &none, MPI_STATUSES_IGNORE), MPI_ERR_ARG, "no list of -1 requests");
    assert_error(offbeat_partitioned_attach(MPI_COMM_NULL, MPI_INFO_NULL), MPI_ERR_COMM,
                 "communicator is null");
    mpi_assert_success(offbeat_pwait(&none, MPI_STATUS_IGNORE), "offbeat_pwait");
    mpi_assert_success(offbeat_ptest(&none, &flag, MPI_STATUS_IGNORE), "offbeat_ptest");
    mpi_assert(flag, "The null request is not complete.");
    mpi_assert_success(offbeat_ptestany(1, &none, &index, &flag, MPI_STATUS_IGNORE), "offbeat_ptestany");
    mpi_assert(flag && index == MPI_UNDEFINED, "A null request was completed.");
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
}

/* --- different amounts of data --- */

/* Polls a partition whose iteration fails until the error is known. */
static void assert_never_arrives(offbeat_prequest receive, int partition) {
    int flag = 0, rc = MPI_SUCCESS;
    while (rc == MPI_SUCCESS && !flag)
        rc = offbeat_parrived(receive, partition, &flag);
    assert_error(rc, MPI_ERR_TRUNCATE, "both must describe the same number of bytes");
    mpi_assert(flag, "A loop that ignores errors waits for partition %d for ever.", partition);
}

/* Every iteration of the receive fails. The send fails as soon as the receiver's refusal has reached it. No
 * process hangs, and the receiver's buffer is not changed. */
static void different_amounts_fail_on_both_sides(const char *messages, int partitions, int send_count,
                                                 int receive_count) {
    enum { ITERATIONS = 20, RECEIVE_PARTITIONS = 8 };
    const int send_elements = partitions * send_count, receive_elements = RECEIVE_PARTITIONS * receive_count;
    const int longest = send_elements > receive_elements ? send_elements : receive_elements;
    char *output = calloc((size_t)longest, 1), *input = calloc((size_t)longest, 1);
    offbeat_prequest send, receive;
    int failures = 0;
    MPI_Info info;
    MPI_Info_create(&info);
    MPI_Info_set(info, "offbeat_messages", messages);
    offbeat_psend_init(output, partitions, send_count, MPI_CHAR, right, 1, comm, info, &send);
    offbeat_precv_init(input, RECEIVE_PARTITIONS, receive_count, MPI_CHAR, left, 1, comm, MPI_INFO_NULL,
                       &receive);
    MPI_Info_free(&info);
    memset(output, 1, (size_t)longest);
    for (int i = 0; i < ITERATIONS; i++) {
        offbeat_pstart(&send);
        offbeat_pstart(&receive);
        offbeat_pready_range(0, partitions - 1, send);
        for (int k = 0; k < RECEIVE_PARTITIONS; k++)
            assert_never_arrives(receive, k);
        assert_error(offbeat_pwait(&receive, MPI_STATUS_IGNORE), MPI_ERR_TRUNCATE,
                     "both must describe the same number of bytes");
        int rc = offbeat_pwait(&send, MPI_STATUS_IGNORE);
        failures += rc != MPI_SUCCESS;
        if (rc != MPI_SUCCESS)
            assert_error(rc, MPI_ERR_TRUNCATE, "the receive does not describe the");
        MPI_Barrier(comm);
    }
    mpi_assert(failures > 0, "A send to a receive of another size never failed.");
    for (int i = 0; i < longest; i++)
        mpi_assert(input[i] == 0, "Byte %d was written by a send of another size.", i);
    offbeat_prequest_free(&send);
    offbeat_prequest_free(&receive);
    free(output);
    free(input);
}

/* --- threads --- */

enum { SHARED_PARTITIONS = 200 };

/* Launchers bind a process to one core, on which threads would only take turns. */
static void use_all_cores(void) {
    cpu_set_t core_set;
    CPU_ZERO(&core_set);
    for (int i = 0; i < CPU_SETSIZE; i++)
        CPU_SET(i, &core_set);
    sched_setaffinity(0, sizeof core_set, &core_set);
}

/* What one of two threads marks: every other partition, and then all of them. */
typedef struct marker {
    offbeat_prequest send;
    int first, mark_count;
    atomic_int *waiting_count; /* threads that are not here yet */
} marker;

static void *mark_twice(void *argument) {
    marker *self = argument;
    atomic_fetch_sub(self->waiting_count, 1);
    while (atomic_load(self->waiting_count) > 0)
        ; /* both begin at the same time */
    for (int i = self->first; i < SHARED_PARTITIONS; i += 2)
        self->mark_count += offbeat_pready(i, self->send) == MPI_SUCCESS;
    for (int i = 0; i < SHARED_PARTITIONS; i++)
        self->mark_count += offbeat_pready(i, self->send) == MPI_SUCCESS;
    return NULL;
}

/* @return the number of calls that succeeded */
static int mark_by_two_threads(offbeat_prequest send) {
    atomic_int waiting_count = 2;
    marker even = {send, 0, 0, &waiting_count}, odd = {send, 1, 0, &waiting_count};
    pthread_t thread;
    mpi_assert(pthread_create(&thread, NULL, mark_twice, &odd) == 0, "No thread was created.");
    mark_twice(&even);
    pthread_join(thread, NULL);
    return even.mark_count + odd.mark_count;
}

/* Two threads mark all partitions several times: of each partition, one call succeeds and the others fail. */
static void one_of_two_threads_marks_a_partition(const char *messages) {
    int output[SHARED_PARTITIONS], input[SHARED_PARTITIONS];
    offbeat_prequest requests[2];
    MPI_Info info;
    MPI_Info_create(&info);
    MPI_Info_set(info, "offbeat_messages", messages);
    offbeat_psend_init(output, SHARED_PARTITIONS, 1, MPI_INT, right, 1, comm, info, &requests[0]);
    offbeat_precv_init(input, SHARED_PARTITIONS, 1, MPI_INT, left, 1, comm, MPI_INFO_NULL, &requests[1]);
    MPI_Info_free(&info);
    for (int iteration = 0; iteration < 50; iteration++) {
        for (int i = 0; i < SHARED_PARTITIONS; i++)
            output[i] = rank * 100000 + iteration * 1000 + i;
        mpi_assert_success(offbeat_pstartall(2, requests), "offbeat_pstartall");
        const int mark_count = mark_by_two_threads(requests[0]);
        mpi_assert(mark_count == SHARED_PARTITIONS, "%d of %d partitions were marked.", mark_count,
                   SHARED_PARTITIONS);
        mpi_assert(errors_handled == 2 * SHARED_PARTITIONS, "%d of %d wrong calls failed.", errors_handled,
                   2 * SHARED_PARTITIONS);
        mpi_assert_success(offbeat_pwaitall(2, requests, MPI_STATUSES_IGNORE), "offbeat_pwaitall");
        for (int i = 0; i < SHARED_PARTITIONS; i++)
            mpi_assert(input[i] == left * 100000 + iteration * 1000 + i, "Partition %d is wrong.", i);
        errors_handled = 0;
    }
    offbeat_prequest_free(&requests[0]);
    offbeat_prequest_free(&requests[1]);
}

int main(int argc, char **argv) {
    MPI_Errhandler handler;
    int provided_level;
    const int level = offbeat_testing_thread_level(&argc, argv, MPI_THREAD_SINGLE);
    MPI_Init_thread(&argc, &argv, level, &provided_level);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    right = (rank + 1) % size;
    left = (rank + size - 1) % size;
    MPI_Comm_create_errhandler(handle, &handler);
    MPI_Comm_set_errhandler(comm, handler);
    mpi_assert_success(offbeat_partitioned_attach(comm, MPI_INFO_NULL), "offbeat_partitioned_attach");
    mpi_assert_success(offbeat_partitioned_attach(comm, MPI_INFO_NULL),
                       "a second offbeat_partitioned_attach");
    wrong_descriptions_are_refused();
    wrong_settings_are_refused();
    communicators_must_be_attached_with_valid_settings();
    wrong_calls_change_nothing();
    null_requests_and_pointers_are_refused(handler);
    different_amounts_fail_on_both_sides("1", 8, 10, 11);
    different_amounts_fail_on_both_sides("1", 8, 0, 11);
    different_amounts_fail_on_both_sides("1", 8, 11, 0);
    different_amounts_fail_on_both_sides("1", 8, 150000, 100000);
    different_amounts_fail_on_both_sides("64", 8, 10, 11);
    different_amounts_fail_on_both_sides("64", 2, 1000, 1000);
    different_amounts_fail_on_both_sides("64", 32, 1000, 10);
    different_amounts_fail_on_both_sides("64", 4, 300000, 200000);
    if (provided_level == MPI_THREAD_MULTIPLE) {
        use_all_cores();
        one_of_two_threads_marks_a_partition("1");
        one_of_two_threads_marks_a_partition("7");
        one_of_two_threads_marks_a_partition("50");
    }
    MPI_Errhandler_free(&handler);
    MPI_Comm_free(&comm);
    MPI_Finalize();
    return 0;
}
