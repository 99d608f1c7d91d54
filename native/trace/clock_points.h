/* SPDX-License-Identifier: BSD-3-Clause */
/** @file clock_points.h  Clock points, by which readers convert local times of the file to the shared clock.
 */
#ifndef OFFBEAT_TRACE_CLOCK_POINTS_H
#define OFFBEAT_TRACE_CLOCK_POINTS_H

#include <offbeat/clock.h>

/** Writes a clock point of now, from the last synchronisation. */
void offbeat_tracer_write_clock_point(const offbeat_clock *clock);

/**
 * Synchronises the clocks again and writes a clock point of now; where the clock's method stores its
 * constraints, also of the time since @p began_ns. Collective over the clock's communicator.
 */
int offbeat_tracer_resync(offbeat_clock *clock, int64_t began_ns);

#endif
