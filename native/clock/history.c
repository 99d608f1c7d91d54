/* SPDX-License-Identifier: BSD-3-Clause */
#include "clock/history.h"

#include "clock/limits.h"

#include <string.h>

/* Ages below 2^YOUNGEST ns (1 ms) are one, and so are those above 2^OLDEST ns (18 minutes): by then the rate
 * may have changed by almost as much as the drift limit leaves open. */
enum { YOUNGEST = 20, OLDEST = 40 };

/* Which doubling of the age a limit belongs to; the last one also for times before the clock was set back. */
static int age_class(int64_t age_ns) {
    int doublings = 0;
    while (doublings < OLDEST - YOUNGEST && age_ns >> (YOUNGEST + doublings) != 0)
        doublings++;
    return doublings;
}

/* Whether fewer limits of the same age than are kept are tighter, newer ones that are as tight among them. */
static int is_tight(const offbeat_limits *limits, const unsigned char *ages, int which) {
    const double looseness_ns = limits->limits[which].looseness_ns;
    int better = 0;
    for (int i = limits->count - 1; i >= 0 && better < OFFBEAT_LIMITS_OF_AN_AGE; i--)
        if (ages[i] == ages[which])
            better += limits->limits[i].looseness_ns < looseness_ns ||
                      (i > which && limits->limits[i].looseness_ns == looseness_ns);
    return better < OFFBEAT_LIMITS_OF_AN_AGE;
}

static void thin(offbeat_limits *limits, int64_t now_ns) {
    unsigned char ages[OFFBEAT_MOST_LIMITS], keeps[OFFBEAT_MOST_LIMITS];
    for (int i = 0; i < limits->count; i++)
        ages[i] = (unsigned char)age_class(now_ns - limits->limits[i].at_ns);
    for (int i = 0; i < limits->count; i++)
        keeps[i] = i == limits->count - 1 || is_tight(limits, ages, i);
    int kept = 0;
    for (int i = 0; i < limits->count; i++)
        if (keeps[i])
            limits->limits[kept++] = limits->limits[i];
    limits->count = kept;
}

void offbeat_history_thin(offbeat_history *history, int64_t now_ns) {
    thin(&history->above, now_ns);
    thin(&history->below, now_ns);
    thin(&history->middles, now_ns);
}

static void append(offbeat_limits *limits, offbeat_limit limit) {
    if (limits->count == OFFBEAT_MOST_LIMITS)
        thin(limits, limit.at_ns);
    limits->limits[limits->count++] = limit;
}

void offbeat_history_add(offbeat_history *history, const offbeat_exchange *exchange, int64_t middle_ns) {
    int64_t error_ns = exchange->answered_error_ns;
    offbeat_limit above = {.at_ns = exchange->sent_ns,
                           .limit_ns = exchange->answered_ns + error_ns - exchange->sent_ns,
                           .serial = history->next_serial++};
    offbeat_limit below = {.at_ns = exchange->received_ns,
                           .limit_ns = exchange->answered_ns - error_ns - exchange->received_ns,
                           .serial = history->next_serial++};
    above.looseness_ns = (double)(above.limit_ns - middle_ns);
    below.looseness_ns = (double)(middle_ns - below.limit_ns);
    append(&history->above, above);
    append(&history->below, below);
}

void offbeat_history_add_middle(offbeat_history *history, offbeat_middle middle) {
    offbeat_limit remembered = {.at_ns = middle.at_ns,
                                .limit_ns = middle.offset_ns,
                                .serial = history->next_serial++,
                                .looseness_ns = (double)middle.round_trip_ns};
    append(&history->middles, remembered);
}

/* Forgets all limits up to the given one. */
static void forget(offbeat_limits *limits, int last) {
    limits->count -= last + 1;
    memmove(limits->limits, limits->limits + last + 1, (size_t)limits->count * sizeof *limits->limits);
}

/* Forgets what was added before a limit. */
static void forget_before(offbeat_limits *limits, int64_t serial) {
    int last = limits->count - 1;
    while (last >= 0 && limits->limits[last].serial > serial)
        last--;
    forget(limits, last);
}

/* A frame in which lines are counted. */
typedef struct frame {
    int64_t at_ns, offset_ns;
} frame;

/* Cuts by one limit, widened by what the rate may have changed between it and the frame.
 * @return 0 where no line would be left: then nothing changes */
