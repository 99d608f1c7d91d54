/* SPDX-License-Identifier: BSD-3-Clause */
#include "clock/history.h"

#include "clock/limits.h"

#include <string.h>

/* Ages below 2^YOUNGEST ns (1 ms) form one class, and so do ages above 2^OLDEST ns (18 minutes): by then the
 * drift may have changed by almost as much as the drift limit allows. */
enum { YOUNGEST = 20, OLDEST = 40 };

/* The number of doublings of the age. A constraint from before the clock was set back has a negative age and
 * gets the oldest class. */
static int age_class(int64_t age_ns) {
    int doublings = 0;
    while (doublings < OLDEST - YOUNGEST && age_ns >> (YOUNGEST + doublings) != 0)
        doublings++;
    return doublings;
}

/* Whether a constraint is among the tightest of its age; of two equally tight ones the newer one counts as
 * tighter. */
static int is_tight(const offbeat_clock_constraints *constraints, const unsigned char *ages, int index) {
    const double uncertainty_ns = constraints->entries[index].uncertainty_ns;
    int tighter = 0;
    for (int i = constraints->count - 1; i >= 0 && tighter < OFFBEAT_CONSTRAINTS_PER_AGE; i--)
        if (ages[i] == ages[index])
            tighter += constraints->entries[i].uncertainty_ns < uncertainty_ns ||
                       (i > index && constraints->entries[i].uncertainty_ns == uncertainty_ns);
    return tighter < OFFBEAT_CONSTRAINTS_PER_AGE;
}

static void prune(offbeat_clock_constraints *constraints, int64_t now_ns) {
    unsigned char ages[OFFBEAT_MOST_CONSTRAINTS], is_kept[OFFBEAT_MOST_CONSTRAINTS];
    for (int i = 0; i < constraints->count; i++)
        ages[i] = (unsigned char)age_class(now_ns - constraints->entries[i].at_ns);
    for (int i = 0; i < constraints->count; i++)
        is_kept[i] = i == constraints->count - 1 || is_tight(constraints, ages, i);
    int count = 0;
    for (int i = 0; i < constraints->count; i++)
        if (is_kept[i])
            constraints->entries[count++] = constraints->entries[i];
    constraints->count = count;
}

void offbeat_clock_history_prune(offbeat_clock_history *history, int64_t now_ns) {
    prune(&history->upper_constraints, now_ns);
    prune(&history->lower_constraints, now_ns);
    prune(&history->midpoints, now_ns);
}

static void append(offbeat_clock_constraints *constraints, offbeat_clock_constraint constraint) {
    if (constraints->count == OFFBEAT_MOST_CONSTRAINTS)
        prune(constraints, constraint.at_ns);
    constraints->entries[constraints->count++] = constraint;
}

void offbeat_clock_history_add(offbeat_clock_history *history, const offbeat_clock_exchange *exchange,
                               int64_t offset_ns) {
    int64_t error_ns = exchange->answered_error_ns;
    offbeat_clock_constraint upper_constraint = {.at_ns = exchange->sent_ns,
                                                 .limit_ns =
                                                     exchange->answered_ns + error_ns - exchange->sent_ns,
                                                 .serial = history->next_serial++};
    offbeat_clock_constraint lower_constraint = {.at_ns = exchange->received_ns,
                                                 .limit_ns =
                                                     exchange->answered_ns - error_ns - exchange->received_ns,
                                                 .serial = history->next_serial++};
    upper_constraint.uncertainty_ns = (double)(upper_constraint.limit_ns - offset_ns);
    lower_constraint.uncertainty_ns = (double)(offset_ns - lower_constraint.limit_ns);
    append(&history->upper_constraints, upper_constraint);
    append(&history->lower_constraints, lower_constraint);
}

void offbeat_clock_history_add_midpoint(offbeat_clock_history *history, offbeat_clock_midpoint midpoint) {
    offbeat_clock_constraint entry = {.at_ns = midpoint.at_ns,
                                      .limit_ns = midpoint.offset_ns,
                                      .serial = history->next_serial++,
                                      .uncertainty_ns = (double)midpoint.round_trip_ns};
    append(&history->midpoints, entry);
}

/* Drops the entries up to and including index `last`. */
static void drop(offbeat_clock_constraints *constraints, int last) {
    constraints->count -= last + 1;
    memmove(constraints->entries, constraints->entries + last + 1,
            (size_t)constraints->count * sizeof *constraints->entries);
}

static void drop_before(offbeat_clock_constraints *constraints, int64_t serial) {
    int last = constraints->count - 1;
    while (last >= 0 && constraints->entries[last].serial > serial)
        last--;
    drop(constraints, last);
}

/* The local time and the offset to which lines are relative. */
typedef struct origin {
    int64_t at_ns, offset_ns;
} origin;

/* Cuts the polygon by one constraint, widened by the possible change of the drift since the constraint.
 * @return 0 when no line would remain: then the polygon stays unchanged */
static int cut(offbeat_clock_polygon *polygon, const origin *origin,
               const offbeat_clock_constraint *constraint, int is_above) {
    double elapsed_ns = (double)(constraint->at_ns - origin->at_ns);
    double limit_ns = (double)(constraint->limit_ns - origin->offset_ns);
    double widening_ns = OFFBEAT_WANDER_LIMIT * elapsed_ns * elapsed_ns / 2;
    return is_above
               ? offbeat_clock_polygon_cut(polygon, elapsed_ns, limit_ns + widening_ns, OFFBEAT_UPPER_SIDE)
               : offbeat_clock_polygon_cut(polygon, elapsed_ns, limit_ns - widening_ns, OFFBEAT_LOWER_SIDE);
}

