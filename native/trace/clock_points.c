/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Clock points come from the constraints that the clock has stored. A later synchronisation narrows the
 * bounds of all earlier times, as the constraints of both synchronisations hold: the points between them are
 * computed again.
 */
#include "trace/clock_points.h"

#include "clock/clock.h"
#include "clock/model.h"
#include "trace/trace_file.h"

#include <stdlib.h>

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

void offbeat_tracer_write_clock_point(const offbeat_clock *clock) {
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
    return !state->model.is_shared && state->method->has_history && state->history.above.count > 0 &&
           state->history.below.count > 0;
}

int offbeat_tracer_resync(offbeat_clock *clock, int64_t began_ns) {
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
