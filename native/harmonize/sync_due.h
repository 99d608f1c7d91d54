/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file sync_due.h
 * When the clocks behind a start are synchronised anew. All times in nanoseconds; no communication happens
 * here.
 *
 * Not after a missed start: that says something about a process or a message, nothing about the clocks. Not
 * after a fixed time: how fast a clock becomes uncertain is what its bound tells.
 */
#ifndef OFFBEAT_HARMONIZE_SYNC_DUE_H
#define OFFBEAT_HARMONIZE_SYNC_DUE_H

#include <stdint.h>

/**
 * Whether a bound has grown so much since the last sync that a new one would help: beyond twice what the sync
 * achieved, plus 500 ns, below which a start is limited by other things. A bound of 0 never grows: a shared
 * physical clock needs no sync.
 */
int offbeat_sync_helps(int64_t bound_after_sync_ns, int64_t bound_now_ns);

/** Whether another sync keeps the time spent in them at or below 5%, given the last one's age and length. */
int offbeat_sync_is_affordable(int64_t age_ns, int64_t length_ns);

#endif
