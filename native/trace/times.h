/* SPDX-License-Identifier: BSD-3-Clause */
/** @file times.h  Clock points: how the file's local times become shared ones. */
#ifndef OFFBEAT_TRACE_TIMES_H
#define OFFBEAT_TRACE_TIMES_H

#include <offbeat/clock.h>

/** Writes what the last sync says of now. */
void offbeat_times_write_now(const offbeat_clock *clock);

/**
 * Synchronises anew, and writes what this says of now, and of the time since @p began_ns where the clock's
 * method remembers. Collective over the clock's communicator.
 */
int offbeat_times_sync(offbeat_clock *clock, int64_t began_ns);

#endif