static int cut(offbeat_polygon *polygon, const frame *frame, const offbeat_limit *limit, int is_above) {
    double elapsed_ns = (double)(limit->at_ns - frame->at_ns);
    double limit_ns = (double)(limit->limit_ns - frame->offset_ns);
    double widening_ns = OFFBEAT_WANDER_LIMIT * elapsed_ns * elapsed_ns / 2;
    if (is_above)
        return offbeat_polygon_cut_above(polygon, elapsed_ns, limit_ns + widening_ns);
    return offbeat_polygon_cut_below(polygon, elapsed_ns, limit_ns - widening_ns);
}

/* More lines than the newest limit of each side allows. */
static offbeat_polygon box_around(const frame *frame, const offbeat_limit *above,
                                  const offbeat_limit *below) {
    const offbeat_limit *const both[] = {below, above};
    double edges_ns[2];
    for (int i = 0; i < 2; i++) {
        double elapsed_ns = (double)(both[i]->at_ns - frame->at_ns);
        double distance_ns = elapsed_ns < 0 ? -elapsed_ns : elapsed_ns;
        double room_ns =
            OFFBEAT_DRIFT_LIMIT * distance_ns + OFFBEAT_WANDER_LIMIT * elapsed_ns * elapsed_ns / 2 + 1;
        edges_ns[i] = (double)(both[i]->limit_ns - frame->offset_ns) + (i == 0 ? -room_ns : room_ns);
    }
    return offbeat_polygon_box(edges_ns[0], edges_ns[1]);
}

int offbeat_history_lines(offbeat_history *history, int64_t at_ns, int64_t offset_ns,
                          offbeat_polygon *polygon) {
    const frame frame = {at_ns, offset_ns};
    int above = history->above.count - 1, below = history->below.count - 1;
    *polygon = box_around(&frame, &history->above.limits[above], &history->below.limits[below]);
    /* From the newest to the oldest. The two of the last exchange never contradict each other. */
    while (above >= 0 || below >= 0) {
        int is_above = below < 0 || (above >= 0 && history->above.limits[above].serial >
                                                       history->below.limits[below].serial);
        const offbeat_limit *limit = is_above ? &history->above.limits[above] : &history->below.limits[below];
        if (!cut(polygon, &frame, limit, is_above)) {
            forget_before(&history->middles, limit->serial);
            forget(&history->above, above);
            forget(&history->below, below);
            return 1;
        }
        if (is_above)
            above--;
        else
            below--;
    }
    return 0;
}

/* How far a middle can be expected to be off: by half of what its exchange took longer than the quickest one,
 * by a little in any case, and by what the rate may have changed since. */
static double expected_error_ns(const offbeat_limit *middle, double elapsed_ns, double quickest_ns) {
    double slower_ns = (middle->looseness_ns - quickest_ns) / 2, always_ns = 1 + quickest_ns / 256;
    return slower_ns + always_ns + OFFBEAT_WANDER_LIMIT * elapsed_ns * elapsed_ns / 2;
}

/* The shortest round trip of any middle; 0 where there is none. */
static double quickest_of(const offbeat_limits *middles) {
    double quickest_ns = middles->count > 0 ? middles->limits[0].looseness_ns : 0;
    for (int i = 1; i < middles->count; i++)
        if (middles->limits[i].looseness_ns < quickest_ns)
            quickest_ns = middles->limits[i].looseness_ns;
    return quickest_ns;
}

offbeat_line offbeat_history_line(const offbeat_history *history, int64_t at_ns, int64_t offset_ns,
                                  const offbeat_polygon *polygon) {
    const offbeat_line centroid = offbeat_polygon_centroid(polygon);
    const double open = offbeat_polygon_slopes(polygon);
    const double quickest_ns = quickest_of(&history->middles);
    double sum = 0, sum_x = 0, sum_y = 0, sum_xx = 0, sum_xy = 0;
    for (int i = 0; i < history->middles.count; i++) {
        const offbeat_limit *middle = &history->middles.limits[i];
        double x = (double)(middle->at_ns - at_ns);
        double y = (double)(middle->limit_ns - offset_ns) - centroid.slope * x;
        double error_ns = expected_error_ns(middle, x, quickest_ns);
        double weight = 1 / (error_ns * error_ns);
        sum += weight;
        sum_x += weight * x;
        sum_y += weight * y;
        sum_xx += weight * x * x;
        sum_xy += weight * x * y;
    }
    if (sum <= 0)
        return centroid;
    /* The slope is counted from the centroid's, and being off it by all that is open costs as much as a
     * middle that is off by its error. */
    double spread = sum_xx - sum_x * sum_x / sum + 1 / (open * open + 1e-30);
    offbeat_line line = {.slope = (sum_xy - sum_x * sum_y / sum) / spread};
    line.offset_ns = (sum_y - line.slope * sum_x) / sum;
    line.slope += centroid.slope;
    return offbeat_polygon_confined(polygon, line);
}
