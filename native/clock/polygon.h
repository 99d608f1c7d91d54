/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file polygon.h
 * All lines (offset, slope) that a clock can have: a convex polygon, cut smaller by every limit.
 *
 * A line stands for the shared clock minus the local one as a function of the time since a moment that the
 * user of the polygon remembers: offset + slope x elapsed, in nanoseconds and nanoseconds a nanosecond.
 */
#ifndef OFFBEAT_CLOCK_POLYGON_H
#define OFFBEAT_CLOCK_POLYGON_H

/** A cut that would make more corners is left out, which only makes the polygon larger. */
enum { OFFBEAT_MOST_CORNERS = 24 };

typedef struct offbeat_line {
    double offset_ns, slope;
} offbeat_line;

typedef struct offbeat_polygon {
    int count; /**< at least 1 */
    offbeat_line corners[OFFBEAT_MOST_CORNERS];
} offbeat_polygon;

/** All lines with an offset in a range and a slope within the drift limit. */
offbeat_polygon offbeat_polygon_box(double low_ns, double high_ns);

/** Leaves the lines whose value at @p elapsed_ns is at most @p limit_ns.
 * @return 1, or 0 where none would be left: then nothing changes */
int offbeat_polygon_cut_above(offbeat_polygon *polygon, double elapsed_ns, double limit_ns);

/** Leaves the lines whose value at @p elapsed_ns is at least @p limit_ns.
 * @return 1, or 0 where none would be left: then nothing changes */
int offbeat_polygon_cut_below(offbeat_polygon *polygon, double elapsed_ns, double limit_ns);

/** The centre of gravity of its area; of its corners where the area is next to nothing. Not for an empty one.
 */
offbeat_line offbeat_polygon_centroid(const offbeat_polygon *polygon);

/** Half of the range that its slopes have. */
double offbeat_polygon_slopes(const offbeat_polygon *polygon);

/** The given line where it is possible; else the possible line that is nearest to it on the way from the
 * centroid. */
offbeat_line offbeat_polygon_confined(const offbeat_polygon *polygon, offbeat_line line);

/** The largest distance of any of its lines from a given one at @p elapsed_ns, in nanoseconds. */
double offbeat_polygon_reach(const offbeat_polygon *polygon, offbeat_line line, double elapsed_ns);

#endif
