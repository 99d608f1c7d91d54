/* SPDX-License-Identifier: BSD-3-Clause */
/** @file matching.c  Which send meets which receive, and that nothing else does. */
#include "conformance/message.h"

enum { TAG = 7, MANY = 20 };

static void many_equal_tags(void) {
    message all[MANY];
    for (int i = 0; i < MANY; i++)
        all[i] = open_message(4, 4, 40, TAG);
    for (int seed = 0; seed < 3; seed++) {
        for (int i = MANY - 1; i >= 0; i--)
            start(&all[i], seed * 100 + i);
        for (int i = 0; i < MANY; i++)
            ready_all(&all[i * 7 % MANY], seed * 100 + i * 7 % MANY);
        for (int i = 0; i < MANY; i++)
            complete(&all[i]);
        for (int i = 0; i < MANY; i++)
            expect_message(&all[i], seed * 100 + i);
    }
    for (int i = 0; i < MANY; i++)
        close_message(&all[i]);
}

static void equal_tags_of_other_sizes(void) {
    message all[MANY];
    for (int i = 0; i < MANY; i++)
        all[i] = open_message(2 + i % 3, 2 + i % 3, (2 + i % 3) * (i + 1), TAG);
    for (int i = MANY - 1; i >= 0; i--)
        start(&all[i], i);
    for (int i = MANY - 1; i >= 0; i--)
        ready_all(&all[i], i);
    for (int i = 0; i < MANY; i++) {
        complete(&all[i]);
        expect_message(&all[i], i);
        close_message(&all[i]);
    }
}

/* The receiver initialises in the opposite order. */
static void neighbouring_tags(void) {
    enum { TAGS = 5 };
    message all[TAGS];
    for (int i = 0; i < TAGS; i++) {
        const int which = world.rank ? TAGS - 1 - i : i;
        all[which] = open_message(6, 3, 60, TAG + which);
    }
    for (int seed = 0; seed < 3; seed++) {
        for (int i = 0; i < TAGS; i++)
            start(&all[i], seed * 10 + i);
        for (int i = TAGS - 1; i >= 0; i--)
            ready_all(&all[i], seed * 10 + i);
        for (int i = 0; i < TAGS; i++) {
            complete(&all[i]);
            expect_message(&all[i], seed * 10 + i);
        }
    }
    for (int i = 0; i < TAGS; i++)
        close_message(&all[i]);
}

/* A receive with wildcards is posted before anything of the partitioned message can be on its way. */
static void users_wildcard_receive(void) {
    for (int seed = 0; seed < 5; seed++) {
        int mine = 4711 + seed, theirs = 0;
        MPI_Request own;
        MPI_Status status;
        MUST(MPI_Irecv(&theirs, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, world.comm, &own));
        meet();
        message one = open_message(5, 7, 35, TAG);
        transfer(&one, seed);
        MUST(MPI_Send(&mine, 1, MPI_INT, world.peer, TAG + 1, world.comm));
        MUST(PMPI_Wait(&own, &status));
        EXPECT(theirs == mine && status.MPI_TAG == TAG + 1,
               "the program's receive from MPI_ANY_SOURCE has tag %d and the value %d", status.MPI_TAG,
               theirs);
        close_message(&one);
    }
}

static void users_equal_tag(void) {
    message one = open_message(4, 2, 40, TAG);
    for (int seed = 0; seed < 5; seed++) {
        int mine = 4711 + seed, theirs = 0;
        start(&one, seed);
        MUST(MPI_Sendrecv(&mine, 1, MPI_INT, world.peer, TAG, &theirs, 1, MPI_INT, world.peer, TAG,
                          world.comm, MPI_STATUS_IGNORE));
        ready_all(&one, seed);
        complete(&one);
        EXPECT(theirs == mine, "the program's message of equal tag has the value %d", theirs);
        expect_message(&one, seed);
    }
    close_message(&one);
}

static void both_directions(void) {
    for (int seed = 0; seed < 5; seed++) {
        message out = open_request(1, 4, 10, world.peer, TAG, world.comm);
        message in = open_request(0, 4, 10, world.peer, TAG, world.comm);
        start(&out, seed + world.rank);
        start(&in, seed);
        ready_all(&out, seed + world.rank);
        complete(&in);
        complete(&out);
        expect_message(&in, seed + world.peer);
        close_message(&out);
        close_message(&in);
    }
}

/* Each side initialises and sends a message of its own before the other side initialises. */
static void initialisation_is_local(void) {
    for (int first = 0; first < 2; first++) {
        message one = {0};
        int token = first;
        if (world.rank == first)
            one = open_message(4, 4, 40, TAG);
        if (world.rank == first)
            MUST(MPI_Send(&token, 1, MPI_INT, world.peer, 1, world.comm));
        else
            MUST(MPI_Recv(&token, 1, MPI_INT, world.peer, 1, world.comm, MPI_STATUS_IGNORE));
        if (world.rank != first)
            one = open_message(4, 4, 40, TAG);
        transfer(&one, first);
        close_message(&one);
    }
}

/* The send is started, and its partitions are ready, before the receive is initialised. */
static void ready_before_receive(void) {
    for (int seed = 0; seed < 3; seed++) {
        message one = {0};
        int token = 0;
        if (world.rank == 0) {
            one = open_message(4, 4, 4000, TAG);
            start(&one, seed);
            ready_all(&one, seed);
            MUST(MPI_Send(&token, 1, MPI_INT, 1, 1, world.comm));
        } else {
            MUST(MPI_Recv(&token, 1, MPI_INT, 0, 1, world.comm, MPI_STATUS_IGNORE));
            one = open_message(4, 4, 4000, TAG);
            start(&one, seed);
        }
        complete(&one);
        expect_message(&one, seed);
        close_message(&one);
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
