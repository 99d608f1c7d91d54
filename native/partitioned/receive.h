/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file receive.h
 * The receiver's side: matching, receiving messages, partitions that arrived.
 */
#ifndef OFFBEAT_PARTITIONED_RECEIVE_H
#define OFFBEAT_PARTITIONED_RECEIVE_H

#include "partitioned/request.h"

/** Posts the receive of the sender's setup. Local. @return an MPI error code */
int offbeat_partitioned_receive_init(offbeat_partitioned_request *receive);

/** Begins an iteration. Afterwards, receive->posted says whether its messages can be received already. */
void offbeat_partitioned_receive_start(offbeat_partitioned_request *receive);

/** Matches the sender, and tests the messages of the current iteration in their order up to the first that is
 * missing, and those that hold a partition (-1: none). The caller entered the request. */
void offbeat_partitioned_receive_progress(offbeat_partitioned_request *receive, int partition);

/** Whether the messages that hold a partition arrived. Local, without progress. */
int offbeat_partitioned_receive_has(offbeat_partitioned_request *receive, int partition);

/** Whether the messages of the current iteration can be received: the sender's setup is known. */
int offbeat_partitioned_receive_is_posted(const offbeat_partitioned_request *receive);

/** Whether MPI is done with a freed request. The caller entered it. */
int offbeat_partitioned_receive_is_idle(offbeat_partitioned_request *receive);

#endif
