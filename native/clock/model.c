/* SPDX-License-Identifier: BSD-3-Clause */
#include "clock/model.h"

#include "clock/limits.h"

/* --- the polygon of possible lines --- */

offbeat_clock_polygon offbeat_clock_polygon_box(double low_ns, double high_ns) {
    offbeat_clock_polygon box = {.count = 4,
                                 .corners = {{low_ns, -OFFBEAT_DRIFT_LIMIT},
                                             {high_ns, -OFFBEAT_DRIFT_LIMIT},
                                             {high_ns, OFFBEAT_DRIFT_LIMIT},
                                             {low_ns, OFFBEAT_DRIFT_LIMIT}}};
    return box;
}

static double value_at(offbeat_clock_line line, double elapsed_ns) {
    return line.offset_ns + line.slope * elapsed_ns;
}

/* The point between two corners at which the excess is zero; the corners' excesses differ in sign. */
static offbeat_clock_line zero_between(offbeat_clock_line start, offbeat_clock_line end, double start_excess,
                                       double end_excess) {
    double share = start_excess / (start_excess - end_excess);
    offbeat_clock_line zero = {start.offset_ns + share * (end.offset_ns - start.offset_ns),
                               start.slope + share * (end.slope - start.slope)};
    return zero;
}

/* Sutherland-Hodgman clipping by a half-plane: keeps the part whose excess is at most 0.
 * @param excess of each corner; some are positive, some are not */
static void clip(offbeat_clock_polygon *polygon, const double *excess) {
    offbeat_clock_line clipped_corners[OFFBEAT_MOST_CORNERS];
    int count = 0;
    for (int i = 0; i < polygon->count; i++) {
        int next = i + 1 < polygon->count ? i + 1 : 0;
        if (count + 2 > OFFBEAT_MOST_CORNERS)
            return;
        if (excess[i] <= 0)
            clipped_corners[count++] = polygon->corners[i];
        if ((excess[i] < 0 && excess[next] > 0) || (excess[i] > 0 && excess[next] < 0))
            clipped_corners[count++] =
                zero_between(polygon->corners[i], polygon->corners[next], excess[i], excess[next]);
    }
    polygon->count = count;
    for (int i = 0; i < count; i++)
        polygon->corners[i] = clipped_corners[i];
}

int offbeat_clock_polygon_cut(offbeat_clock_polygon *polygon, double elapsed_ns, double limit_ns,
                              offbeat_clock_side removed_side) {
    const double sign = removed_side == OFFBEAT_UPPER_SIDE ? 1 : -1;
    double excess[OFFBEAT_MOST_CORNERS];
    int corners_outside = 0;
    for (int i = 0; i < polygon->count; i++) {
        excess[i] = sign * (value_at(polygon->corners[i], elapsed_ns) - limit_ns);
        corners_outside += excess[i] > 0;
    }
    if (corners_outside == polygon->count)
        return 0;
    if (corners_outside > 0) /* most constraints remove nothing */
        clip(polygon, excess);
    return 1;
}

static offbeat_clock_line mean_of_corners(const offbeat_clock_polygon *polygon) {
    offbeat_clock_line mean = {0, 0};
    for (int i = 0; i < polygon->count; i++) {
        mean.offset_ns += polygon->corners[i].offset_ns / polygon->count;
        mean.slope += polygon->corners[i].slope / polygon->count;
    }
    return mean;
}

offbeat_clock_line offbeat_clock_polygon_centroid(const offbeat_clock_polygon *polygon) {
    /* Triangles around the mean of the corners, which lies inside: no large terms cancel. */
    const offbeat_clock_line mean = mean_of_corners(polygon);
    double area = 0, offset_ns = 0, slope = 0;
    for (int i = 0; i < polygon->count; i++) {
        offbeat_clock_line a = polygon->corners[i], b = polygon->corners[(i + 1) % polygon->count];
        a.offset_ns -= mean.offset_ns, a.slope -= mean.slope;
        b.offset_ns -= mean.offset_ns, b.slope -= mean.slope;
        double triangle = a.offset_ns * b.slope - b.offset_ns * a.slope;
        area += triangle;
        offset_ns += triangle * (a.offset_ns + b.offset_ns) / 3;
        slope += triangle * (a.slope + b.slope) / 3;
    }
    if (area < 1e-15) /* a thousandth of a nanosecond by a thousandth of a ppb */
        return mean;
    offbeat_clock_line centroid = {mean.offset_ns + offset_ns / area, mean.slope + slope / area};
    return centroid;
}

