/* SPDX-License-Identifier: BSD-3-Clause */
#include "harmonize/start_policy.h"

#include <offbeat/harmonize.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- slack --- */

void offbeat_harmonize_slack_init(offbeat_harmonize_slack *slack, int64_t floor_ns, int64_t long_ns,
                                  int64_t cap_ns) {
    memset(slack, 0, sizeof *slack);
    slack->floor_ns = floor_ns;
    slack->long_ns = long_ns;
    slack->cap_ns = cap_ns;
}

void offbeat_harmonize_slack_add(offbeat_harmonize_slack *slack, int64_t need_ns) {
    slack->needs_ns[slack->next] = need_ns > 0 ? need_ns : 0;
    slack->next = (slack->next + 1) % OFFBEAT_HARMONIZE_SLACK_WINDOW;
    if (slack->count < OFFBEAT_HARMONIZE_SLACK_WINDOW)
        slack->count++;
}

static int compare_times(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* factor x need, at most the cap, without overflow. */
static int64_t capped_product(int64_t factor, int64_t need_ns, int64_t cap_ns) {
    return need_ns >= cap_ns / factor ? cap_ns : factor * need_ns;
}

static int64_t clamp(int64_t low_ns, int64_t value_ns, int64_t high_ns) {
    if (value_ns < low_ns)
        return low_ns;
    return value_ns < high_ns ? value_ns : high_ns;
}

int64_t offbeat_harmonize_slack_ns(const offbeat_harmonize_slack *slack) {
    int64_t sorted_ns[OFFBEAT_HARMONIZE_SLACK_WINDOW];
    if (slack->count == 0)
        return slack->cap_ns;
    memcpy(sorted_ns, slack->needs_ns, sizeof sorted_ns);
    qsort(sorted_ns, (size_t)slack->count, sizeof *sorted_ns, compare_times);
    /* The upper median: a slack that is slightly too long is better than a missed start. */
    int64_t median_ns = sorted_ns[slack->count / 2];
    int64_t most_ns = capped_product(10, sorted_ns[0], slack->cap_ns);
    most_ns = clamp(slack->long_ns, most_ns, slack->cap_ns);
    return clamp(slack->floor_ns, capped_product(3, median_ns, slack->cap_ns - 1000) + 1000, most_ns);
}

/* --- resynchronisation --- */

/* Syncs take at most 1 / SYNC_TIME_DIVISOR of the time. */
enum { NEGLIGIBLE_BOUND_NS = 500, SYNC_TIME_DIVISOR = 20 };

int offbeat_harmonize_resync_helps(int64_t bound_after_sync_ns, int64_t bound_now_ns) {
    return bound_now_ns - bound_after_sync_ns > bound_after_sync_ns + NEGLIGIBLE_BOUND_NS;
}

int offbeat_harmonize_resync_is_affordable(int64_t age_ns, int64_t length_ns) {
    return age_ns / (SYNC_TIME_DIVISOR - 1) >= length_ns;
}

/* --- oversubscription --- */

static int is_within(const offbeat_harmonize_cores *inner, const offbeat_harmonize_cores *outer) {
    for (int i = 0; i < OFFBEAT_HARMONIZE_CORE_WORDS; i++)
        if (inner->words[i] & ~outer->words[i])
            return 0;
    return 1;
}

static int count_cores(const offbeat_harmonize_cores *cores) {
    int count = 0;
    for (int i = 0; i < OFFBEAT_HARMONIZE_CORE_WORDS; i++)
        for (uint64_t word = cores->words[i]; word != 0; word &= word - 1)
            count++;
    return count;
}

int offbeat_harmonize_cores_are_oversubscribed(const offbeat_harmonize_cores *processes, int count) {
    for (int i = 0; i < count; i++) {
        int confined_processes = 0, cores = count_cores(&processes[i]);
        for (int j = 0; cores > 0 && j < count; j++)
            confined_processes += count_cores(&processes[j]) > 0 && is_within(&processes[j], &processes[i]);
        if (confined_processes > cores)
            return 1;
    }
    return 0;
}

/* --- settings --- */

enum { DEFAULT_TOLERANCE_NS = 1000 };

/* Reads a whole number in a range; an unset or empty variable leaves *value unchanged.
 * @return 0, or -1 when the variable is invalid */
static int read_number(const char *name, int64_t least, int64_t upper, int64_t *value) {
    const char *text = getenv(name);
    if (text == NULL || *text == '\0')
        return 0;
    char *end;
    errno = 0;
    long long number = strtoll(text, &end, 10);
    if (end == text || *end != '\0' || errno != 0 || number < least || number > upper)
        return -1;
    *value = number;
    return 0;
}

int offbeat_harmonize_settings_read(offbeat_harmonize_settings *settings, char *why, size_t bytes) {
    const int64_t hour_ns = INT64_C(3600000000000);
    int64_t yield = OFFBEAT_YIELD_IF_OVERSUBSCRIBED;
    settings->tolerance_ns = DEFAULT_TOLERANCE_NS;
    if (read_number("OFFBEAT_HARMONIZE_TOLERANCE_NS", 0, hour_ns, &settings->tolerance_ns) != 0) {
        snprintf(why, bytes,
                 "OFFBEAT_HARMONIZE_TOLERANCE_NS is '%.40s'; it must be a whole number of nanoseconds, "
                 "at least 0 and at most an hour",
                 getenv("OFFBEAT_HARMONIZE_TOLERANCE_NS"));
        return -1;
    }
    if (read_number("OFFBEAT_YIELD", 0, 1, &yield) != 0) {
        snprintf(why, bytes, "OFFBEAT_YIELD is '%.40s'; it must be 0 or 1", getenv("OFFBEAT_YIELD"));
        return -1;
    }
    settings->yield = (int)yield;
    return 0;
}
