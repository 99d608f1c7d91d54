/* SPDX-License-Identifier: BSD-3-Clause */
#include "clock/interval.h"

#include "clock/limits.h"

int64_t offbeat_drift_ns(int64_t elapsed_ns) {
    int64_t length_ns = elapsed_ns < 0 ? -elapsed_ns : elapsed_ns;
    return length_ns / OFFBEAT_DRIFT_DIVISOR + (length_ns % OFFBEAT_DRIFT_DIVISOR != 0);
}

void offbeat_interval_at(const offbeat_interval *interval, int64_t at_ns, int64_t *low_ns, int64_t *high_ns) {
    *low_ns = interval->low_ns - offbeat_drift_ns(at_ns - interval->low_at_ns);
    *high_ns = interval->high_ns + offbeat_drift_ns(at_ns - interval->high_at_ns);
}

/* What one exchange says by itself: each limit holds at the moment it is about. */
static offbeat_interval alone(const offbeat_exchange *exchange) {
    offbeat_interval interval = {
        .low_ns = exchange->answered_ns - exchange->answered_error_ns - exchange->received_ns,
        .low_at_ns = exchange->received_ns,
        .high_ns = exchange->answered_ns + exchange->answered_error_ns - exchange->sent_ns,
        .high_at_ns = exchange->sent_ns,
        .exchanges = 1,
    };
    return interval;
}

int offbeat_interval_narrow(offbeat_interval *interval, const offbeat_exchange *exchange) {
    offbeat_interval latest = alone(exchange);
    if (interval->exchanges == 0) {
        *interval = latest;
        return 1;
    }
    int64_t old_low_ns, old_high_ns, low_ns, high_ns;
    offbeat_interval_at(interval, exchange->received_ns, &old_low_ns, &old_high_ns);
    offbeat_interval_at(&latest, exchange->received_ns, &low_ns, &high_ns);
    if (low_ns > old_high_ns || high_ns < old_low_ns) {
        *interval = latest;
        return 1;
    }
    interval->exchanges++;
    int64_t gain_ns = 0;
    if (low_ns > old_low_ns) {
        gain_ns += low_ns - old_low_ns;
        interval->low_ns = latest.low_ns;
        interval->low_at_ns = latest.low_at_ns;
    }
    if (high_ns < old_high_ns) {
        gain_ns += old_high_ns - high_ns;
        interval->high_ns = latest.high_ns;
        interval->high_at_ns = latest.high_at_ns;
    }
    return gain_ns > (old_high_ns - old_low_ns) / 50;
}
