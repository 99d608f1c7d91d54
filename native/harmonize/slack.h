/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file slack.h
 * How far ahead the deadline of a start is set:
 * three times the median of what the last starts needed, plus 1 us.
 *
 * The median lets a burst pass (a larger quantile drives the slack to its cap and keeps it there), and comes
 * down again when the burst is over.
 *
 * A slack that is longer than a process may keep its core would stay long by itself: each start then lasts
 * until somebody is descheduled, which is what the next start needs. So beyond some length (the patience) the
 * slack is at most ten times the smallest need: what all starts need is the messages' doing, what some need
 * is the scheduler's. All times in nanoseconds; no communication happens here.
 */
#ifndef OFFBEAT_HARMONIZE_SLACK_H
#define OFFBEAT_HARMONIZE_SLACK_H

#include <stdint.h>

/** How many needs are remembered: ten starts after a burst nothing of it is. */
enum { OFFBEAT_SLACK_WINDOW = 9 };

/** What the last starts needed: the time from the choice of the deadline until the last process knew it. */
typedef struct offbeat_slack {
    int64_t needs_ns[OFFBEAT_SLACK_WINDOW];
    int count; /**< needs remembered */
    int next;  /**< place of the next need */
    int64_t floor_ns, patience_ns, cap_ns;
} offbeat_slack;

/** A slack that remembers nothing yet and never leaves the range from floor to cap. */
void offbeat_slack_init(offbeat_slack *slack, int64_t floor_ns, int64_t patience_ns, int64_t cap_ns);

/** Remembers one need and forgets the oldest when there are too many. A negative need counts as 0. */
void offbeat_slack_learn(offbeat_slack *slack, int64_t need_ns);

/** The slack for the next start; the cap while nothing is remembered. */
int64_t offbeat_slack_ns(const offbeat_slack *slack);

#endif
