/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file pair.h
 * What a send and a receive have in common as the two sides of a pair: who the other side is, and what the
 * receiver tells the sender. The sender's setup is in matching.h.
 */
#ifndef OFFBEAT_PARTITIONED_PAIR_H
#define OFFBEAT_PARTITIONED_PAIR_H

#include "partitioned/communicator.h"
#include "partitioned/layout.h"

#include <mpi.h>
#include <stdint.h>

/** From receiver to sender: whether it accepted the setup; later, when the trials of a learned number of
 * messages ended, the times at which their data had arrived. */
enum {
    OFFBEAT_PARTITIONED_IS_ACCEPTED,
    OFFBEAT_PARTITIONED_TIMES,
    OFFBEAT_PARTITIONED_REPLY_LENGTH = OFFBEAT_PARTITIONED_TIMES + OFFBEAT_PARTITIONED_TRIALS
};

/** One side. Requests of MPI outlive the user's request: it is destroyed when they are complete. */
typedef struct offbeat_partitioned_pair {
    int is_null;        /**< the peer is MPI_PROC_NULL */
    int user_peer, tag; /**< as the caller gave them */
    int peer;           /**< its rank in the private communicators */
    int64_t reply[OFFBEAT_PARTITIONED_REPLY_LENGTH];
    MPI_Request reply_request;
} offbeat_partitioned_pair;

static inline void offbeat_partitioned_pair_init(offbeat_partitioned_pair *pair,
                                                 const offbeat_partitioned_comm *comm, int peer, int tag) {
    pair->is_null = peer == MPI_PROC_NULL;
    pair->user_peer = peer;
    pair->tag = tag;
    pair->peer = pair->is_null || comm->root_ranks == NULL ? peer : comm->root_ranks[peer];
    pair->reply_request = MPI_REQUEST_NULL;
}

/** The tag of the replies to the request whose messages begin with a tag, in a range of its own on lane 0. */
static inline int offbeat_partitioned_reply_tag(const offbeat_partitioned_comm *comm, int first_tag) {
    return first_tag + comm->root->tags.largest + 1;
}

#endif
