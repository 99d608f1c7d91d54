/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file exchange.h
 * One ping-pong of a process that learns the shared clock (a, c) with one that knows it (b +- e).
 *
 * It says: the shared clock minus the learner's was at most b + e - a at a, and at least b - e - c at c. As e
 * bounds the error against rank 0's clock itself, this stays true for ever, also when the teacher later
 * thinks otherwise.
 */
#ifndef OFFBEAT_CLOCK_EXCHANGE_H
#define OFFBEAT_CLOCK_EXCHANGE_H

#include <stdint.h>

/** All in nanoseconds. */
typedef struct offbeat_exchange {
    int64_t sent_ns;           /**< a: the learner's local time before it sent */
    int64_t answered_ns;       /**< b: the shared time when the teacher answered */
    int64_t answered_error_ns; /**< e: how wrong the teacher can be */
    int64_t answered_local_ns; /**< the teacher's local time when it answered */
    int64_t received_ns;       /**< c: the learner's local time after it received */
} offbeat_exchange;

#endif
