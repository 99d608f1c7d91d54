/* SPDX-License-Identifier: BSD-3-Clause */
#include "clock/sync_schedule.h"

#include <stddef.h>
#include <string.h>

const offbeat_sync_method offbeat_clock_methods[] = {
    {.name = "constraints", .estimator = OFFBEAT_CONSTRAINED_LINE, .has_history = 1, .exchanges = 200},
    {.name = "hierarchical",
     .estimator = OFFBEAT_CONSTRAINED_LINE,
     .by_node = 1,
     .has_history = 1,
     .exchanges = 200},
    {.name = "offset", .estimator = OFFBEAT_INTERVAL_MIDDLE, .exchanges = 200},
    {.name = "hca3", .estimator = OFFBEAT_LEAST_SQUARES, .exchanges = 200, .fit_points = 20},
    {.name = "jk", .estimator = OFFBEAT_LEAST_SQUARES, .is_star = 1, .exchanges = 200, .fit_points = 20},
    {.name = "skampi", .estimator = OFFBEAT_INTERVAL_MIDDLE, .is_star = 1, .exchanges = 200},
    {.name = NULL},
};

const offbeat_sync_method *offbeat_clock_method_named(const char *name) {
    for (const offbeat_sync_method *method = offbeat_clock_methods; method->name != NULL; method++)
        if (strcmp(method->name, name) == 0)
            return method;
    return NULL;
}

/* The index of a member's client with a number; -1 when the member has fewer clients. */
static int client_index(const offbeat_clock_sync_stage *stage, int number) {
    if (stage->is_star)
        return stage->index == 0 && number + 1 < stage->count ? number + 1 : -1;
    /* The child with the most descendants first: the other subtrees are done by the time its subtree is. */
    for (int distance = offbeat_clock_tree_span(stage->index, stage->count) / 2; distance > 0; distance /= 2)
        if (stage->index + distance < stage->count && number-- == 0)
            return stage->index + distance;
    return -1;
}

static int rank_of(const offbeat_clock_sync_stage *stage, int index) {
    return stage->members != NULL ? stage->members[index] : index;
}

static int step_of_stage(const offbeat_clock_sync_stage *stage, int number, offbeat_clock_sync_step *step) {
    if (stage->count == 0)
        return 0;
    int is_client = stage->index != 0;
    if (is_client && number == 0) {
        step->is_reference = 0;
        step->peer = rank_of(stage, stage->is_star ? 0 : offbeat_clock_tree_parent(stage->index));
        return 1;
    }
    int index = client_index(stage, number - is_client);
    if (index < 0)
        return 0;
    step->is_reference = 1;
    step->peer = rank_of(stage, index);
    return 1;
}

int offbeat_clock_sync_schedule_step(const offbeat_clock_sync_schedule *schedule, int number,
                                     offbeat_clock_sync_step *step) {
    int earlier = 0;
    while (earlier <= number && step_of_stage(&schedule->stages[0], earlier, step))
        earlier++;
    return earlier > number || step_of_stage(&schedule->stages[1], number - earlier, step);
}
