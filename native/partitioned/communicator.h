/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file communicator.h
 * The state of an attached communicator: its private communicators, and their tags.
 */
#ifndef OFFBEAT_PARTITIONED_COMMUNICATOR_H
#define OFFBEAT_PARTITIONED_COMMUNICATOR_H

#include "partitioned/matching.h"
#include "partitioned/tags.h"

#include <mpi.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

enum { OFFBEAT_PARTITIONED_MOST_LANES = 64 };

typedef struct offbeat_partitioned_comm {
    _Atomic MPI_Comm user; /**< MPI_COMM_NULL after it was freed */
    /** The state that owns the private communicators, the tags and the matching; this one if it was attached.
     */
    struct offbeat_partitioned_comm *root;
    int64_t identity; /**< of the user's communicator among those with equal root; 0: the attached one */
    int *root_ranks;  /**< ranks of the peers in the private communicators; NULL: the same */
    offbeat_partitioned_matching matching;          /**< of the root */
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
    struct offbeat_partitioned_comm *previous, *next; /**< in the list of all */
} offbeat_partitioned_comm;

/** A state with one user, which owns nothing yet; NULL without memory. */
offbeat_partitioned_comm *offbeat_partitioned_comm_create(MPI_Comm user);

/** Frees a state that is not in the list, with the private communicators that it owns. */
void offbeat_partitioned_comm_destroy(offbeat_partitioned_comm *state);

/** Lists a complete state, which exists until its last user released it. */
void offbeat_partitioned_comm_add(offbeat_partitioned_comm *state);

/** Becomes one more user of a listed state. */
void offbeat_partitioned_comm_use(offbeat_partitioned_comm *state);
void offbeat_partitioned_comm_release(offbeat_partitioned_comm *state);

/** The first state (state is NULL) or the next one, with the caller as its user; releases the given state. */
offbeat_partitioned_comm *offbeat_partitioned_comm_next(offbeat_partitioned_comm *state);

/** An attached communicator that was not freed; MPI_COMM_NULL if there is none. */
MPI_Comm offbeat_partitioned_attached_comm(void);

/** All tags are in use. */
enum { OFFBEAT_PARTITIONED_NO_TAGS = -2 };

/** Takes a block of tags of this process. @return an MPI error code or OFFBEAT_PARTITIONED_NO_TAGS */
int offbeat_partitioned_comm_take_tags(offbeat_partitioned_comm *state, int count,
                                       offbeat_partitioned_tag_block *block);

/** Gives a block back; does nothing for a block that was not taken (count is 0). */
void offbeat_partitioned_comm_give_tags_back(offbeat_partitioned_comm *state,
                                             offbeat_partitioned_tag_block *block);

#endif
