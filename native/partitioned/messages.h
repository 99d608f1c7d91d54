/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file messages.h
 * The messages of a request's iterations: their number, and which of them carries which partitions. Of a
 * collective: its groups of partitions (collective_layout.h).
 */
#ifndef OFFBEAT_PARTITIONED_MESSAGES_H
#define OFFBEAT_PARTITIONED_MESSAGES_H

#include "partitioned/layout.h"
#include "partitioned/request.h"

#include <mpi.h>
#include <stdatomic.h>
#include <stdint.h>

/** From sender to receiver, in iterations that carry an announcement. */
enum {
    OFFBEAT_PARTITIONED_NEXT_MESSAGES,
    OFFBEAT_PARTITIONED_IS_DECIDED,
    OFFBEAT_PARTITIONED_ANNOUNCEMENT_LENGTH
};

/** A message of the current iteration. The stamp is the iteration + 1 in which it was sent or arrived. */
typedef struct offbeat_partitioned_message {
    _Alignas(64) atomic_int open_words; /**< words in which not all of its partitions are ready yet */
    atomic_uint stamp;
    int first, end; /**< the sender's partitions that it carries: first to end - 1 */
    int lane;
    uint64_t bits; /**< of these partitions in their word of ready bits; 0: they are in several words */
    _Atomic(const void *) thread; /**< of a trial: the thread that sent it, */
    int64_t spent_ns;             /**< and how long that took */
} offbeat_partitioned_message;

typedef struct offbeat_partitioned_messages {
    /* The sender's description, on both sides; of a receive, valid when it is matched. */
    int first_tag, first_lane, lane_step;
    int partitions;
    int64_t partition_bytes;
    offbeat_partitioned_plan plan;
    int limit; /**< messages of an iteration */

    /* The current iteration: set by start, or when a receive is matched. */
    int count;
    int has_announcement;    /**< one more message */
    int mapped_count;        /**< the number of messages that first_of and last_of are valid for */
    int capacity;            /**< messages that the following arrays have room for */
    void *block;             /**< the memory of the following arrays */
    int *first_of, *last_of; /**< messages that hold data of each own partition; a send has one for each */
    offbeat_partitioned_message *message;
    MPI_Request *requests; /**< one a message, and one for the announcement; a collective has its own */
    MPI_Status *statuses;  /**< of as many; only the errors in them are used */
    int64_t announcement[OFFBEAT_PARTITIONED_ANNOUNCEMENT_LENGTH];
} offbeat_partitioned_messages;

/** A word holds the bits of 64 partitions. */
enum { OFFBEAT_PARTITIONED_WORD_BITS = 64 };

/** The bit of a partition in its word. */
static inline uint64_t offbeat_partitioned_bit(int partition) {
    return (uint64_t)1 << partition % OFFBEAT_PARTITIONED_WORD_BITS;
}

/** The bits of a message's partitions in one of its words. */
uint64_t offbeat_partitioned_bits_of(const offbeat_partitioned_message *message, int word);

/** Allocates what depends on the largest number of messages, unless there is room; prepares the first
 * iteration. @return an MPI error code */
int offbeat_partitioned_messages_allocate(offbeat_partitioned_messages *messages,
                                          const offbeat_partitioned_request *request);

/** Sets the number of messages of the iteration that begins, and which messages hold which own partitions. */
void offbeat_partitioned_messages_begin(offbeat_partitioned_messages *messages,
                                        const offbeat_partitioned_request *request);

/** How often a process tests its recent messages after all partitions of a message are ready. A test takes
 * 0.1 to 0.2 us: too long to test each short message by itself, but little of the time that a long one needs.
 * With Intel MPI and MPICH 5, several tests are needed: after one alone, long messages often remained where
 * they were until the last partition was ready. */
int offbeat_partitioned_tests_after(const offbeat_partitioned_messages *messages, int message);

/** The messages that are tested together when short ones are sent. */
enum { OFFBEAT_PARTITIONED_RECENT_MESSAGES = 8 };

#endif
