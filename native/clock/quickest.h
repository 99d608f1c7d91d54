/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file quickest.h
 * The quickest exchanges of a lesson, and what their middles say together.
 *
 * An exchange met by a disturbance took longer; the quick ones differ by little, and a mean of some of them
 * is closer to the truth than any one.
 */
#ifndef OFFBEAT_CLOCK_QUICKEST_H
#define OFFBEAT_CLOCK_QUICKEST_H

#include "clock/exchange.h"

enum { OFFBEAT_MOST_QUICKEST = 24 };

/** Zeroed: none. */
typedef struct offbeat_quickest {
    int seen; /**< exchanges in all */
    int count;
    offbeat_exchange exchanges[OFFBEAT_MOST_QUICKEST]; /**< the quickest first */
} offbeat_quickest;

/** The offset (shared minus local clock) if both ways took the same time, and when; nanoseconds. */
typedef struct offbeat_middle {
    int64_t at_ns, offset_ns, round_trip_ns;
} offbeat_middle;

/** Takes an exchange in. */
void offbeat_quickest_add(offbeat_quickest *quickest, const offbeat_exchange *exchange);

/** The mean of the quickest half, at most of as many as are remembered, at least of one: there must be one.
 */
offbeat_middle offbeat_quickest_middle(const offbeat_quickest *quickest);

#endif
