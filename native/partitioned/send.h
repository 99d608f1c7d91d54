/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file send.h
 * The sender's side: setup, marking partitions, messages.
 */
#ifndef OFFBEAT_PARTITIONED_SEND_H
#define OFFBEAT_PARTITIONED_SEND_H

#include "partitioned/request.h"
#include "partitioned/settings.h"

/** Decides messages, tags and lanes, and sends the setup. Local. @return an MPI error code, or
 * OFFBEAT_PARTITIONED_NO_TAGS */
int offbeat_partitioned_send_init(offbeat_partitioned_request *send,
                                  const offbeat_partitioned_send_settings *settings);

/** Begins an iteration. */
void offbeat_partitioned_send_start(offbeat_partitioned_request *send);

/** Marks a partition, and takes the mark back. @return 0 when it was marked before in this iteration */
int offbeat_partitioned_send_mark(offbeat_partitioned_request *send, int partition);
void offbeat_partitioned_send_unmark(offbeat_partitioned_request *send, int partition);

/** Counts a marked partition; sends the message that it completes. */
void offbeat_partitioned_send_count(offbeat_partitioned_request *send, int partition);

/** Tests the messages of the current iteration and the receiver's answer. The caller entered the request. */
void offbeat_partitioned_send_progress(offbeat_partitioned_request *send);

/** Whether MPI is done with a freed request. The caller entered it. */
int offbeat_partitioned_send_is_idle(offbeat_partitioned_request *send);

#endif
