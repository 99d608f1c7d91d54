/* SPDX-License-Identifier: BSD-3-Clause */
#define _POSIX_C_SOURCE 200809L
#include "trace/process_state.h"

#include "clock/clock.h"
#include "trace/timestamp.h"
#include "trace/trace_file.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

offbeat_tracer_process_state offbeat_tracer_state;
_Atomic int offbeat_tracer_is_tracing;
_Atomic int offbeat_tracer_is_paused;

int offbeat_tracer_create_clock(void) {
    if (offbeat_clock_create(offbeat_tracer_state.world, &offbeat_tracer_state.clock) != MPI_SUCCESS)
        return -1;
    const char *source = offbeat_clock_source(offbeat_tracer_state.clock);
    offbeat_tracer_state.is_monotonic = strcmp(source, "CLOCK_MONOTONIC") == 0;
    offbeat_tracer_timestamps_init(offbeat_tracer_now_ns, offbeat_tracer_state.is_monotonic);
    return 0;
}

void offbeat_tracer_set_window(int64_t start_ns) {
    offbeat_tracer_process_state *state = &offbeat_tracer_state;
    state->window_start_ns = INT64_MIN;
    state->window_end_ns = INT64_MAX;
    if (state->config.window_start_s > 0)
        state->window_start_ns =
            offbeat_clock_to_local_ns(state->clock, start_ns + (int64_t)(state->config.window_start_s * 1e9));
    if (isfinite(state->config.window_end_s))
        state->window_end_ns =
            offbeat_clock_to_local_ns(state->clock, start_ns + (int64_t)(state->config.window_end_s * 1e9));
}

/*
 * --- clock points ---
 *
 * Clock points come from the constraints that the clock has stored. A later synchronisation narrows the
 * bounds of all earlier times, as the constraints of both synchronisations hold: the points between them are
 * computed again.
 */

/* Clock points of a run. The rate between clocks changes little in a 64th of it: in a run of an hour, the
 * change between two points adds 20 microseconds to a bound of 80 milliseconds. */
enum { POINTS = 64 };

static void write_point(const offbeat_clock_model *model, int64_t local_ns, int replaces_before) {
    offbeat_trace_clock_point point = {.local_ns = local_ns,
                                       .shared_ns = offbeat_clock_model_global_ns(model, local_ns),
                                       .bound_ns = offbeat_clock_model_bound_ns(model, local_ns),
                                       .rate = model->is_shared ? 0 : model->line.slope,
                                       .is_shared = model->is_shared != 0,
                                       .replaces_before = (uint32_t)replaces_before};
    offbeat_tracer_define(OFFBEAT_TRACE_CLOCK_POINT, &point, sizeof point, NULL, 0);
}

void offbeat_tracer_write_clock_point(void) {
    const offbeat_clock *clock = offbeat_tracer_state.clock;
    write_point(&clock->state.model, offbeat_clock_local_ns(clock), 0);
}

/* The model at one instant, from all stored constraints. A query may prune them, so that it works on a copy.
 * @return 0, or -1 if they contradict each other */
static int model_at(const offbeat_clock_state *state, int64_t local_ns, offbeat_clock_history *copy,
                    offbeat_clock_model *model) {
    const int64_t offset_ns = offbeat_clock_model_global_ns(&state->model, local_ns) - local_ns;
    *copy = state->history;
    *model = (offbeat_clock_model){
        .at_ns = local_ns, .offset_ns = offset_ns, .resolution_ns = state->resolution_ns};
    if (offbeat_clock_history_polygon(copy, local_ns, offset_ns, &model->possible))
        return -1;
    model->line = offbeat_clock_history_line(copy, local_ns, offset_ns, &model->possible);
    return 0;
}

static void write_history(const offbeat_clock_state *state, int64_t from_ns, int64_t to_ns) {
    offbeat_clock_history *copy = malloc(sizeof *copy);
    offbeat_clock_model model;
    /* The first point invalidates the earlier definitions, so that it must be valid itself. */
    for (int i = 0; copy != NULL && i < POINTS; i++) {
        int64_t at_ns = from_ns + (to_ns - from_ns) / POINTS * i;
        if (model_at(state, at_ns, copy, &model) != 0)
            break;
        write_point(&model, at_ns, i == 0);
    }
    free(copy);
}

/* Whether the clock has stored constraints from both sides, as model_at requires. */
static int has_history(const offbeat_clock_state *state) {
    return !state->model.is_shared && state->method->has_history &&
           state->history.upper_constraints.count > 0 && state->history.lower_constraints.count > 0;
}

int offbeat_tracer_resync(int64_t began_ns) {
    offbeat_clock *clock = offbeat_tracer_state.clock;
    const int contradictions = clock->state.contradictions;
    int rc = offbeat_clock_sync(clock);
    if (rc != MPI_SUCCESS)
        return rc;
    if (offbeat_tracer_file_header() == NULL) /* this process writes no file */
        return MPI_SUCCESS;
    const int64_t now_ns = offbeat_clock_local_ns(clock);
    if (clock->state.contradictions != contradictions)
        offbeat_tracer_define_note(
            now_ns, "The clocks contradict earlier synchronisations: a clock was set, or drifts faster "
                    "than the limit. The errors of earlier times may exceed their bounds.");
    else if (has_history(&clock->state))
        write_history(&clock->state, began_ns, now_ns);
    write_point(&clock->state.model, now_ns, 0);
    return MPI_SUCCESS;
}
