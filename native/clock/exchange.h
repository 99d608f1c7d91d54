/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file exchange.h
 * One ping-pong exchange between a client and its reference process, and what a series of exchanges shows
 * about the clock offset: the interval that must contain it, the midpoint of the exchanges with the shortest
 * round trips, and a fitted line.
 *
 * In an exchange the client reads its local clock (a) and sends; the reference process answers with the
 * shared time b and the error bound e of that time; the client receives and reads its local clock (c). The
 * offset (shared minus client's local clock) was therefore at most b + e - a at a, and at least b - e - c at
 * c. As e bounds the error against rank 0's own clock, both constraints stay true when the reference process
 * corrects its estimate later.
 *
 * All times are in nanoseconds. Nothing here communicates.
 */
#ifndef OFFBEAT_CLOCK_EXCHANGE_H
#define OFFBEAT_CLOCK_EXCHANGE_H

#include "clock/model.h"

#include <stdint.h>

typedef struct offbeat_clock_exchange {
    int64_t sent_ns;           /**< a: client's local time before sending */
    int64_t answered_ns;       /**< b: shared time at which the reference process answered */
    int64_t answered_error_ns; /**< e: error bound of b */
    int64_t answered_local_ns; /**< local time of the reference process at b */
    int64_t received_ns;       /**< c: client's local time after receiving */
} offbeat_clock_exchange;

/** The time from sending to receiving on the client's clock. */
int64_t offbeat_clock_round_trip_ns(const offbeat_clock_exchange *exchange);

/* --- the interval that contains the offset --- */

/**
 * The largest lower and the smallest upper limit of the offset (SKaMPI, Worsch et al. 2002). Unlike in
 * SKaMPI, the interval is kept and widens by the drift that is possible in the meantime.
 */
typedef struct offbeat_clock_interval {
    int64_t low_ns, low_at_ns;   /**< lower limit, and the local time at which it held */
    int64_t high_ns, high_at_ns; /**< upper limit, and the local time at which it held */
    int exchanges;               /**< number of exchanges taken into account; 0: the interval is unknown */
} offbeat_clock_interval;

/**
 * Takes an exchange into account. An exchange that contradicts all earlier ones (a clock was set, or drifts
 * beyond the limit) replaces them.
 * @return non-zero when the interval became narrower by more than 2%, or was replaced
 */
int offbeat_clock_interval_narrow(offbeat_clock_interval *interval, const offbeat_clock_exchange *exchange);

/** The interval at local time @p at_ns. At least one exchange must have been taken into account. */
void offbeat_clock_interval_at(const offbeat_clock_interval *interval, int64_t at_ns, int64_t *low_ns,
                               int64_t *high_ns);

/* --- the exchanges with the shortest round trips --- */

enum { OFFBEAT_MOST_MIN_RTT = 24 };

/**
 * The exchanges with the shortest round trips of a series. A disturbed exchange takes longer; the undisturbed
 * ones differ by little, and the mean of several is closer to the true offset than any one. Zeroed: none.
 */
typedef struct offbeat_clock_min_rtt {
    int total_count; /**< exchanges in the series */
    int count;
    offbeat_clock_exchange exchanges[OFFBEAT_MOST_MIN_RTT]; /**< sorted, the shortest round trip first */
} offbeat_clock_min_rtt;

/** The offset (shared minus local clock) under the assumption that both directions take the same time. */
typedef struct offbeat_clock_midpoint {
    int64_t at_ns, offset_ns, round_trip_ns;
} offbeat_clock_midpoint;

/** Adds an exchange of the series. */
void offbeat_clock_min_rtt_add(offbeat_clock_min_rtt *min_rtt, const offbeat_clock_exchange *exchange);

/** The mean midpoint of the faster half of the series, of at most OFFBEAT_MOST_MIN_RTT exchanges. The series
 * must not be empty. */
offbeat_clock_midpoint offbeat_clock_min_rtt_midpoint(const offbeat_clock_min_rtt *min_rtt);

/* --- the fitted line --- */

/** A least-squares line through several fit points (HCA3, JK). A fit point is the fastest of several
 * consecutive exchanges. Initialise exchanges_per_point, zero everything else. */
typedef struct offbeat_clock_fit {
    int exchanges_per_point;
    int exchanges;                  /**< exchanges of the unfinished fit point */
    offbeat_clock_exchange fastest; /**< the fastest of those */
    int points;
    int64_t at_ns, offset_ns; /**< the first fit point: the origin of the sums */
    double sum_x, sum_y, sum_xx, sum_xy;
} offbeat_clock_fit;

/** Adds an exchange; every exchanges_per_point exchanges complete a fit point. */
void offbeat_clock_fit_add(offbeat_clock_fit *fit, const offbeat_clock_exchange *exchange);

/**
 * The line through all complete fit points, or through the fastest exchange when no point is complete,
 * relative to local time @p at_ns and offset @p offset_ns. Its slope is within the drift limit.
 */
offbeat_clock_line offbeat_clock_fit_line(const offbeat_clock_fit *fit, int64_t at_ns, int64_t offset_ns);

#endif
