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

/** Claims a partition for a call that marks several, and takes the claim back. @return 0 if it was claimed or
 * marked before in this iteration */
int offbeat_partitioned_send_claim(offbeat_partitioned_request *send, int partition);
void offbeat_partitioned_send_unclaim(offbeat_partitioned_request *send, int partition);

/** Sends a message whose partitions are all ready. */
void offbeat_partitioned_send_message(offbeat_partitioned_request *send, int message);

/** offbeat_partitioned_send_mark for any message and any thread. */
int offbeat_partitioned_send_mark_any(offbeat_partitioned_request *send, int partition);

/** Marks a partition, and sends the message that it completes. One update of a word shows a second mark and
 * counts the partition. @return 0 if it was marked before in this iteration */
static inline int offbeat_partitioned_send_mark(offbeat_partitioned_request *send, int partition) {
    const int message = send->first_of[partition];
    const uint64_t bit = offbeat_partitioned_bit(partition), all = send->message[message].bits;
    if (all == 0 || (send->is_threaded && !offbeat_partitioned_owner_enter(&send->owner)))
        return offbeat_partitioned_send_mark_any(send, partition);
    const uint64_t before =
        offbeat_partitioned_set_bits(&send->ready[partition / OFFBEAT_PARTITIONED_WORD_BITS], bit, 0);
    /* Until the owner leaves, no other thread can mark a partition, and so complete and free the request. */
    if (send->is_threaded)
        offbeat_partitioned_owner_leave(&send->owner);
    if (before & bit)
        return 0;
    if (((before | bit) & all) == all)
        offbeat_partitioned_send_message(send, message);
    return 1;
}

/** Tests the messages of the current iteration and the receiver's answer. The caller entered the request. */
void offbeat_partitioned_send_progress(offbeat_partitioned_request *send);

/** Whether MPI is done with a freed request. The caller entered it. */
int offbeat_partitioned_send_is_idle(offbeat_partitioned_request *send);

#endif
