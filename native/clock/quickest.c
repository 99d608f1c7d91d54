/* SPDX-License-Identifier: BSD-3-Clause */
#include "clock/quickest.h"

static int64_t round_trip_ns(const offbeat_exchange *exchange) {
    return exchange->received_ns - exchange->sent_ns;
}

void offbeat_quickest_add(offbeat_quickest *quickest, const offbeat_exchange *exchange) {
    quickest->seen++;
    int place = quickest->count;
    while (place > 0 && round_trip_ns(exchange) < round_trip_ns(&quickest->exchanges[place - 1]))
        place--;
    if (place == OFFBEAT_MOST_QUICKEST)
        return;
    if (quickest->count < OFFBEAT_MOST_QUICKEST)
        quickest->count++;
    for (int i = quickest->count - 1; i > place; i--)
        quickest->exchanges[i] = quickest->exchanges[i - 1];
    quickest->exchanges[place] = *exchange;
}

offbeat_middle offbeat_quickest_middle(const offbeat_quickest *quickest) {
    const offbeat_exchange *first = &quickest->exchanges[0];
    int half = quickest->seen > 1 ? quickest->seen / 2 : 1;
    int count = half < quickest->count ? half : quickest->count;
    int64_t at_ns = 0, offset_ns = 0, round_trips_ns = 0;
    /* Counted from the first one, so that no sum grows large. */
    for (int i = 0; i < count; i++) {
        const offbeat_exchange *exchange = &quickest->exchanges[i];
        at_ns += exchange->sent_ns - first->sent_ns;
        offset_ns += exchange->answered_ns - first->answered_ns - (exchange->sent_ns - first->sent_ns) -
                     (round_trip_ns(exchange) - round_trip_ns(first)) / 2;
        round_trips_ns += round_trip_ns(exchange);
    }
    int64_t half_ns = round_trips_ns / count / 2;
    offbeat_middle middle = {.at_ns = first->sent_ns + at_ns / count + half_ns,
                             .offset_ns = first->answered_ns - first->sent_ns - round_trip_ns(first) / 2 +
                                          offset_ns / count,
                             .round_trip_ns = round_trips_ns / count};
    return middle;
}
