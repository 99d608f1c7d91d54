/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file receive.h
 * The receiver's side: matching, receiving messages, partitions that arrived.
 */
#ifndef OFFBEAT_PARTITIONED_RECEIVE_H
#define OFFBEAT_PARTITIONED_RECEIVE_H

#include "partitioned/matching.h"
#include "partitioned/messages.h"
#include "partitioned/pair.h"
#include "partitioned/request.h"

/** A receive. Only receive.c changes it. */
typedef struct offbeat_partitioned_receive {
    offbeat_partitioned_request head; /**< the first member */
    offbeat_partitioned_pair pair;
    offbeat_partitioned_messages messages;
    offbeat_partitioned_expectation expectation;
    int is_matched;        /**< the sender's setup is known and was read */
    atomic_int owes_reply; /**< it is matched, and the reply to the setup was not sent */
    int lasting_failure;   /**< MPI error code: all further iterations fail */
    char *staging;         /**< receives the messages if they end inside elements of the receiver */
    char *drain;           /**< receives the messages of a refused sender */

    /* The current iteration. */
    atomic_uint posted_stamp; /**< of the iteration whose messages can be received */
    int arrived_count;        /**< messages of this iteration, with the announcement */
    int first_open;           /**< the messages before this one arrived, or ended with an error */
    int64_t times_ns[OFFBEAT_PARTITIONED_TRIALS]; /**< when the data of each trial had arrived */
} offbeat_partitioned_receive;

extern const offbeat_partitioned_operations offbeat_partitioned_receive_operations;

/** Posts the receive of the sender's setup for a request of this kind. Local. @return an MPI error code */
int offbeat_partitioned_receive_init(offbeat_partitioned_request *request, int source, int tag);

#endif
