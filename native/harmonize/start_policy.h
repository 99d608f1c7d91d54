/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file start_policy.h
 * The decisions of a harmonised start: how far ahead its deadline is set (the slack), when clocks are
 * synchronised again, whether processes share cores, and the settings from the environment. All times in
 * nanoseconds. Nothing here communicates.
 */
#ifndef OFFBEAT_HARMONIZE_START_POLICY_H
#define OFFBEAT_HARMONIZE_START_POLICY_H

#include <stddef.h>
#include <stdint.h>

/* --- slack --- */

/** Number of needs that are kept: ten starts after a burst of load, none of its needs remains. */
enum { OFFBEAT_HARMONIZE_SLACK_WINDOW = 9 };

/**
 * What the last starts needed: the time from choosing the deadline until the last process received it. The
 * slack is three times the median of these needs, plus 1 us.
 *
 * The median ignores a short burst (a larger quantile would drive the slack to its cap and keep it there) and
 * decreases again after the burst.
 *
 * A slack longer than a scheduler's time slice would sustain itself: each start would last until some process
 * is descheduled, which is then what the next start needs. Beyond long_ns the slack is therefore at most ten
 * times the smallest need: a delay that all starts have is due to messages, a delay that some starts have is
 * due to the scheduler.
 */
typedef struct offbeat_harmonize_slack {
    int64_t needs_ns[OFFBEAT_HARMONIZE_SLACK_WINDOW];
    int count; /**< number of needs */
    int next;  /**< index of the next need */
    int64_t floor_ns, long_ns, cap_ns;
} offbeat_harmonize_slack;

/** Initialises a slack without needs, which stays between floor and cap. */
void offbeat_harmonize_slack_init(offbeat_harmonize_slack *slack, int64_t floor_ns, int64_t long_ns,
                                  int64_t cap_ns);

/** Adds a need, in the place of the oldest one when the window is full. A negative need counts as 0. */
void offbeat_harmonize_slack_add(offbeat_harmonize_slack *slack, int64_t need_ns);

/** The slack of the next start; the cap when there is no need yet. */
int64_t offbeat_harmonize_slack_ns(const offbeat_harmonize_slack *slack);

/* --- resynchronisation --- */

/*
 * A missed start does not cause a resynchronisation: the cause was a process or a message, not a clock.
 * Neither does a fixed period: the error bound shows how quickly a clock becomes uncertain.
 */

/**
 * Whether an error bound has grown so much since the last sync that a new sync would help: beyond twice its
 * value after the sync, plus 500 ns, below which other effects limit a start. A bound of 0 never grows: one
 * physical clock needs no sync.
 */
int offbeat_harmonize_resync_helps(int64_t bound_after_sync_ns, int64_t bound_now_ns);

/** Whether another sync keeps the share of time spent in syncs at 5% or less.
 * @param age_ns    time since the last sync
 * @param length_ns duration of the last sync */
int offbeat_harmonize_resync_is_affordable(int64_t age_ns, int64_t length_ns);

/* --- oversubscription: processes share cores, so that a waiting process must yield its core --- */

/** Length of the affinity mask: 8192 cores. */
enum { OFFBEAT_HARMONIZE_CORE_WORDS = 128 };

/** The affinity mask of a process: the cores on which it may run, one bit each. */
typedef struct offbeat_harmonize_cores {
    uint64_t words[OFFBEAT_HARMONIZE_CORE_WORDS];
} offbeat_harmonize_cores;

/**
 * Whether some of these processes together have fewer cores than processes: for each mask, counts the
 * processes that can run only on its cores. Exact when masks are equal, nested or disjoint, as launchers set
 * them. A process with an empty mask (its affinity is unknown) is ignored.
 */
int offbeat_harmonize_cores_are_oversubscribed(const offbeat_harmonize_cores *processes, int count);

/* --- settings --- */

typedef struct offbeat_harmonize_settings {
    int64_t tolerance_ns; /**< OFFBEAT_HARMONIZE_TOLERANCE_NS, else 1000 */
    int yield;            /**< OFFBEAT_YIELD: 0 or 1, else OFFBEAT_YIELD_IF_OVERSUBSCRIBED */
} offbeat_harmonize_settings;

/**
 * Reads the settings from the environment. An empty variable counts as unset.
 * @param[out] why on failure a sentence; @p bytes long
 * @return 0, or -1 when a variable is invalid
 */
int offbeat_harmonize_settings_read(offbeat_harmonize_settings *settings, char *why, size_t bytes);

#endif