/* A box that contains all lines that the latest constraint of each side allows. */
static offbeat_clock_polygon box_around(const origin *origin, const offbeat_clock_constraint *upper,
                                        const offbeat_clock_constraint *lower) {
    const offbeat_clock_constraint *const constraints[] = {lower, upper};
    double edges_ns[2];
    for (int i = 0; i < 2; i++) {
        double elapsed_ns = (double)(constraints[i]->at_ns - origin->at_ns);
        double distance_ns = elapsed_ns < 0 ? -elapsed_ns : elapsed_ns;
        double widening_ns =
            OFFBEAT_DRIFT_LIMIT * distance_ns + OFFBEAT_WANDER_LIMIT * elapsed_ns * elapsed_ns / 2 + 1;
        edges_ns[i] =
            (double)(constraints[i]->limit_ns - origin->offset_ns) + (i == 0 ? -widening_ns : widening_ns);
    }
    return offbeat_clock_polygon_box(edges_ns[0], edges_ns[1]);
}

int offbeat_clock_history_polygon(offbeat_clock_history *history, int64_t at_ns, int64_t offset_ns,
                                  offbeat_clock_polygon *polygon) {
    const origin origin = {at_ns, offset_ns};
    const offbeat_clock_constraint *uppers = history->upper_constraints.entries,
                                   *lowers = history->lower_constraints.entries;
    int upper = history->upper_constraints.count - 1, lower = history->lower_constraints.count - 1;
    *polygon = box_around(&origin, &uppers[upper], &lowers[lower]);
    /* From the newest to the oldest. The two of the latest exchange never contradict each other. */
    while (upper >= 0 || lower >= 0) {
        int is_above = lower < 0 || (upper >= 0 && uppers[upper].serial > lowers[lower].serial);
        const offbeat_clock_constraint *constraint = is_above ? &uppers[upper] : &lowers[lower];
        if (!cut(polygon, &origin, constraint, is_above)) {
            drop_before(&history->midpoints, constraint->serial);
            drop(&history->upper_constraints, upper);
            drop(&history->lower_constraints, lower);
            return 1;
        }
        if (is_above)
            upper--;
        else
            lower--;
    }
    return 0;
}

/* The expected error of a midpoint: half of what its round trip exceeds the shortest one by, a small constant
 * part, and the possible change of the drift since. */
static double expected_error_ns(const offbeat_clock_constraint *midpoint, double elapsed_ns,
                                double min_rtt_ns) {
    double asymmetry_ns = (midpoint->uncertainty_ns - min_rtt_ns) / 2, constant_ns = 1 + min_rtt_ns / 256;
    return asymmetry_ns + constant_ns + OFFBEAT_WANDER_LIMIT * elapsed_ns * elapsed_ns / 2;
}

/* The shortest round trip of any midpoint; 0 when there is none. */
static double min_rtt_of(const offbeat_clock_constraints *midpoints) {
    double min_rtt_ns = midpoints->count > 0 ? midpoints->entries[0].uncertainty_ns : 0;
    for (int i = 1; i < midpoints->count; i++)
        if (midpoints->entries[i].uncertainty_ns < min_rtt_ns)
            min_rtt_ns = midpoints->entries[i].uncertainty_ns;
    return min_rtt_ns;
}

offbeat_clock_line offbeat_clock_history_line(const offbeat_clock_history *history, int64_t at_ns,
                                              int64_t offset_ns, const offbeat_clock_polygon *polygon) {
    const offbeat_clock_line centroid = offbeat_clock_polygon_centroid(polygon);
    const double slope_range = offbeat_clock_polygon_half_slope_range(polygon);
    const double min_rtt_ns = min_rtt_of(&history->midpoints);
    double sum = 0, sum_x = 0, sum_y = 0, sum_xx = 0, sum_xy = 0;
    for (int i = 0; i < history->midpoints.count; i++) {
        const offbeat_clock_constraint *midpoint = &history->midpoints.entries[i];
        double x = (double)(midpoint->at_ns - at_ns);
        double y = (double)(midpoint->limit_ns - offset_ns) - centroid.slope * x;
        double error_ns = expected_error_ns(midpoint, x, min_rtt_ns);
        double weight = 1 / (error_ns * error_ns);
        sum += weight;
        sum_x += weight * x;
        sum_y += weight * y;
        sum_xx += weight * x * x;
        sum_xy += weight * x * y;
    }
    if (sum <= 0)
        return centroid;
    /* The slope is relative to the centroid's. The last term is the prior: a slope at the edge of the range
     * costs as much as a midpoint that is off by its expected error. */
    double spread = sum_xx - sum_x * sum_x / sum + 1 / (slope_range * slope_range + 1e-30);
    offbeat_clock_line line = {.slope = (sum_xy - sum_x * sum_y / sum) / spread};
    line.offset_ns = (sum_y - line.slope * sum_x) / sum;
    line.slope += centroid.slope;
    return offbeat_clock_polygon_confine(polygon, line);
}
