/* SPDX-License-Identifier: BSD-3-Clause */
#include "clock/polygon.h"

#include "clock/limits.h"

offbeat_polygon offbeat_polygon_box(double low_ns, double high_ns) {
    offbeat_polygon box = {.count = 4,
                           .corners = {{low_ns, -OFFBEAT_DRIFT_LIMIT},
                                       {high_ns, -OFFBEAT_DRIFT_LIMIT},
                                       {high_ns, OFFBEAT_DRIFT_LIMIT},
                                       {low_ns, OFFBEAT_DRIFT_LIMIT}}};
    return box;
}

static double value(offbeat_line line, double elapsed_ns) {
    return line.offset_ns + line.slope * elapsed_ns;
}

/* The line between two others at which the excess, which changes its sign there, is zero. */
static offbeat_line between(offbeat_line from, offbeat_line to, double from_excess, double to_excess) {
    double part = from_excess / (from_excess - to_excess);
    offbeat_line middle = {from.offset_ns + part * (to.offset_ns - from.offset_ns),
                           from.slope + part * (to.slope - from.slope)};
    return middle;
}

/* Sutherland and Hodgman's cut of a polygon by a half-plane: what has an excess of at most 0 stays.
 * @param excess of each corner, some of them above 0 and some not */
static void keep(offbeat_polygon *polygon, const double *excess) {
    offbeat_line kept[OFFBEAT_MOST_CORNERS];
    int count = 0;
    for (int i = 0; i < polygon->count; i++) {
        int next = i + 1 < polygon->count ? i + 1 : 0;
        if (count + 2 > OFFBEAT_MOST_CORNERS)
            return;
        if (excess[i] <= 0)
            kept[count++] = polygon->corners[i];
        if ((excess[i] < 0 && excess[next] > 0) || (excess[i] > 0 && excess[next] < 0))
            kept[count++] = between(polygon->corners[i], polygon->corners[next], excess[i], excess[next]);
    }
    polygon->count = count;
    for (int i = 0; i < count; i++)
        polygon->corners[i] = kept[i];
}

/* Leaves what has sign x (value - limit) <= 0; most limits change nothing. @return 0 where that is nothing */
static int cut(offbeat_polygon *polygon, double elapsed_ns, double limit_ns, double sign) {
    double excess[OFFBEAT_MOST_CORNERS];
    int outside = 0;
    for (int i = 0; i < polygon->count; i++) {
        excess[i] = sign * (value(polygon->corners[i], elapsed_ns) - limit_ns);
        outside += excess[i] > 0;
    }
    if (outside == polygon->count)
        return 0;
    if (outside > 0)
        keep(polygon, excess);
    return 1;
}

int offbeat_polygon_cut_above(offbeat_polygon *polygon, double elapsed_ns, double limit_ns) {
    return cut(polygon, elapsed_ns, limit_ns, 1);
}

int offbeat_polygon_cut_below(offbeat_polygon *polygon, double elapsed_ns, double limit_ns) {
    return cut(polygon, elapsed_ns, limit_ns, -1);
}

static offbeat_line mean_of_corners(const offbeat_polygon *polygon) {
    offbeat_line mean = {0, 0};
    for (int i = 0; i < polygon->count; i++) {
        mean.offset_ns += polygon->corners[i].offset_ns / polygon->count;
        mean.slope += polygon->corners[i].slope / polygon->count;
    }
    return mean;
}

offbeat_line offbeat_polygon_centroid(const offbeat_polygon *polygon) {
    /* Triangles around the mean of the corners, which lies inside: no large terms cancel. */
    const offbeat_line mean = mean_of_corners(polygon);
    double area = 0, offset_ns = 0, slope = 0;
    for (int i = 0; i < polygon->count; i++) {
        offbeat_line a = polygon->corners[i], b = polygon->corners[(i + 1) % polygon->count];
        a.offset_ns -= mean.offset_ns, a.slope -= mean.slope;
        b.offset_ns -= mean.offset_ns, b.slope -= mean.slope;
        double part = a.offset_ns * b.slope - b.offset_ns * a.slope;
        area += part;
        offset_ns += part * (a.offset_ns + b.offset_ns) / 3;
        slope += part * (a.slope + b.slope) / 3;
    }
    if (area < 1e-15) /* a thousandth of a nanosecond by a thousandth of a ppb */
        return mean;
    offbeat_line centroid = {mean.offset_ns + offset_ns / area, mean.slope + slope / area};
    return centroid;
}

double offbeat_polygon_slopes(const offbeat_polygon *polygon) {
    double lowest = polygon->corners[0].slope, highest = lowest;
    for (int i = 1; i < polygon->count; i++) {
        double slope = polygon->corners[i].slope;
        lowest = slope < lowest ? slope : lowest;
        highest = slope > highest ? slope : highest;
    }
    return (highest - lowest) / 2;
}

/* On which side of the edge from a to b a line lies; corners go round with the inside on the positive side.
 */
static double side(offbeat_line a, offbeat_line b, offbeat_line line) {
    return (b.offset_ns - a.offset_ns) * (line.slope - a.slope) -
           (b.slope - a.slope) * (line.offset_ns - a.offset_ns);
}

offbeat_line offbeat_polygon_confined(const offbeat_polygon *polygon, offbeat_line line) {
    const offbeat_line centroid = offbeat_polygon_centroid(polygon);
    double way = 1; /* how much of the way from the centroid to the line is inside */
    for (int i = 0; i < polygon->count; i++) {
        offbeat_line a = polygon->corners[i], b = polygon->corners[(i + 1) % polygon->count];
        double here = side(a, b, centroid), there = side(a, b, line);
        if (there < 0 && here <= 0)
            way = 0;
        else if (there < 0 && here / (here - there) < way)
            way = here / (here - there);
    }
    offbeat_line confined = {centroid.offset_ns + way * (line.offset_ns - centroid.offset_ns),
                             centroid.slope + way * (line.slope - centroid.slope)};
    return confined;
}

double offbeat_polygon_reach(const offbeat_polygon *polygon, offbeat_line line, double elapsed_ns) {
    double reach_ns = 0;
    for (int i = 0; i < polygon->count; i++) {
        double distance_ns = value(polygon->corners[i], elapsed_ns) - value(line, elapsed_ns);
        if (distance_ns < 0)
            distance_ns = -distance_ns;
        if (distance_ns > reach_ns)
            reach_ns = distance_ns;
    }
    return reach_ns;
}
