/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Errors of MPI on one process: attaching fails everywhere and leaves nothing, and an error inside an
 * iteration is raised once, with its class, when the iteration is completed. Wrapped PMPI functions inject
 * the errors.
 */
#define _POSIX_C_SOURCE 200809L
#include <offbeat/partitioned.h>

#include "partitioned/receive.h"
#include "partitioned/settings.h"
#include "testing/mpi_assert.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static int rank, size, errors_handled;
static int comms;         /* created and not freed */
static int creates_left;  /* calls of MPI_Comm_create that succeed before one fails; -1: none fails */
static int sends_left;    /* the same for MPI_Isend */
static int receives_left; /* the same for MPI_Irecv of integers, as data are here */
static const MPI_Request *fails_at; /* the request that reports an error when it completes */
static int fails_threads;           /* pthread_create fails */

int __real_PMPI_Comm_create(MPI_Comm, MPI_Group, MPI_Comm *);
int __wrap_PMPI_Comm_create(MPI_Comm, MPI_Group, MPI_Comm *);
int __real_PMPI_Comm_free(MPI_Comm *);
int __wrap_PMPI_Comm_free(MPI_Comm *);
int __real_PMPI_Isend(const void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);
int __wrap_PMPI_Isend(const void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);
int __real_PMPI_Irecv(void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);
int __wrap_PMPI_Irecv(void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);
int __real_PMPI_Test(MPI_Request *, int *, MPI_Status *);
int __wrap_PMPI_Test(MPI_Request *, int *, MPI_Status *);
int __real_pthread_create(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
int __wrap_pthread_create(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);

int __wrap_PMPI_Comm_create(MPI_Comm comm, MPI_Group group, MPI_Comm *newcomm) {
    int rc = __real_PMPI_Comm_create(comm, group, newcomm);
    comms++;
    return rc == MPI_SUCCESS && creates_left-- == 0 ? MPI_ERR_OTHER : rc;
}

int __wrap_PMPI_Comm_free(MPI_Comm *comm) {
    comms--;
    return __real_PMPI_Comm_free(comm);
}

/* The message is sent all the same, so that its receiver does not wait for it. */
int __wrap_PMPI_Isend(const void *buffer, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm,
                      MPI_Request *request) {
    int rc = __real_PMPI_Isend(buffer, count, type, dest, tag, comm, request);
    return rc == MPI_SUCCESS && sends_left-- == 0 ? MPI_ERR_INTERN : rc;
}

int __wrap_PMPI_Irecv(void *buffer, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
                      MPI_Request *request) {
    if (type == MPI_INT && receives_left-- == 0)
        return MPI_ERR_INTERN;
    return __real_PMPI_Irecv(buffer, count, type, source, tag, comm, request);
}

int __wrap_PMPI_Test(MPI_Request *request, int *flag, MPI_Status *status) {
    const int is_null = *request == MPI_REQUEST_NULL;
    int rc = __real_PMPI_Test(request, flag, status);
    if (request != fails_at || is_null || rc != MPI_SUCCESS || !*flag)
        return rc;
    fails_at = NULL;
    return MPI_ERR_TRUNCATE;
}

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *),
                          void *argument) {
    return fails_threads ? 1 : __real_pthread_create(thread, attributes, run, argument);
}

/* The MPI standard declares error handlers as variadic functions. */
static void handle(MPI_Comm *failed_comm, int *code, ...) {
    (void)failed_comm;
    (void)code;
    errors_handled++;
}

static int class_of(int code) {
    int error_class;
    MPI_Error_class(code, &error_class);
    return error_class;
}

/* No process waits for another, all report an error, and the next attempt succeeds. */
static void attaching_fails_on_all_processes_or_on_none(MPI_Comm comm) {
    const int comms_before = comms;
    for (int failing_call = 1; failing_call <= 4; failing_call++) {
        creates_left = rank == size - 1 ? failing_call : -1;
        int rc = offbeat_partitioned_attach(comm, MPI_INFO_NULL);
        mpi_assert(rc != MPI_SUCCESS, "Process %d attached, and process %d did not.", rank, size - 1);
        creates_left = -1;
        mpi_assert(comms == comms_before, "%d communicators of a failed attempt remain.",
                   comms - comms_before);
    }
}

