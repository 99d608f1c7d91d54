/* SPDX-License-Identifier: BSD-3-Clause */
/** @file matching.c  Which send meets which receive, and that nothing else does. */
#include "conformance/message.h"

enum { TAG = 7, MESSAGES = 20 };

static void many_equal_tags(void) {
    message messages[MESSAGES];
    for (int i = 0; i < MESSAGES; i++)
        messages[i] = open_message(4, 4, 40, TAG);
    for (int seed = 0; seed < 3; seed++) {
        for (int i = MESSAGES - 1; i >= 0; i--)
            start(&messages[i], seed * 100 + i);
        for (int i = 0; i < MESSAGES; i++)
            ready_all(&messages[i * 7 % MESSAGES], seed * 100 + i * 7 % MESSAGES);
        for (int i = 0; i < MESSAGES; i++)
            complete(&messages[i]);
        for (int i = 0; i < MESSAGES; i++)
            expect_message(&messages[i], seed * 100 + i);
    }
    for (int i = 0; i < MESSAGES; i++)
        close_message(&messages[i]);
}

static void equal_tags_of_other_sizes(void) {
    message messages[MESSAGES];
    for (int i = 0; i < MESSAGES; i++)
        messages[i] = open_message(2 + i % 3, 2 + i % 3, (2 + i % 3) * (i + 1), TAG);
    for (int i = MESSAGES - 1; i >= 0; i--)
        start(&messages[i], i);
    for (int i = MESSAGES - 1; i >= 0; i--)
        ready_all(&messages[i], i);
    for (int i = 0; i < MESSAGES; i++) {
        complete(&messages[i]);
        expect_message(&messages[i], i);
        close_message(&messages[i]);
    }
}

/* The receiver initialises in the opposite order. */
static void neighbouring_tags(void) {
    enum { TAGS = 5 };
    message messages[TAGS];
    for (int i = 0; i < TAGS; i++) {
        const int index = world.rank ? TAGS - 1 - i : i;
        messages[index] = open_message(6, 3, 60, TAG + index);
    }
    for (int seed = 0; seed < 3; seed++) {
        for (int i = 0; i < TAGS; i++)
            start(&messages[i], seed * 10 + i);
        for (int i = TAGS - 1; i >= 0; i--)
            ready_all(&messages[i], seed * 10 + i);
        for (int i = 0; i < TAGS; i++) {
            complete(&messages[i]);
            expect_message(&messages[i], seed * 10 + i);
        }
    }
    for (int i = 0; i < TAGS; i++)
        close_message(&messages[i]);
}

/* A receive with wildcards is posted before anything of the partitioned message can be on its way. */
static void users_wildcard_receive(void) {
    for (int seed = 0; seed < 5; seed++) {
        int own_value = 4711 + seed, peer_value = 0;
        MPI_Request own_request;
        MPI_Status status;
        MUST(MPI_Irecv(&peer_value, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, world.comm, &own_request));
        meet();
        message msg = open_message(5, 7, 35, TAG);
        transfer(&msg, seed);
        MUST(MPI_Send(&own_value, 1, MPI_INT, world.peer, TAG + 1, world.comm));
        MUST(PMPI_Wait(&own_request, &status));
        EXPECT(peer_value == own_value && status.MPI_TAG == TAG + 1,
               "the program's receive from MPI_ANY_SOURCE has tag %d and the value %d", status.MPI_TAG,
               peer_value);
        close_message(&msg);
    }
}

static void users_equal_tag(void) {
    message msg = open_message(4, 2, 40, TAG);
    for (int seed = 0; seed < 5; seed++) {
        int own_value = 4711 + seed, peer_value = 0;
        start(&msg, seed);
        MUST(MPI_Sendrecv(&own_value, 1, MPI_INT, world.peer, TAG, &peer_value, 1, MPI_INT, world.peer, TAG,
                          world.comm, MPI_STATUS_IGNORE));
        ready_all(&msg, seed);
        complete(&msg);
        EXPECT(peer_value == own_value, "the program's message of equal tag has the value %d", peer_value);
        expect_message(&msg, seed);
    }
    close_message(&msg);
}

static void both_directions(void) {
    for (int seed = 0; seed < 5; seed++) {
        message send_msg = open_request(1, 4, 10, world.peer, TAG, world.comm);
        message receive_msg = open_request(0, 4, 10, world.peer, TAG, world.comm);
        start(&send_msg, seed + world.rank);
        start(&receive_msg, seed);
        ready_all(&send_msg, seed + world.rank);
        complete(&receive_msg);
        complete(&send_msg);
        expect_message(&receive_msg, seed + world.peer);
        close_message(&send_msg);
        close_message(&receive_msg);
    }
}

/* Each side initialises and sends a message of its own before the other side initialises. */
static void initialisation_is_local(void) {
    for (int first = 0; first < 2; first++) {
        message msg = {0};
        int token = first;
        if (world.rank == first)
            msg = open_message(4, 4, 40, TAG);
        if (world.rank == first)
            MUST(MPI_Send(&token, 1, MPI_INT, world.peer, 1, world.comm));
        else
            MUST(MPI_Recv(&token, 1, MPI_INT, world.peer, 1, world.comm, MPI_STATUS_IGNORE));
        if (world.rank != first)
            msg = open_message(4, 4, 40, TAG);
        transfer(&msg, first);
        close_message(&msg);
    }
}

/* The send is started, and its partitions are ready, before the receive is initialised. */
static void ready_before_receive(void) {
    for (int seed = 0; seed < 3; seed++) {
        message msg = {0};
        int token = 0;
        if (world.rank == 0) {
            msg = open_message(4, 4, 4000, TAG);
            start(&msg, seed);
            ready_all(&msg, seed);
            MUST(MPI_Send(&token, 1, MPI_INT, 1, 1, world.comm));
        } else {
            MUST(MPI_Recv(&token, 1, MPI_INT, 0, 1, world.comm, MPI_STATUS_IGNORE));
            msg = open_message(4, 4, 4000, TAG);
            start(&msg, seed);
        }
        complete(&msg);
        expect_message(&msg, seed);
        close_message(&msg);
    }
}

const conformance_case matching_cases[] = {
    {"equal-tags", "4.2.3", "20 requests of equal tags match in the order of their initialisation.",
     many_equal_tags, 0},
    {"equal-tags-sizes", "4.2.3", "Requests of equal tags and other sizes match in order.",
     equal_tags_of_other_sizes, 0},
    {"neighbouring-tags", "4.2.3", "Messages with other tags do not mix.", neighbouring_tags, 0},
    {"user-wildcard", "4.2.1",
     "A receive of the program from MPI_ANY_SOURCE with MPI_ANY_TAG gets nothing of a partitioned message.",
     users_wildcard_receive, 0},
    {"user-equal-tag", "4.2.1", "A message of the program with the same tag is independent.", users_equal_tag,
     0},
    {"both-directions", "4.2.1", "Both processes may send with the same tag at the same time.",
     both_directions, 0},
    {"local-init", "4.2.1", "Initialisation does not wait for the other process.", initialisation_is_local,
     0},
    {"early-send", "4.2.1", "A send may be started and ready before the receive is initialised.",
     ready_before_receive, 0},
    {0},
};