double offbeat_clock_polygon_half_slope_range(const offbeat_clock_polygon *polygon) {
    double lowest = polygon->corners[0].slope, highest = lowest;
    for (int i = 1; i < polygon->count; i++) {
        double slope = polygon->corners[i].slope;
        lowest = slope < lowest ? slope : lowest;
        highest = slope > highest ? slope : highest;
    }
    return (highest - lowest) / 2;
}

/* On which side of the edge from a to b a line lies; positive inside, as corners are in counter-clockwise
 * order. */
static double side(offbeat_clock_line a, offbeat_clock_line b, offbeat_clock_line line) {
    return (b.offset_ns - a.offset_ns) * (line.slope - a.slope) -
           (b.slope - a.slope) * (line.offset_ns - a.offset_ns);
}

offbeat_clock_line offbeat_clock_polygon_confine(const offbeat_clock_polygon *polygon,
                                                 offbeat_clock_line line) {
    const offbeat_clock_line centroid = offbeat_clock_polygon_centroid(polygon);
    double inside_share = 1; /* share of the segment from the centroid to the line that lies in the polygon */
    for (int i = 0; i < polygon->count; i++) {
        offbeat_clock_line a = polygon->corners[i], b = polygon->corners[(i + 1) % polygon->count];
        double centroid_side = side(a, b, centroid), line_side = side(a, b, line);
        if (line_side < 0 && centroid_side <= 0)
            inside_share = 0;
        else if (line_side < 0 && centroid_side / (centroid_side - line_side) < inside_share)
            inside_share = centroid_side / (centroid_side - line_side);
    }
    offbeat_clock_line confined_line = {centroid.offset_ns +
                                            inside_share * (line.offset_ns - centroid.offset_ns),
                                        centroid.slope + inside_share * (line.slope - centroid.slope)};
    return confined_line;
}

static double magnitude(double number) {
    return number < 0 ? -number : number;
}

double offbeat_clock_polygon_max_distance_ns(const offbeat_clock_polygon *polygon, offbeat_clock_line line,
                                             double elapsed_ns) {
    double largest_ns = 0;
    for (int i = 0; i < polygon->count; i++) {
        double distance_ns =
            magnitude(value_at(polygon->corners[i], elapsed_ns) - value_at(line, elapsed_ns));
        if (distance_ns > largest_ns)
            largest_ns = distance_ns;
    }
    return largest_ns;
}

/* --- the model --- */

offbeat_clock_model offbeat_clock_model_of_root(int64_t at_ns, int64_t resolution_ns) {
    offbeat_clock_model model = {
        .is_shared = 1, .at_ns = at_ns, .resolution_ns = resolution_ns, .possible = {.count = 1}};
    return model;
}

static int64_t nearest(double number) {
    return (int64_t)(number < 0 ? number - 0.5 : number + 0.5);
}

int64_t offbeat_clock_model_global_ns(const offbeat_clock_model *model, int64_t local_ns) {
    double elapsed_ns = (double)(local_ns - model->at_ns);
    return local_ns + model->offset_ns + nearest(value_at(model->line, elapsed_ns));
}

int64_t offbeat_clock_model_local_ns(const offbeat_clock_model *model, int64_t global_ns) {
    double since_line_start_ns =
        (double)(global_ns - model->at_ns - model->offset_ns) - model->line.offset_ns;
    int64_t local_ns = model->at_ns + nearest(since_line_start_ns / (1 + model->line.slope));
    while (offbeat_clock_model_global_ns(model, local_ns) >= global_ns)
        local_ns--;
    while (offbeat_clock_model_global_ns(model, local_ns) < global_ns)
        local_ns++;
    return local_ns;
}

int64_t offbeat_clock_model_bound_ns(const offbeat_clock_model *model, int64_t local_ns) {
    if (model->is_shared)
        return 0;
    const double elapsed_ns = (double)(local_ns - model->at_ns);
    double by_wander_ns = offbeat_clock_polygon_max_distance_ns(&model->possible, model->line, elapsed_ns) +
                          OFFBEAT_WANDER_LIMIT * elapsed_ns * elapsed_ns / 2;
    double by_drift_ns = offbeat_clock_polygon_max_distance_ns(&model->possible, model->line, 0) +
                         (OFFBEAT_DRIFT_LIMIT + magnitude(model->line.slope)) * magnitude(elapsed_ns);
    double bound_ns = by_drift_ns < by_wander_ns ? by_drift_ns : by_wander_ns;
    /* One for rounding the bound up, one for the rounded estimate. */
    return (int64_t)bound_ns + 2 + model->resolution_ns;
}
