/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file interval.h
 * Where a clock offset can lie, given the ping-pong exchanges seen so far.
 *
 * An exchange sent at a, answered at b on the remote clock and received at c says: the offset (remote minus
 * local) was at most b - a and at least b - c. The largest lower and the smallest upper bound make the
 * interval (SKaMPI, Worsch et al. 2002); unlike there, the interval is kept, and widens with the drift that
 * is possible since. All times in nanoseconds; no communication happens here.
 */
#ifndef OFFBEAT_CLOCK_INTERVAL_H
#define OFFBEAT_CLOCK_INTERVAL_H

#include "clock/exchange.h"

#include <stdint.h>

/** An offset lies between low_ns (as known at local time low_at_ns) and high_ns (as known at high_at_ns). */
typedef struct offbeat_interval {
    int64_t low_ns, low_at_ns;
    int64_t high_ns, high_at_ns;
    int exchanges; /**< how many were taken in; 0: nothing is known yet */
} offbeat_interval;

/** How far two clocks can drift apart in a time of this length (either sign), rounded up. */
int64_t offbeat_drift_ns(int64_t elapsed_ns);

/**
 * Takes an exchange in. One that contradicts all earlier ones (a clock was set or drifted beyond the
 * allowance) replaces them.
 * @return non-zero when the interval became narrower by more than a fiftieth, or was replaced
 */
int offbeat_interval_narrow(offbeat_interval *interval, const offbeat_exchange *exchange);

/** The interval as it stands at local time @p at_ns. At least one exchange must have been taken in. */
void offbeat_interval_at(const offbeat_interval *interval, int64_t at_ns, int64_t *low_ns, int64_t *high_ns);

#endif
