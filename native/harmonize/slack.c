/* SPDX-License-Identifier: BSD-3-Clause */
#include "harmonize/slack.h"

#include <stdlib.h>
#include <string.h>

void offbeat_slack_init(offbeat_slack *slack, int64_t floor_ns, int64_t patience_ns, int64_t cap_ns) {
    memset(slack, 0, sizeof *slack);
    slack->floor_ns = floor_ns;
    slack->patience_ns = patience_ns;
    slack->cap_ns = cap_ns;
}

void offbeat_slack_learn(offbeat_slack *slack, int64_t need_ns) {
    slack->needs_ns[slack->next] = need_ns > 0 ? need_ns : 0;
    slack->next = (slack->next + 1) % OFFBEAT_SLACK_WINDOW;
    if (slack->count < OFFBEAT_SLACK_WINDOW)
        slack->count++;
}

static int compare_times(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* A number times a need, at most the cap; a need may be any number. */
static int64_t times(int64_t factor, int64_t need_ns, int64_t cap_ns) {
    return need_ns >= cap_ns / factor ? cap_ns : factor * need_ns;
}

static int64_t between(int64_t low_ns, int64_t value_ns, int64_t high_ns) {
    if (value_ns < low_ns)
        return low_ns;
    return value_ns < high_ns ? value_ns : high_ns;
}

int64_t offbeat_slack_ns(const offbeat_slack *slack) {
    int64_t sorted_ns[OFFBEAT_SLACK_WINDOW];
    if (slack->count == 0)
        return slack->cap_ns;
    memcpy(sorted_ns, slack->needs_ns, sizeof sorted_ns);
    qsort(sorted_ns, (size_t)slack->count, sizeof *sorted_ns, compare_times);
    /* The upper one of two middle values: rather a little late than missed. */
    int64_t median_ns = sorted_ns[slack->count / 2];
    int64_t most_ns = times(10, sorted_ns[0], slack->cap_ns);
    most_ns = between(slack->patience_ns, most_ns, slack->cap_ns);
    return between(slack->floor_ns, times(3, median_ns, slack->cap_ns - 1000) + 1000, most_ns);
}