static void a_thread_that_cannot_begin_fails_on_all_processes(MPI_Comm comm) {
    MPI_Info info;
    const int comms_before = comms;
    MPI_Info_create(&info);
    MPI_Info_set(info, "offbeat_progress_thread", "true");
    fails_threads = rank == 0;
    int rc = offbeat_partitioned_attach(comm, info);
    mpi_assert(class_of(rc) == MPI_ERR_OTHER, "The attempt returned %d.", rc);
    mpi_assert(rank > 0 || strstr(offbeat_partitioned_error(), "thread") != NULL, "The sentence is '%s'.",
               offbeat_partitioned_error());
    mpi_assert(comms == comms_before, "%d communicators of a failed attempt remain.", comms - comms_before);
    fails_threads = 0;
    MPI_Info_free(&info);
}

static void a_request_that_cannot_be_described_leaves_nothing(MPI_Comm comm) {
    offbeat_prequest send, receive;
    int data = 0;
    sends_left = 0;
    int rc = offbeat_psend_init(&data, 1, 1, MPI_INT, rank, 9, comm, MPI_INFO_NULL, &send);
    mpi_assert(class_of(rc) == MPI_ERR_INTERN && send == OFFBEAT_PREQUEST_NULL, "It returned %d.", rc);
    /* The description was sent in this test: it is received here. */
    mpi_assert_success(offbeat_precv_init(&data, 1, 1, MPI_INT, rank, 9, comm, MPI_INFO_NULL, &receive),
                       "offbeat_precv_init");
    mpi_assert_success(offbeat_prequest_free(&receive), "offbeat_prequest_free");
}

/* @return the result of the wait that fails */
static int iterate(offbeat_prequest requests[2], int failing_call) {
    errors_handled = 0;
    for (int i = 0; i < 2; i++) /* the start of the send also answers the setup of the inactive receive */
        mpi_assert_success(offbeat_pstart(&requests[i]), "offbeat_pstart");
    mpi_assert_success(offbeat_pready_range(0, 3, requests[0]), "offbeat_pready_range");
    int send_rc = offbeat_pwait(&requests[0], MPI_STATUS_IGNORE);
    int receive_rc = offbeat_pwait(&requests[1], MPI_STATUS_IGNORE);
    mpi_assert_success(failing_call == 0 ? receive_rc : send_rc, "the other request");
    mpi_assert(errors_handled == (failing_call >= 0), "An error was raised %d times.", errors_handled);
    return failing_call == 0 ? send_rc : receive_rc;
}

static void errors_are_raised_once_with_their_class(MPI_Comm comm, const char *messages) {
    int output[4] = {1, 2, 3, 4}, input[4] = {0};
    char words[MPI_MAX_ERROR_STRING];
    int length;
    offbeat_prequest requests[2];
    MPI_Info info;
    MPI_Info_create(&info);
    MPI_Info_set(info, "offbeat_messages", messages);
    offbeat_psend_init(output, 4, 1, MPI_INT, rank, 1, comm, info, &requests[0]);
    offbeat_precv_init(input, 4, 1, MPI_INT, rank, 1, comm, MPI_INFO_NULL, &requests[1]);
    MPI_Info_free(&info);
    offbeat_pready(7, requests[0]); /* its sentence must not remain */
    mpi_assert_success(iterate(requests, -1), "the first iteration");
    mpi_assert_success(iterate(requests, -1), "the second iteration, at whose start the receiver answers");
    sends_left = 0;
    int rc = iterate(requests, 0);
    mpi_assert(class_of(rc) == MPI_ERR_INTERN, "A failed send has the class %d.", class_of(rc));
    MPI_Error_string(rc, words, &length);
    mpi_assert(strncmp(words, offbeat_partitioned_error(), 100) == 0, "The sentence is '%s'.",
               offbeat_partitioned_error());
    const offbeat_partitioned_messages *receive_rc = &((offbeat_partitioned_receive *)requests[1])->messages;
    const int last = receive_rc->count - 1;
    for (int message = 0; message <= last; message += last ? last : 1) {
        fails_at = &receive_rc->requests[message];
        input[3] = 0;
        rc = iterate(requests, 1);
        mpi_assert(class_of(rc) == MPI_ERR_TRUNCATE, "Message %d: a failed receive has the class %d.",
                   message, class_of(rc));
        mpi_assert(input[3] == output[3], "Message %d failed, and the last one was not received.", message);
        mpi_assert_success(iterate(requests, -1), "the next iteration");
    }
    offbeat_prequest_free(&requests[0]);
    offbeat_prequest_free(&requests[1]);
}

