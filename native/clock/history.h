/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file history.h
 * The limits that are worth remembering: the tightest few of each age, from below and from above.
 *
 * A limit is one half of an exchange: at local time at_ns the shared clock minus the local one was not above
 * (or not below) limit_ns. Forgetting one never makes a bound wrong, only wider. Old ones count less and
 * less, as the rate may have changed since; so the memory is shared out by age, a few to each doubling of it.
 */
#ifndef OFFBEAT_CLOCK_HISTORY_H
#define OFFBEAT_CLOCK_HISTORY_H

#include "clock/exchange.h"
#include "clock/polygon.h"
#include "clock/quickest.h"

#include <stdint.h>

/** Limits remembered on each side; those of an age that doubled: three. */
enum { OFFBEAT_MOST_LIMITS = 96, OFFBEAT_LIMITS_OF_AN_AGE = 3 };

typedef struct offbeat_limit {
    int64_t at_ns, limit_ns;
    int64_t serial;      /**< grows from limit to limit of both sides; local time may be set back */
    double looseness_ns; /**< distance from the line believed when it was new: small ones say more */
} offbeat_limit;

/** Limits of one side, oldest first. */
typedef struct offbeat_limits {
    int count;
    offbeat_limit limits[OFFBEAT_MOST_LIMITS];
} offbeat_limits;

/** Zeroed: nothing is known. */
typedef struct offbeat_history {
    offbeat_limits above, below;
    offbeat_limits middles; /**< of the quickest exchanges of each sync; looseness: their round trip */
    int64_t next_serial;
} offbeat_history;

/**
 * Remembers both halves of an exchange, whose error covers how far readings of both clocks can be off.
 * @param middle_ns the shared minus the local clock as it is believed to be around this exchange, which tells
 * tight limits from loose ones
 */
void offbeat_history_add(offbeat_history *history, const offbeat_exchange *exchange, int64_t middle_ns);

/** Remembers the middle of a sync's quickest exchanges. Call it after its limits were added. */
void offbeat_history_add_middle(offbeat_history *history, offbeat_middle middle);

/** Forgets all but the tightest few of each age, and the last one added. */
void offbeat_history_thin(offbeat_history *history, int64_t now_ns);

/**
 * The lines that all remembered limits allow, counted from local time @p at_ns and from @p offset_ns. Limits
 * older than one that contradicts all newer ones are forgotten, and that one too.
 * @param history holds at least one exchange
 * @param[out] polygon never empty
 * @return 1 where that happened, else 0
 */
int offbeat_history_lines(offbeat_history *history, int64_t at_ns, int64_t offset_ns,
                          offbeat_polygon *polygon);

/**
 * The likeliest of the possible lines: least squares through the remembered middles, confined to the polygon.
 *
 * Where the ways there and back take the same time, the middle of a quick exchange is much closer to the
 * truth than its limits tell, and closer than the polygon's centroid; where they don't, all middles are off
 * by the same, which leaves the slope right. A middle counts less the slower its exchange was, and the older
 * it is, as the rate may have changed. The slope is drawn to the centroid's as far as the polygon leaves it
 * open.
 * @param polygon what offbeat_history_lines said of the same moment and offset
 */
offbeat_line offbeat_history_line(const offbeat_history *history, int64_t at_ns, int64_t offset_ns,
                                  const offbeat_polygon *polygon);

#endif
