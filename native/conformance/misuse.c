/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file misuse.c
 * Wrong calls. The standard calls these programs erroneous, so that every outcome is allowed; a good library
 * returns an error.
 */
#include "conformance/message.h"

enum { TAG = 12, N = 4 };

#define MUST_REFUSE(CALL)                                                                                    \
    do {                                                                                                     \
        const int refused_code = TRY(CALL);                                                                  \
        conformance_enter("");                                                                               \
        EXPECT(refused_code != MPI_SUCCESS, "no error of %s", #CALL);                                        \
    } while (0)

static void marked_twice(void) {
    message msg = open_message(N, N, 40, TAG);
    start(&msg, 1);
    if (msg.is_send) {
        MUST(MPI_Pready(1, msg.request));
        MUST_REFUSE(MPI_Pready(1, msg.request));
    }
}

static void no_such_partition(void) {
    message msg = open_message(N, N, 40, TAG);
    start(&msg, 1);
    if (msg.is_send) {
        MUST_REFUSE(MPI_Pready(N, msg.request));
        MUST_REFUSE(MPI_Pready(-1, msg.request));
    } else {
        int flag;
        MUST_REFUSE(MPI_Parrived(msg.request, N, &flag));
    }
}

static void partitions_of_a_wrong_range_or_list(void) {
    message msg = open_message(N, N, 40, TAG);
    start(&msg, 1);
    if (msg.is_send) {
        int twice[] = {0, 0}, invalid_partitions[] = {1, N}; /* not const in the headers of some libraries */
        MUST_REFUSE(MPI_Pready_range(2, N, msg.request));
        MUST_REFUSE(MPI_Pready_list(2, twice, msg.request));
        MUST_REFUSE(MPI_Pready_list(2, invalid_partitions, msg.request));
    }
}

static void wrong_kind_of_request(void) {
    message msg = open_message(N, N, 40, TAG);
    int flag;
    start(&msg, 1);
    if (msg.is_send)
        MUST_REFUSE(MPI_Parrived(msg.request, 0, &flag));
    else
        MUST_REFUSE(MPI_Pready(0, msg.request));
}

static void not_started(void) {
    message msg = open_message(N, N, 40, TAG);
    if (msg.is_send)
        MUST_REFUSE(MPI_Pready(0, msg.request));
}

static void started_twice(void) {
    message msg = open_message(N, N, 40, TAG);
    start(&msg, 1);
    MUST_REFUSE(MPI_Start(&msg.request));
}

static void freed_active(void) {
    message msg = open_message(N, N, 40, TAG);
    start(&msg, 1);
    MUST_REFUSE(MPI_Request_free(&msg.request));
}

static void cancelled_active(void) {
    message msg = open_message(N, N, 40, TAG);
    start(&msg, 1);
    MUST_REFUSE(MPI_Cancel(&msg.request));
}

static void wildcards(void) {
    int data[N];
    partitioned_request request;
    if (world.rank == 0)
        return;
    MUST_REFUSE(
        MPI_Precv_init(data, N, 1, MPI_INT, MPI_ANY_SOURCE, TAG, world.comm, MPI_INFO_NULL, &request));
    MUST_REFUSE(MPI_Precv_init(data, N, 1, MPI_INT, 0, MPI_ANY_TAG, world.comm, MPI_INFO_NULL, &request));
}

/* The receive is shorter than the send. */
static void other_size(void) {
    message msg = open_message(N, N, world.rank ? 40 : 80, TAG);
    MPI_Status status;
    start(&msg, 1);
    ready_all(&msg, 1);
    if (!msg.is_send) {
        MUST_REFUSE(MPI_Wait(&msg.request, &status));
        EXPECT(msg.data[N * msg.count] == 0x5eed5eed, "the element behind the buffer was written");
    }
}

/* The receive is longer than the send. */
static void longer_receive(void) {
    message msg = open_message(N, N, world.rank ? 80 : 40, TAG);
    MPI_Status status;
    start(&msg, 1);
    ready_all(&msg, 1);
    if (!msg.is_send)
        MUST_REFUSE(MPI_Wait(&msg.request, &status));
}

/* A program that only polls its partitions. The first poll is before the sender's initialisation, when
 * nothing can have arrived and no error can be known. */
static void polled_other_size(void) {
    int flag = 0, code = MPI_SUCCESS;
    if (world.rank == 0)
        meet();
    message msg = open_message(N, N, world.rank ? 40 : 80, TAG);
    start(&msg, 1);
    ready_all(&msg, 1);
    for (int poll = 0; !msg.is_send && !flag && code == MPI_SUCCESS; poll++) {
        code = TRY(MPI_Parrived(msg.request, 0, &flag));
        if (poll == 0)
            meet();
    }
    conformance_enter("");
    EXPECT(msg.is_send || code != MPI_SUCCESS, "partition 0 arrived without an error");
}

enum { MISUSE = CASE_QUALITY | CASE_MISUSE };

const conformance_case misuse_cases[] = {
    {"refuse-twice", "4.2.1", "Marking a partition twice is an error.", marked_twice, MISUSE},
    {"refuse-partition", "4.2.1", "A partition that does not exist is an error.", no_such_partition, MISUSE},
    {"refuse-range", "4.2.1", "A range or list with a wrong partition is an error.",
     partitions_of_a_wrong_range_or_list, MISUSE},
    {"refuse-kind", "4.2.1", "MPI_Pready of a receive and MPI_Parrived of a send are errors.",
     wrong_kind_of_request, MISUSE},
    {"refuse-unstarted", "4.2.1", "MPI_Pready before MPI_Start is an error.", not_started, MISUSE},
    {"refuse-restart", "4.2.1", "MPI_Start of an active request is an error.", started_twice, MISUSE},
    {"refuse-free", "4.2.1", "MPI_Request_free of an active request is an error.", freed_active, MISUSE},
    {"refuse-cancel", "4.2.1", "MPI_Cancel of an active request is an error.", cancelled_active, MISUSE},
    {"refuse-wildcard", "4.2.1", "A receive with a wildcard is an error.", wildcards, MISUSE},
    {"refuse-size", "4.2.3", "A receive that is shorter than the send is an error.", other_size, MISUSE},
    {"refuse-longer", "4.2.3", "A receive that is longer than the send is an error.", longer_receive, MISUSE},
    {"refuse-polled", "4.2.3", "MPI_Parrived reports a receive that is shorter than the send.",
     polled_other_size, MISUSE},
    {0},
};
