/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file communicator.h
 * The private communicators of an attached communicator, and their tags.
 */
#ifndef OFFBEAT_PARTITIONED_COMMUNICATOR_H
#define OFFBEAT_PARTITIONED_COMMUNICATOR_H

#include "partitioned/tags.h"

#include <mpi.h>
#include <pthread.h>
#include <stdatomic.h>

enum { OFFBEAT_PARTITIONED_MOST_LANES = 64 };

typedef struct offbeat_partitioned_comm {
    _Atomic MPI_Comm user; /**< MPI_COMM_NULL after it was freed */
    MPI_Comm
        setup; /**< from sender to receiver, with the user's tag: one message a request, which MPI matches */
    MPI_Comm lanes[OFFBEAT_PARTITIONED_MOST_LANES]; /**< data; on the first one also replies to senders */
    int lane_count;
    int peers;        /**< processes that can be a peer: the remote group of an inter-communicator */
    atomic_int users; /**< the attribute, requests, and the progress thread */
    atomic_uint next_lane;
    int largest_tag; /**< of the program, and of the setup communicator */
    pthread_mutex_t tag_lock;
    offbeat_partitioned_tag_space tags;
    struct offbeat_partitioned_comm *previous, *next; /**< in the list of all */
} offbeat_partitioned_comm;

/** The state of an attached communicator; NULL when it is not attached. Local. The caller does not own it. */
offbeat_partitioned_comm *offbeat_partitioned_comm_of(MPI_Comm comm);

/** Becomes one more user of a state, which exists until its last user released it. */
void offbeat_partitioned_comm_use(offbeat_partitioned_comm *state);
void offbeat_partitioned_comm_release(offbeat_partitioned_comm *state);

/** The first state (state is NULL) or the next one, with the caller as its user; releases the given state. */
offbeat_partitioned_comm *offbeat_partitioned_comm_next(offbeat_partitioned_comm *state);

#endif
