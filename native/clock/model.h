/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file model.h
 * The linear model of the shared clock of one process: the estimated line, and the polygon of all lines that
 * are possible, from which the error bound follows.
 *
 * A line is the difference between the shared and the local clock as a function of the time elapsed since a
 * reference time: offset + slope x elapsed, in nanoseconds and nanoseconds per nanosecond. Each constraint on
 * the difference at one time forbids a half-plane of (offset, slope); the lines that remain possible form a
 * convex polygon.
 */
#ifndef OFFBEAT_CLOCK_MODEL_H
#define OFFBEAT_CLOCK_MODEL_H

#include <stdint.h>

/** A cut that would produce more corners is skipped, which only leaves the polygon larger. */
enum { OFFBEAT_MOST_CORNERS = 24 };

typedef struct offbeat_clock_line {
    double offset_ns, slope;
} offbeat_clock_line;

typedef struct offbeat_clock_polygon {
    int count; /**< at least 1 */
    offbeat_clock_line corners[OFFBEAT_MOST_CORNERS];
} offbeat_clock_polygon;

/** All lines with an offset in a range and a slope within the drift limit. */
offbeat_clock_polygon offbeat_clock_polygon_box(double low_ns, double high_ns);

typedef enum offbeat_clock_side { OFFBEAT_LOWER_SIDE, OFFBEAT_UPPER_SIDE } offbeat_clock_side;

/** Removes the lines whose value at @p elapsed_ns is on one side of @p limit_ns.
 * @return 1, or 0 when no line would remain: then the polygon stays unchanged */
int offbeat_clock_polygon_cut(offbeat_clock_polygon *polygon, double elapsed_ns, double limit_ns,
                              offbeat_clock_side removed_side);

/** The centroid of the polygon's area; the mean of its corners when the area is almost zero. */
offbeat_clock_line offbeat_clock_polygon_centroid(const offbeat_clock_polygon *polygon);

/** Half of the range of slopes in the polygon. */
double offbeat_clock_polygon_half_slope_range(const offbeat_clock_polygon *polygon);

/** @p line itself when it is in the polygon; else the point of the polygon closest to it on the segment from
 * the centroid to @p line. */
offbeat_clock_line offbeat_clock_polygon_confine(const offbeat_clock_polygon *polygon,
                                                 offbeat_clock_line line);

/** The largest distance at @p elapsed_ns between @p line and any line of the polygon, in nanoseconds. */
double offbeat_clock_polygon_max_distance_ns(const offbeat_clock_polygon *polygon, offbeat_clock_line line,
                                             double elapsed_ns);

typedef struct offbeat_clock_model {
    int is_shared;           /**< the local clock is rank 0's physical clock; the other fields are unused */
    int64_t at_ns;           /**< reference time (local) of all lines */
    int64_t offset_ns;       /**< shared minus local clock; the lines' offsets are relative to this */
    int64_t resolution_ns;   /**< largest error of reading the local clock */
    offbeat_clock_line line; /**< the estimate */
    offbeat_clock_polygon possible; /**< never empty */
} offbeat_clock_model;

/** The model of rank 0 and of processes that read rank 0's physical clock. */
offbeat_clock_model offbeat_clock_model_of_root(int64_t at_ns, int64_t resolution_ns);

/** Converts a local time to the shared clock. */
int64_t offbeat_clock_model_global_ns(const offbeat_clock_model *model, int64_t local_ns);

/** The first local time that is not before @p global_ns on the shared clock. */
int64_t offbeat_clock_model_local_ns(const offbeat_clock_model *model, int64_t global_ns);

/** The error bound of offbeat_clock_model_global_ns at a local time; 0 if is_shared. */
int64_t offbeat_clock_model_bound_ns(const offbeat_clock_model *model, int64_t local_ns);

#endif
