/* SPDX-License-Identifier: BSD-3-Clause */
#include "harmonize/slack.h"

#include <stdlib.h>
#include <string.h>

void offbeat_slack_init(offbeat_slack *slack, int64_t floor_ns, int64_t cap_ns) {
    memset(slack, 0, sizeof *slack);
    slack->floor_ns = floor_ns;
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

int64_t offbeat_slack_ns(const offbeat_slack *slack) {
    int64_t sorted_ns[OFFBEAT_SLACK_WINDOW];
    if (slack->count == 0)
        return slack->cap_ns;
    memcpy(sorted_ns, slack->needs_ns, sizeof sorted_ns);
    qsort(sorted_ns, (size_t)slack->count, sizeof *sorted_ns, compare_times);
    /* The upper one of two middle values: rather a little late than missed. */
    int64_t median_ns = sorted_ns[slack->count / 2];
    /* Compared before it is multiplied: a need may be any number. */
    if (median_ns >= slack->cap_ns / 3)
        return slack->cap_ns;
    int64_t slack_ns = 3 * median_ns + 1000;
    if (slack_ns < slack->floor_ns)
        return slack->floor_ns;
    return slack_ns < slack->cap_ns ? slack_ns : slack->cap_ns;
}
