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
#include <stdint.h>

enum { OFFBEAT_PARTITIONED_MOST_LANES = 64 };

struct offbeat_partitioned_source;
struct offbeat_partitioned_request;

typedef struct offbeat_partitioned_comm {
    _Atomic MPI_Comm user; /**< MPI_COMM_NULL after it was freed */
    /** The state that owns the private communicators, the tags and the matching; this one if it was attached.
     */
    struct offbeat_partitioned_comm *root;
    int64_t identity; /**< of the user's communicator among those with equal root; 0: the attached one */
    int *root_ranks;  /**< ranks of the peers in the private communicators; NULL: the same */
    MPI_Comm setup;   /**< from sender to receiver: one message a request (matching.h) */
    MPI_Comm lanes[OFFBEAT_PARTITIONED_MOST_LANES]; /**< data; on the first one also replies to senders */
    int lane_count;
    int peers;        /**< processes that can be a peer: the remote group of an inter-communicator */
    atomic_int users; /**< the attribute, requests, and the progress thread */
    atomic_uint next_lane;
    int is_threaded;           /**< calls may overlap; see thread_level.h */
    atomic_int owners_allowed; /**< see owner.h */
    int largest_tag;           /**< of the program, and of the setup communicator */
    pthread_mutex_t tag_lock;
    offbeat_partitioned_tag_space tags;
    pthread_mutex_t matching_lock;                    /**< guards the following */
    struct offbeat_partitioned_source *sources;       /**< of receives (matching.h) */
    struct offbeat_partitioned_comm *previous, *next; /**< in the list of all */
} offbeat_partitioned_comm;

/** The state of an attached communicator; NULL when it is not attached. Local. The caller does not own it. */
offbeat_partitioned_comm *offbeat_partitioned_comm_of(MPI_Comm comm);

/**
 * Lets a communicator use the private communicators of an attached one, whose processes include all of its
 * processes. Local; does nothing if the communicator is attached already. Errors are raised on it.
 * @param identity not 0; equal on all processes of the communicator, and different from those of all other
 *                 communicators in which two of its processes are peers
 */
int offbeat_partitioned_attach_to(MPI_Comm comm, MPI_Comm attached, int64_t identity);

/** Becomes one more user of a state, which exists until its last user released it. */
void offbeat_partitioned_comm_use(offbeat_partitioned_comm *state);
void offbeat_partitioned_comm_release(offbeat_partitioned_comm *state);

/** The first state (state is NULL) or the next one, with the caller as its user; releases the given state. */
offbeat_partitioned_comm *offbeat_partitioned_comm_next(offbeat_partitioned_comm *state);

#endif