/* Receives the messages that a failed request left: MPICH 5 refuses to free a communicator that has some. */
static void take_rest(offbeat_prequest request) {
    const offbeat_partitioned_receive *receive = (offbeat_partitioned_receive *)request;
    const offbeat_partitioned_comm *state = request->comm;
    const int peer = receive->pair.peer;
    int value, is_here;
    MPI_Barrier(state->user);
    for (double end = MPI_Wtime() + 0.1; MPI_Wtime() < end;)
        for (int i = 0; i < state->lane_count * receive->messages.limit; i++) {
            const MPI_Comm lane = state->lanes[i % state->lane_count];
            const int tag = receive->messages.first_tag + i / state->lane_count;
            MPI_Iprobe(peer, tag, lane, &is_here, MPI_STATUS_IGNORE);
            if (is_here)
                MPI_Recv(&value, 1, MPI_INT, peer, tag, lane, MPI_STATUS_IGNORE);
        }
}

/* The receives of some messages of the first iteration are never posted: a later iteration would get them. To
 * itself, a process of MPICH cannot send without a receive. */
static void no_iteration_receives_messages_of_a_failed_one(MPI_Comm comm) {
    int output[4] = {1, 2, 3, 4}, input[4] = {0};
    offbeat_prequest requests[2];
    MPI_Info info;
    MPI_Info_create(&info);
    MPI_Info_set(info, "offbeat_messages", "4");
    offbeat_psend_init(output, 4, 1, MPI_INT, (rank + 1) % size, 2, comm, info, &requests[0]);
    offbeat_precv_init(input, 4, 1, MPI_INT, (rank + size - 1) % size, 2, comm, MPI_INFO_NULL, &requests[1]);
    MPI_Info_free(&info);
    receives_left = 2;
    for (int iteration = 0; iteration < 3; iteration++) {
        int rc = iterate(requests, 1);
        mpi_assert(class_of(rc) == MPI_ERR_INTERN, "Iteration %d: the receive has the class %d.", iteration,
                   class_of(rc));
        receives_left = -1;
    }
    take_rest(requests[1]);
    offbeat_prequest_free(&requests[0]);
    offbeat_prequest_free(&requests[1]);
}

static void an_info_key_wins_over_the_environment(void) {
    MPI_Info info;
    offbeat_partitioned_send_settings settings;
    char why[OFFBEAT_PARTITIONED_WHY_BYTES];
    setenv("OFFBEAT_PARTITIONED_MESSAGES", "7", 1);
    MPI_Info_create(&info);
    offbeat_partitioned_read_send_settings(info, &settings, why);
    mpi_assert(settings.messages == 7, "The variable was not read.");
    MPI_Info_set(info, "offbeat_message_bytes", "100");
    offbeat_partitioned_read_send_settings(info, &settings, why);
    mpi_assert(settings.messages == 0 && settings.message_bytes == 100, "The variable won over the key.");
    MPI_Info_set(info, "offbeat_messages", "3");
    offbeat_partitioned_read_send_settings(info, &settings, why);
    mpi_assert(settings.messages == 3, "The key for the size won over the key for the number.");
    MPI_Info_free(&info);
    unsetenv("OFFBEAT_PARTITIONED_MESSAGES");
}

int main(int argc, char **argv) {
    int provided_level;
    MPI_Comm comm;
    MPI_Errhandler handler;
    creates_left = sends_left = receives_left = -1;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided_level);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    MPI_Comm_create_errhandler(handle, &handler);
    MPI_Comm_set_errhandler(comm, handler);
    attaching_fails_on_all_processes_or_on_none(comm);
    if (provided_level == MPI_THREAD_MULTIPLE)
        a_thread_that_cannot_begin_fails_on_all_processes(comm);
    mpi_assert_success(offbeat_partitioned_attach(comm, MPI_INFO_NULL), "offbeat_partitioned_attach");
    a_request_that_cannot_be_described_leaves_nothing(comm);
    errors_are_raised_once_with_their_class(comm, "1");
    errors_are_raised_once_with_their_class(comm, "4");
    if (size > 1)
        no_iteration_receives_messages_of_a_failed_one(comm);
    an_info_key_wins_over_the_environment();
    MPI_Errhandler_free(&handler);
    MPI_Comm_free(&comm);
    MPI_Finalize();
    return 0;
}
