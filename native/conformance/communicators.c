/* SPDX-License-Identifier: BSD-3-Clause */
/** @file communicators.c  Other communicators than a duplicate of MPI_COMM_WORLD; self and null process. */
#include "conformance/message.h"

enum { TAG = 3 };

static void duplicates_are_separate(void) {
    MPI_Comm other_comm;
    MUST(MPI_Comm_dup(world.comm, &other_comm));
    ATTACH(other_comm);
    message here = open_message(4, 4, 40, TAG);
    message there = open_request(world.rank == 0, 4, 10, world.peer, TAG, other_comm);
    for (int seed = 0; seed < 3; seed++) {
        start(&there, seed + 50);
        start(&here, seed);
        ready_all(&here, seed);
        ready_all(&there, seed + 50);
        complete(&here);
        complete(&there);
        expect_message(&here, seed);
        expect_message(&there, seed + 50);
    }
    close_message(&here);
    close_message(&there);
    MUST(MPI_Comm_free(&other_comm));
}

/* The processes have the other's rank. */
static void split_communicators(void) {
    MPI_Comm reversed_comm;
    MUST(MPI_Comm_split(world.comm, 0, -world.rank, &reversed_comm));
    ATTACH(reversed_comm);
    message msg = open_request(world.rank == 0, 4, 10, world.rank, TAG, reversed_comm);
    for (int seed = 0; seed < 3; seed++)
        transfer(&msg, seed);
    close_message(&msg);
    MUST(MPI_Comm_free(&reversed_comm));
}

static void intercommunicators(void) {
    MPI_Comm inter;
    MUST(MPI_Intercomm_create(MPI_COMM_SELF, 0, world.comm, world.peer, 1, &inter));
    ATTACH(inter);
    message msg = open_request(world.rank == 0, 4, 10, 0, TAG, inter);
    for (int seed = 0; seed < 3; seed++)
        transfer(&msg, seed);
    close_message(&msg);
    MUST(MPI_Comm_free(&inter));
}

static void send_to_self_over(MPI_Comm comm, int own_rank) {
    message send_msg = open_request(1, 4, 10, own_rank, TAG, comm);
    message receive_msg = open_request(0, 4, 10, own_rank, TAG, comm);
    for (int seed = 0; seed < 3; seed++) {
        start(&receive_msg, seed);
        start(&send_msg, seed);
        ready_all(&send_msg, seed);
        complete(&send_msg);
        complete(&receive_msg);
        expect_message(&receive_msg, seed);
    }
    close_message(&send_msg);
    close_message(&receive_msg);
}

static void send_to_self(void) {
    send_to_self_over(world.comm, world.rank);
    ATTACH(MPI_COMM_SELF);
    send_to_self_over(MPI_COMM_SELF, 0);
}

static void null_processes(void) {
    message send_msg = open_request(1, 2, 5, MPI_PROC_NULL, TAG, world.comm);
    message receive_msg = open_request(0, 2, 5, MPI_PROC_NULL, TAG, world.comm);
    for (int seed = 0; seed < 3; seed++) {
        MPI_Status status = {0};
        start(&send_msg, seed);
        start(&receive_msg, seed);
        ready_all(&send_msg, seed);
        complete(&send_msg);
        MUST(MPI_Wait(&receive_msg.request, &status));
        EXPECT(status.MPI_SOURCE == MPI_PROC_NULL, "the status of the receive has the source %d",
               status.MPI_SOURCE);
        EXPECT(receive_msg.data[0] == -1, "a receive from MPI_PROC_NULL changes the buffer");
    }
    close_message(&send_msg);
    close_message(&receive_msg);
}

const conformance_case communicators_cases[] = {
    {"duplicate", "4.2.3", "Messages on a duplicate of the communicator do not mix.", duplicates_are_separate,
     0},
    {"split", "4.2.3", "Ranks are those of the communicator.", split_communicators, 0},
    {"intercommunicator", "4.2.1", "The communicator may be an inter-communicator.", intercommunicators, 0},
    {"self", "4.2.1", "A process may send to itself.", send_to_self, 0},
    {"null-process", "3.10", "A message to or from MPI_PROC_NULL completes.", null_processes, 0},
    {0},
};
