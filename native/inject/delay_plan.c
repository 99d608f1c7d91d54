/* SPDX-License-Identifier: BSD-3-Clause */
#define _POSIX_C_SOURCE 200809L
#include "inject/delay_plan.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* --- reading --- */

static const char random_prefix[] = "random:";

static int read_ranks(offbeat_inject_plan *plan, const offbeat_settings_error *error) {
    const char *name = "OFFBEAT_INJECT_RANKS", *value = offbeat_settings_value(name);
    if (value == NULL || strcmp(value, "all") == 0)
        return 0;
    if (strcmp(value, "each-domain") == 0) {
        plan->pick = OFFBEAT_INJECT_EACH_DOMAIN;
        return 0;
    }
    if (strncmp(value, random_prefix, sizeof random_prefix - 1) == 0) {
        const char *cursor = value + sizeof random_prefix - 1;
        plan->pick = OFFBEAT_INJECT_RANDOM;
        plan->count = offbeat_settings_parse_number(&cursor);
        if (plan->count > 0 && *cursor == '\0')
            return 0;
    } else {
        plan->pick = OFFBEAT_INJECT_LIST;
        if (offbeat_settings_parse_ranges(value, &plan->ranks) == 0)
            return 0;
    }
    return offbeat_settings_fail(error, name, value, "all, each-domain, random:2, or ranks like 0-3,8");
}

/* One of two words. *is_second stays unchanged without the variable. */
static int read_word(const char *name, const char *first, const char *second, int *is_second,
                     const offbeat_settings_error *error) {
    const char *value = offbeat_settings_value(name);
    char expectation[64];
    if (value == NULL)
        return 0;
    *is_second = strcmp(value, second) == 0;
    if (*is_second || strcmp(value, first) == 0)
        return 0;
    snprintf(expectation, sizeof expectation, "%s or %s", first, second);
    return offbeat_settings_fail(error, name, value, expectation);
}

static int read_numbers(offbeat_inject_plan *plan, const offbeat_settings_error *error) {
    long delay_ns = 0, seed = 1;
    const char *positive = "a whole number, 1 or more", *whole = "a whole number, 0 or more";
    if (offbeat_settings_read_number("OFFBEAT_INJECT_NS", 0, LONG_MAX, whole, &delay_ns, error) != 0 ||
        offbeat_settings_read_number("OFFBEAT_INJECT_EVERY", 1, LONG_MAX, positive, &plan->period, error) !=
            0 ||
        offbeat_settings_read_number("OFFBEAT_INJECT_FIRST", 1, LONG_MAX, positive, &plan->first, error) !=
            0 ||
        offbeat_settings_read_number("OFFBEAT_INJECT_LAST", 0, LONG_MAX, whole, &plan->last, error) != 0 ||
        offbeat_settings_read_number("OFFBEAT_INJECT_SEED", 0, LONG_MAX, whole, &seed, error) != 0)
        return -1;
    plan->delay_ns = delay_ns;
    plan->seed = (uint64_t)seed;
    return 0;
}

int offbeat_inject_plan_read(offbeat_inject_plan *plan, char *error, size_t bytes) {
    const offbeat_settings_error buffer = {error, bytes};
    *plan = (offbeat_inject_plan){.call = offbeat_settings_value("OFFBEAT_INJECT_CALL"),
                                  .report = offbeat_settings_value("OFFBEAT_INJECT_REPORT"),
                                  .period = 1,
                                  .first = 1};
    int is_after = 1;
    if (read_word("OFFBEAT_INJECT_WHEN", "before", "after", &is_after, &buffer) != 0 ||
        read_word("OFFBEAT_INJECT_DISTRIBUTION", "fixed", "exponential", &plan->is_exponential, &buffer) !=
            0 ||
        read_ranks(plan, &buffer) != 0)
        return -1;
    plan->is_before = !is_after;
    return read_numbers(plan, &buffer);
}

