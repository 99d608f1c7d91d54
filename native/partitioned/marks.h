/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file marks.h
 * The partitions that a program marks as ready, of a send or a collective, and the message that the last mark
 * of its partitions completes.
 */
#ifndef OFFBEAT_PARTITIONED_MARKS_H
#define OFFBEAT_PARTITIONED_MARKS_H

#include "partitioned/messages.h"
#include "partitioned/owner.h"
#include "partitioned/request.h"

/** The first member of the kinds of requests whose partitions can be ready. */
typedef struct offbeat_partitioned_marked_request {
    offbeat_partitioned_request head; /**< the first member */
    offbeat_partitioned_messages messages;
    offbeat_partitioned_owner owner; /**< of the ready bits */
    _Atomic uint64_t *ready_bits;    /**< the partitions that were marked in this iteration */
    _Atomic uint64_t *claimed_bits;  /**< those that a call for several partitions marks or has marked */
} offbeat_partitioned_marked_request;

/** Allocates the bits. @return an MPI error code */
int offbeat_partitioned_marks_allocate(offbeat_partitioned_marked_request *request);

void offbeat_partitioned_marks_free(offbeat_partitioned_marked_request *request);

/** Begins an iteration, in which no partition is marked yet. */
void offbeat_partitioned_marks_begin(offbeat_partitioned_marked_request *request);

/** Claims a partition for a call that marks several, and takes the claim back. @return 0 if it was claimed or
 * marked before in this iteration */
int offbeat_partitioned_claim(offbeat_partitioned_marked_request *request, int partition);
void offbeat_partitioned_unclaim(offbeat_partitioned_marked_request *request, int partition);

/** What marking a partition leaves to be done. */
typedef enum offbeat_partitioned_mark {
    OFFBEAT_PARTITIONED_MARK_DONE,   /**< nothing */
    OFFBEAT_PARTITIONED_MARK_TWICE,  /**< the mark is wrong: the partition had one in this iteration */
    OFFBEAT_PARTITIONED_MARK_LAST,   /**< its message must be sent */
    OFFBEAT_PARTITIONED_MARK_MISSING /**< the mark itself, which takes more instructions here */
} offbeat_partitioned_mark;

/** Marks a partition in few instructions if that is possible. One update of a word shows a second mark and
 * counts the partition. Calls no function, so that a caller which does not either saves no register. */
static inline offbeat_partitioned_mark
offbeat_partitioned_try_mark(offbeat_partitioned_marked_request *request, int partition) {
    const offbeat_partitioned_messages *messages = &request->messages;
    const uint64_t bit = offbeat_partitioned_bit(partition),
                   message_bits = messages->message[messages->first_of[partition]].bits;
    if (message_bits == 0 || (request->head.is_threaded && !offbeat_partitioned_owner_enter(&request->owner)))
        return OFFBEAT_PARTITIONED_MARK_MISSING;
    const uint64_t bits_before =
        offbeat_partitioned_set_bits(&request->ready_bits[partition / OFFBEAT_PARTITIONED_WORD_BITS], bit, 0);
    /* Until the owner leaves, no other thread can mark a partition, and so complete and free the request. */
    if (request->head.is_threaded)
        offbeat_partitioned_owner_leave(&request->owner);
    if (bits_before & bit)
        return OFFBEAT_PARTITIONED_MARK_TWICE;
    return ((bits_before | bit) & message_bits) == message_bits ? OFFBEAT_PARTITIONED_MARK_LAST
                                                                : OFFBEAT_PARTITIONED_MARK_DONE;
}

/** Does what offbeat_partitioned_try_mark has left. @return 0 if the partition was marked before in this
 * iteration */
int offbeat_partitioned_finish_mark(offbeat_partitioned_marked_request *request, int partition,
                                    offbeat_partitioned_mark mark);

#endif
