/* SPDX-License-Identifier: BSD-3-Clause */
#include "clock/fit.h"

#include "clock/limits.h"

static int64_t round_trip_ns(const offbeat_exchange *exchange) {
    return exchange->received_ns - exchange->sent_ns;
}

/* An exchange as a point: when, and the offset if both ways took the same time. */
static void add_point(offbeat_fit *fit, const offbeat_exchange *exchange) {
    int64_t at_ns = exchange->sent_ns + round_trip_ns(exchange) / 2;
    int64_t offset_ns = exchange->answered_ns - at_ns;
    if (fit->points++ == 0) {
        fit->at_ns = at_ns;
        fit->offset_ns = offset_ns;
    }
    double x = (double)(at_ns - fit->at_ns), y = (double)(offset_ns - fit->offset_ns);
    fit->sum_x += x;
    fit->sum_y += y;
    fit->sum_xx += x * x;
    fit->sum_xy += x * y;
}

void offbeat_fit_add(offbeat_fit *fit, const offbeat_exchange *exchange) {
    if (fit->exchanges == 0 || round_trip_ns(exchange) < round_trip_ns(&fit->best))
        fit->best = *exchange;
    if (++fit->exchanges < fit->exchanges_a_point)
        return;
    add_point(fit, &fit->best);
    fit->exchanges = 0;
}

static double limited(double slope) {
    if (slope > OFFBEAT_DRIFT_LIMIT)
        return OFFBEAT_DRIFT_LIMIT;
    return slope < -OFFBEAT_DRIFT_LIMIT ? -OFFBEAT_DRIFT_LIMIT : slope;
}

offbeat_line offbeat_fit_line(const offbeat_fit *fit, int64_t at_ns, int64_t offset_ns) {
    offbeat_fit whole = *fit;
    if (whole.points == 0)
        add_point(&whole, &whole.best);
    double x = whole.sum_x / whole.points, y = whole.sum_y / whole.points;
    double spread = whole.sum_xx - x * whole.sum_x;
    offbeat_line line = {.slope = spread > 0 ? limited((whole.sum_xy - x * whole.sum_y) / spread) : 0};
    double elapsed_ns = (double)(at_ns - whole.at_ns) - x;
    line.offset_ns = (double)(whole.offset_ns - offset_ns) + y + line.slope * elapsed_ns;
    return line;
}
