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

/** What marking a partition leaves to be done. */
typedef enum offbeat_partitioned_mark {
    OFFBEAT_PARTITIONED_MARKED,        /**< nothing */
    OFFBEAT_PARTITIONED_MARKED_BEFORE, /**< the mark is wrong: the partition had one in this iteration */
    OFFBEAT_PARTITIONED_COMPLETED,     /**< its message must be sent */
    OFFBEAT_PARTITIONED_UNMARKED       /**< the mark itself, which takes more instructions here */
} offbeat_partitioned_mark;

/** Marks a partition in few instructions if that is possible. One update of a word shows a second mark and
 * counts the partition. Calls no function, so that a caller which does not either saves no register. */
static inline offbeat_partitioned_mark offbeat_partitioned_send_try_mark(offbeat_partitioned_request *send,
                                                                         int partition) {
    const uint64_t bit = offbeat_partitioned_bit(partition),
                   all = send->message[send->first_of[partition]].bits;
    if (all == 0 || (send->is_threaded && !offbeat_partitioned_owner_enter(&send->owner)))
        return OFFBEAT_PARTITIONED_UNMARKED;
    const uint64_t before =
        offbeat_partitioned_set_bits(&send->ready[partition / OFFBEAT_PARTITIONED_WORD_BITS], bit, 0);
    /* Until the owner leaves, no other thread can mark a partition, and so complete and free the request. */
    if (send->is_threaded)
        offbeat_partitioned_owner_leave(&send->owner);
    if (before & bit)
        return OFFBEAT_PARTITIONED_MARKED_BEFORE;
    return ((before | bit) & all) == all ? OFFBEAT_PARTITIONED_COMPLETED : OFFBEAT_PARTITIONED_MARKED;
}

/** How often a process tests its recent messages after all partitions of a message are ready. A test takes
 * 0.1 to 0.2 us: too long to test each short message by itself, but little of the time that a long one needs.
 * With Intel MPI and MPICH 5, several tests are needed: after one alone, long messages often remained where
 * they were until the last partition was ready. */
int offbeat_partitioned_tests_after(const offbeat_partitioned_request *request, int message);

/** Does what offbeat_partitioned_send_try_mark has left. @return 0 if the partition was marked before in this
 * iteration */
int offbeat_partitioned_send_finish_mark(offbeat_partitioned_request *send, int partition,
                                         offbeat_partitioned_mark mark);

/** Tests the messages of the current iteration and the receiver's answer. The caller entered the request. */
void offbeat_partitioned_send_progress(offbeat_partitioned_request *send);

/** Whether MPI is done with a freed request. The caller entered it. */
int offbeat_partitioned_send_is_idle(offbeat_partitioned_request *send);

#endif