int offbeat_inject_plan_check(const offbeat_inject_plan *plan, int size, char *error, size_t bytes) {
    long missing_rank = -1;
    for (int i = 0; i < plan->ranks.count; i++) {
        const long first = plan->ranks.ranges[i].first, last = plan->ranks.ranges[i].last;
        if (first >= size)
            missing_rank = first;
        else if (last >= size && last != LONG_MAX)
            missing_rank = last;
    }
    if (missing_rank >= 0) {
        snprintf(error, bytes, "rank %ld is to be delayed, and the last of %d ranks is %d", missing_rank,
                 size, size - 1);
        return -1;
    }
    if (plan->pick == OFFBEAT_INJECT_RANDOM && plan->count > size) {
        snprintf(error, bytes, "%ld ranks are to be delayed, and there are %d", plan->count, size);
        return -1;
    }
    return 0;
}

/* --- draws --- */

enum { FOR_RANKS, FOR_TIMES }; /* what a number is drawn for */

/* The finaliser of splitmix64 (Steele, Lea and Flood, OOPSLA 2014). */
static uint64_t mix_bits(uint64_t value) {
    value += UINT64_C(0x9E3779B97F4A7C15);
    value = (value ^ (value >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    value = (value ^ (value >> 27)) * UINT64_C(0x94D049BB133111EB);
    return value ^ (value >> 31);
}

/* A number from 0 to below 1. */
static double draw_fraction(const offbeat_inject_plan *plan, int purpose, uint64_t number, int index) {
    uint64_t bits =
        mix_bits(mix_bits(mix_bits(plan->seed) ^ number) ^ ((uint64_t)purpose << 32 | (uint64_t)index));
    return (double)(bits >> 11) * 0x1p-53;
}

/* Whether a rank is among `count` random ones: selection sampling (Knuth, The Art of Computer Programming 2,
 * section 3.4.2, algorithm S), up to this rank. */
static int is_among_random(const offbeat_inject_plan *plan, const offbeat_inject_place *process,
                           uint64_t number) {
    long remaining_count = plan->count;
    if (plan->count == 1) /* the usual case, without a loop over ranks */
        return (int)(draw_fraction(plan, FOR_RANKS, number, 0) * process->size) == process->rank;
    for (int rank = 0;; rank++) {
        const int is_taken =
            draw_fraction(plan, FOR_RANKS, number, rank) * (process->size - rank) < (double)remaining_count;
        if (rank == process->rank)
            return is_taken;
        remaining_count -= is_taken;
    }
}

static int is_picked(const offbeat_inject_plan *plan, const offbeat_inject_place *process, uint64_t number) {
    switch (plan->pick) {
    case OFFBEAT_INJECT_LIST:
        return offbeat_ranges_contain(&plan->ranks, process->rank);
    case OFFBEAT_INJECT_RANDOM:
        return is_among_random(plan, process, number);
    case OFFBEAT_INJECT_EACH_DOMAIN:
        return (int)(draw_fraction(plan, FOR_RANKS, number, process->domain) * process->domain_size) ==
               process->rank_in_domain;
    case OFFBEAT_INJECT_ALL:
        break;
    }
    return 1;
}

int offbeat_inject_is_occasion(const offbeat_inject_plan *plan, uint64_t number) {
    return plan->delay_ns > 0 && number % (uint64_t)plan->period == 0 && number >= (uint64_t)plan->first &&
           (plan->last == 0 || number <= (uint64_t)plan->last);
}

int64_t offbeat_inject_delay_ns(const offbeat_inject_plan *plan, const offbeat_inject_place *process,
                                uint64_t number) {
    if (!is_picked(plan, process, number))
        return 0;
    if (!plan->is_exponential)
        return plan->delay_ns;
    const double time_ns =
        -log1p(-draw_fraction(plan, FOR_TIMES, number, process->rank)) * (double)plan->delay_ns;
    return time_ns < 1 ? 1 : (int64_t)time_ns;
}
