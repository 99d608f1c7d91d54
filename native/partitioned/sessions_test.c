/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Threads mark partitions on a communicator of a session with MPI_THREAD_MULTIPLE: no mark is lost, and a
 * progress thread is possible. Argument `world`: the World model is used as well, with MPI_THREAD_SINGLE.
 * Exits with status 77 (skipped) without sessions of that level.
 */
#define _POSIX_C_SOURCE 200809L
#include <mpi.h>
#include <offbeat/partitioned.h>

#include "partitioned/thread_level.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS = 4, PARTITIONS = 512, ITERATIONS = 200, SKIP_STATUS = 77 };

#if MPI_VERSION >= 4 || defined(MPI_ERR_SESSION)

static int rank, data[PARTITIONS];
static offbeat_prequest request;
static pthread_barrier_t barrier;

/* Ends the process, and the launch with it. */
static void must(int is_right, const char *promise) {
    if (is_right)
        return;
    fprintf(stderr, "Rank %d: %s.\n", rank, promise);
    exit(1);
}

static void must_succeed(int rc, const char *call) {
    must(rc == MPI_SUCCESS, call);
}

static void *mark_share(void *first) {
    for (int iteration = 0; iteration < ITERATIONS; iteration++) {
        pthread_barrier_wait(&barrier);
        for (int i = (int)(size_t)first; i < PARTITIONS; i += THREADS) {
            data[i] = i + iteration;
            must_succeed(offbeat_pready(i, request), "offbeat_pready failed");
        }
        pthread_barrier_wait(&barrier);
    }
    return NULL;
}

/* After all marks, a send with few messages completes without further calls of the receiver: waiting for ever
 * means that a mark was lost, and the test's time limit says so. */
static void send_from_threads(MPI_Comm comm) {
    pthread_t threads[THREADS];
    must_succeed(offbeat_psend_init(data, PARTITIONS, 1, MPI_INT, 1, 1, comm, MPI_INFO_NULL, &request),
                 "init");
    pthread_barrier_init(&barrier, NULL, THREADS + 1);
    for (size_t i = 0; i < THREADS; i++)
        must(pthread_create(&threads[i], NULL, mark_share, (void *)i) == 0, "no thread was created");
    for (int iteration = 0; iteration < ITERATIONS; iteration++) {
        must_succeed(offbeat_pstart(&request), "offbeat_pstart failed");
        pthread_barrier_wait(&barrier);
        pthread_barrier_wait(&barrier);
        must_succeed(offbeat_pwait(&request, MPI_STATUS_IGNORE), "offbeat_pwait failed");
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
}

static void receive(MPI_Comm comm) {
    must_succeed(offbeat_precv_init(data, PARTITIONS, 1, MPI_INT, 0, 1, comm, MPI_INFO_NULL, &request),
                 "init");
    for (int iteration = 0; iteration < ITERATIONS; iteration++) {
        must_succeed(offbeat_pstart(&request), "offbeat_pstart failed");
        must_succeed(offbeat_pwait(&request, MPI_STATUS_IGNORE), "offbeat_pwait failed");
        for (int i = 0; i < PARTITIONS; i++)
            must(data[i] == i + iteration, "an element is wrong");
    }
}

/* A session with MPI_THREAD_MULTIPLE and its communicator of all processes; MPI_COMM_NULL if there is none.
 */
static MPI_Comm open_session(MPI_Session *session) {
    MPI_Info info;
    MPI_Group group;
    MPI_Comm comm = MPI_COMM_NULL;
    char level[64] = "";
    int is_set = 0;
    MPI_Info_create(&info);
    MPI_Info_set(info, "thread_level", "MPI_THREAD_MULTIPLE");
    const int rc = MPI_Session_init(info, MPI_ERRORS_RETURN, session);
    MPI_Info_free(&info);
    if (rc != MPI_SUCCESS)
        return comm;
    MPI_Session_get_info(*session, &info);
    MPI_Info_get(info, "thread_level", sizeof level - 1, level, &is_set);
    MPI_Info_free(&info);
    if (is_set && strcmp(level, "MPI_THREAD_MULTIPLE") != 0)
        return comm;
    if (MPI_Group_from_session_pset(*session, "mpi://WORLD", &group) == MPI_SUCCESS)
        MPI_Comm_create_from_group(group, "offbeat.test", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm);
    return comm;
}

int main(int argc, char **argv) {
    const int has_world = argc > 1 && strcmp(argv[1], "world") == 0;
    MPI_Session session;
    MPI_Info info;
    if (has_world)
        MPI_Init(&argc, &argv);
    MPI_Comm comm = open_session(&session);
    if (comm == MPI_COMM_NULL)
        return SKIP_STATUS;
    MPI_Comm_rank(comm, &rank);
    must(offbeat_partitioned_calls_may_overlap(), "the library assumes that calls of threads do not overlap");
    MPI_Info_create(&info);
    MPI_Info_set(info, "offbeat_progress_thread", has_world ? "false" : "true");
    must_succeed(offbeat_partitioned_attach(comm, info), offbeat_partitioned_error());
    MPI_Info_free(&info);
    if (rank == 0)
        send_from_threads(comm);
    else
        receive(comm);
    offbeat_prequest_free(&request);
    must_succeed(offbeat_partitioned_finalize(), "offbeat_partitioned_finalize failed");
    MPI_Comm_free(&comm);
    if (has_world)
        MPI_Finalize();
    MPI_Session_finalize(&session);
    return 0;
}

#else

int main(void) {
    return SKIP_STATUS;
}

#endif
