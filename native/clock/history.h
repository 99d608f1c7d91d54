/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file history.h
 * The constraints on a clock that are kept from one synchronisation to the next: the tightest few of each
 * age, upper and lower ones, and the midpoint of each synchronisation.
 *
 * A constraint is one half of an exchange: at local time at_ns the shared clock minus the local one was at
 * most (or at least) limit_ns. Dropping a constraint never makes an error bound wrong, only wider. The older
 * a constraint is, the less it restricts, as the drift may have changed since; a fixed number is therefore
 * kept for each doubling of the age.
 */
#ifndef OFFBEAT_CLOCK_HISTORY_H
#define OFFBEAT_CLOCK_HISTORY_H

#include "clock/exchange.h"
#include "clock/model.h"

#include <stdint.h>

/** Constraints kept on each side, and how many of them for each doubling of the age. */
enum { OFFBEAT_MOST_CONSTRAINTS = 96, OFFBEAT_CONSTRAINTS_PER_AGE = 3 };

typedef struct offbeat_clock_constraint {
    int64_t at_ns, limit_ns;
    int64_t serial;        /**< increases over both sides; local time does not, when a clock is set back */
    double uncertainty_ns; /**< distance to the estimate at the time of the exchange: smaller is tighter */
} offbeat_clock_constraint;

/** Constraints of one side, oldest first. */
typedef struct offbeat_clock_constraints {
    int count;
    offbeat_clock_constraint entries[OFFBEAT_MOST_CONSTRAINTS];
} offbeat_clock_constraints;

/** Zero-initialised: empty. */
typedef struct offbeat_clock_history {
    offbeat_clock_constraints upper_constraints, lower_constraints;
    offbeat_clock_constraints midpoints; /**< one per synchronisation; uncertainty: its mean round trip */
    int64_t next_serial;
} offbeat_clock_history;

/**
 * Adds both constraints of an exchange whose error covers the resolution of both clocks.
 * @param offset_ns the estimated offset at the time of the exchange, from which the uncertainty is measured
 */
void offbeat_clock_history_add(offbeat_clock_history *history, const offbeat_clock_exchange *exchange,
                               int64_t offset_ns);

/** Adds the midpoint of a synchronisation, after its constraints were added. */
void offbeat_clock_history_add_midpoint(offbeat_clock_history *history, offbeat_clock_midpoint midpoint);

/** Drops all but the tightest few constraints of each age and the latest one. */
void offbeat_clock_history_prune(offbeat_clock_history *history, int64_t now_ns);

/**
 * The polygon of all lines that the constraints allow, relative to local time @p at_ns and offset
 * @p offset_ns. A constraint that contradicts all newer ones is dropped, with everything older than it.
 * @param history holds at least one exchange
 * @param[out] polygon never empty
 * @return 1 when constraints contradicted each other and some were dropped, else 0
 */
int offbeat_clock_history_polygon(offbeat_clock_history *history, int64_t at_ns, int64_t offset_ns,
                                  offbeat_clock_polygon *polygon);

/**
 * The most likely line: weighted least squares through the midpoints, confined to the polygon.
 *
 * Where both directions take the same time, the midpoint of a fast exchange is much closer to the true offset
 * than its constraints prove, and closer than the polygon's centroid. Where they do not, all midpoints are
 * off by the same amount, so that the slope is still right. A midpoint has less weight the longer its round
 * trip and the greater its age. The centroid's slope acts as a prior whose weight follows from the range of
 * slopes in the polygon.
 * @param polygon the result of offbeat_clock_history_polygon for the same time and offset
 */
offbeat_clock_line offbeat_clock_history_line(const offbeat_clock_history *history, int64_t at_ns,
                                              int64_t offset_ns, const offbeat_clock_polygon *polygon);

#endif
