/* SPDX-License-Identifier: BSD-3-Clause */
#include "clock/exchange.h"

#include "clock/limits.h"

int64_t offbeat_clock_round_trip_ns(const offbeat_clock_exchange *exchange) {
    return exchange->received_ns - exchange->sent_ns;
}

/* --- the interval that contains the offset --- */

/* How far two clocks can drift apart in a time of this length (either sign), rounded up. */
static int64_t possible_drift_ns(int64_t elapsed_ns) {
    int64_t length_ns = elapsed_ns < 0 ? -elapsed_ns : elapsed_ns;
    return length_ns / OFFBEAT_DRIFT_DIVISOR + (length_ns % OFFBEAT_DRIFT_DIVISOR != 0);
}

void offbeat_clock_interval_at(const offbeat_clock_interval *interval, int64_t at_ns, int64_t *low_ns,
                               int64_t *high_ns) {
    *low_ns = interval->low_ns - possible_drift_ns(at_ns - interval->low_at_ns);
    *high_ns = interval->high_ns + possible_drift_ns(at_ns - interval->high_at_ns);
}

/* The interval from one exchange: each limit holds at the time to which it refers. */
static offbeat_clock_interval interval_of(const offbeat_clock_exchange *exchange) {
    offbeat_clock_interval interval = {
        .low_ns = exchange->answered_ns - exchange->answered_error_ns - exchange->received_ns,
        .low_at_ns = exchange->received_ns,
        .high_ns = exchange->answered_ns + exchange->answered_error_ns - exchange->sent_ns,
        .high_at_ns = exchange->sent_ns,
        .exchanges = 1,
    };
    return interval;
}

int offbeat_clock_interval_narrow(offbeat_clock_interval *interval, const offbeat_clock_exchange *exchange) {
    offbeat_clock_interval latest = interval_of(exchange);
    if (interval->exchanges == 0) {
        *interval = latest;
        return 1;
    }
    int64_t old_low_ns, old_high_ns, low_ns, high_ns;
    offbeat_clock_interval_at(interval, exchange->received_ns, &old_low_ns, &old_high_ns);
    offbeat_clock_interval_at(&latest, exchange->received_ns, &low_ns, &high_ns);
    if (low_ns > old_high_ns || high_ns < old_low_ns) {
        *interval = latest;
        return 1;
    }
    interval->exchanges++;
    int64_t narrowing_ns = 0;
    if (low_ns > old_low_ns) {
        narrowing_ns += low_ns - old_low_ns;
        interval->low_ns = latest.low_ns;
        interval->low_at_ns = latest.low_at_ns;
    }
    if (high_ns < old_high_ns) {
        narrowing_ns += old_high_ns - high_ns;
        interval->high_ns = latest.high_ns;
        interval->high_at_ns = latest.high_at_ns;
    }
    return narrowing_ns > (old_high_ns - old_low_ns) / 50;
}

/* --- the exchanges with the shortest round trips --- */

void offbeat_clock_min_rtt_add(offbeat_clock_min_rtt *min_rtt, const offbeat_clock_exchange *exchange) {
    const int64_t round_trip_ns = offbeat_clock_round_trip_ns(exchange);
    min_rtt->total_count++;
    int position = min_rtt->count;
    while (position > 0 && round_trip_ns < offbeat_clock_round_trip_ns(&min_rtt->exchanges[position - 1]))
        position--;
    if (position == OFFBEAT_MOST_MIN_RTT)
        return;
    if (min_rtt->count < OFFBEAT_MOST_MIN_RTT)
        min_rtt->count++;
    for (int i = min_rtt->count - 1; i > position; i--)
        min_rtt->exchanges[i] = min_rtt->exchanges[i - 1];
    min_rtt->exchanges[position] = *exchange;
}

offbeat_clock_midpoint offbeat_clock_min_rtt_midpoint(const offbeat_clock_min_rtt *min_rtt) {
    const offbeat_clock_exchange *first = &min_rtt->exchanges[0];
    const int64_t first_rtt_ns = offbeat_clock_round_trip_ns(first);
    int half = min_rtt->total_count > 1 ? min_rtt->total_count / 2 : 1;
    int count = half < min_rtt->count ? half : min_rtt->count;
    int64_t at_ns = 0, offset_ns = 0, round_trips_ns = 0;
    /* Relative to the first one, so that no sum overflows. */
    for (int i = 0; i < count; i++) {
        const offbeat_clock_exchange *exchange = &min_rtt->exchanges[i];
        const int64_t round_trip_ns = offbeat_clock_round_trip_ns(exchange);
        at_ns += exchange->sent_ns - first->sent_ns;
        offset_ns += exchange->answered_ns - first->answered_ns - (exchange->sent_ns - first->sent_ns) -
                     (round_trip_ns - first_rtt_ns) / 2;
        round_trips_ns += round_trip_ns;
    }
    int64_t half_rtt_ns = round_trips_ns / count / 2;
    offbeat_clock_midpoint midpoint = {.at_ns = first->sent_ns + at_ns / count + half_rtt_ns,
                                       .offset_ns = first->answered_ns - first->sent_ns - first_rtt_ns / 2 +
                                                    offset_ns / count,
                                       .round_trip_ns = round_trips_ns / count};
    return midpoint;
}

/* --- the fitted line --- */

static void add_point(offbeat_clock_fit *fit, const offbeat_clock_exchange *exchange) {
    int64_t at_ns = exchange->sent_ns + offbeat_clock_round_trip_ns(exchange) / 2;
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

void offbeat_clock_fit_add(offbeat_clock_fit *fit, const offbeat_clock_exchange *exchange) {
    if (fit->exchanges == 0 ||
        offbeat_clock_round_trip_ns(exchange) < offbeat_clock_round_trip_ns(&fit->fastest))
        fit->fastest = *exchange;
    if (++fit->exchanges < fit->exchanges_per_point)
        return;
    add_point(fit, &fit->fastest);
    fit->exchanges = 0;
}

static double within_drift_limit(double slope) {
    if (slope > OFFBEAT_DRIFT_LIMIT)
        return OFFBEAT_DRIFT_LIMIT;
    return slope < -OFFBEAT_DRIFT_LIMIT ? -OFFBEAT_DRIFT_LIMIT : slope;
}

offbeat_clock_line offbeat_clock_fit_line(const offbeat_clock_fit *fit, int64_t at_ns, int64_t offset_ns) {
    offbeat_clock_fit points = *fit;
    if (points.points == 0)
        add_point(&points, &points.fastest);
    double x = points.sum_x / points.points, y = points.sum_y / points.points;
    double spread = points.sum_xx - x * points.sum_x;
    double slope = spread > 0 ? within_drift_limit((points.sum_xy - x * points.sum_y) / spread) : 0;
    double elapsed_ns = (double)(at_ns - points.at_ns) - x;
    offbeat_clock_line line = {.slope = slope};
    line.offset_ns = (double)(points.offset_ns - offset_ns) + y + slope * elapsed_ns;
    return line;
}
