/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file misuse.c
 * Wrong calls. The standard calls these programs erroneous, so that every outcome is allowed; a good library
 * returns an error.
 */
#include "conformance/message.h"

enum { TAG = 12, N = 4 };

#define REFUSED(CALL)                                                                                        \
    do {                                                                                                     \
        const int refused_code = TRY(CALL);                                                                  \
        conformance_enter("");                                                                               \
        EXPECT(refused_code != MPI_SUCCESS, "no error of %s", #CALL);                                        \
    } while (0)

static void marked_twice(void) {
    message one = open_message(N, N, 40, TAG);
    start(&one, 1);
    if (one.is_send) {
        MUST(MPI_Pready(1, one.request));
        REFUSED(MPI_Pready(1, one.request));
    }
}

static void no_such_partition(void) {
    message one = open_message(N, N, 40, TAG);
    start(&one, 1);
    if (one.is_send) {
        REFUSED(MPI_Pready(N, one.request));
        REFUSED(MPI_Pready(-1, one.request));
    } else {
        int flag;
        REFUSED(MPI_Parrived(one.request, N, &flag));
    }
}

static void wrong_kind_of_request(void) {
    message one = open_message(N, N, 40, TAG);
    int flag;
    start(&one, 1);
    if (one.is_send)
        REFUSED(MPI_Parrived(one.request, 0, &flag));
    else
        REFUSED(MPI_Pready(0, one.request));
}

static void not_started(void) {
    message one = open_message(N, N, 40, TAG);
    if (one.is_send)
        REFUSED(MPI_Pready(0, one.request));
}

static void started_twice(void) {
    message one = open_message(N, N, 40, TAG);
    start(&one, 1);
    REFUSED(MPI_Start(&one.request));
}

static void freed_active(void) {
    message one = open_message(N, N, 40, TAG);
    start(&one, 1);
    REFUSED(MPI_Request_free(&one.request));
}

static void wildcards(void) {
    int data[N];
    partitioned_request request;
    if (world.rank == 0)
        return;
    REFUSED(MPI_Precv_init(data, N, 1, MPI_INT, MPI_ANY_SOURCE, TAG, world.comm, MPI_INFO_NULL, &request));
    REFUSED(MPI_Precv_init(data, N, 1, MPI_INT, 0, MPI_ANY_TAG, world.comm, MPI_INFO_NULL, &request));
}

/* The receive is shorter than the send. */
static void other_size(void) {
    message one = open_message(N, N, world.rank ? 40 : 80, TAG);
    MPI_Status status;
    start(&one, 1);
    ready_all(&one, 1);
    if (!one.is_send) {
        REFUSED(MPI_Wait(&one.request, &status));
        EXPECT(one.data[N * one.count] == 0x5eed5eed, "the element behind the buffer was written");
    }
}

enum { MISUSE = CASE_QUALITY | CASE_MISUSE };

const conformance_case misuse_cases[] = {
    {"refuse-twice", "4.2.1", "Marking a partition twice is an error.", marked_twice, MISUSE},
    {"refuse-partition", "4.2.1", "A partition that does not exist is an error.", no_such_partition, MISUSE},
    {"refuse-kind", "4.2.1", "MPI_Pready of a receive and MPI_Parrived of a send are errors.",
     wrong_kind_of_request, MISUSE},
    {"refuse-unstarted", "4.2.1", "MPI_Pready before MPI_Start is an error.", not_started, MISUSE},
    {"refuse-restart", "4.2.1", "MPI_Start of an active request is an error.", started_twice, MISUSE},
    {"refuse-free", "4.2.1", "MPI_Request_free of an active request is an error.", freed_active, MISUSE},
    {"refuse-wildcard", "4.2.1", "A receive with a wildcard is an error.", wildcards, MISUSE},
    {"refuse-size", "4.2.3", "A receive that is shorter than the send is an error.", other_size, MISUSE},
    {0},
};
