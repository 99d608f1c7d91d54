/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Clock points come from what the clock remembers. After a later sync all earlier times are known better than
 * they were: the limits of both syncs hold, and the lines that they allow at a moment between them are looked
 * up for that moment.
 */
#include "trace/times.h"

#include "clock/clock.h"
#include "clock/model.h"
#include "trace/define.h"
#include "trace/file.h"

#include <stdlib.h>

/* Points over a run. The rate between clocks changes little in a 64th of it: in an hour-long run, what
 * readers must add between two points is 20 microseconds, where the bound itself is 80 milliseconds. */
enum { STEPS = 64 };

static void write_point(const offbeat_clock_model *model, int64_t local_ns, int replaces_before) {
    offbeat_trace_clock_point point = {.local_ns = local_ns,
                                       .shared_ns = offbeat_clock_model_global_ns(model, local_ns),
                                       .bound_ns = offbeat_clock_model_bound_ns(model, local_ns),
                                       .rate = model->is_shared ? 0 : model->line.slope,
                                       .is_shared = model->is_shared != 0,
                                       .replaces_before = (uint32_t)replaces_before};
    offbeat_define(OFFBEAT_TRACE_CLOCK_POINT, &point, sizeof point, NULL, 0);
}

void offbeat_times_write_now(const offbeat_clock *clock) {
    write_point(&clock->state.model, offbeat_clock_local_ns(clock), 0);
}

/* What all that is remembered says of one moment. The history is copied, as looking may forget.
 * @return 0, or -1 where it contradicts itself */
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
    /* The first one replaces what was written before; so it must be there. */
    for (int i = 0; copy != NULL && i < STEPS; i++) {
        int64_t at_ns = from_ns + (to_ns - from_ns) / STEPS * i;
        if (model_at(state, at_ns, copy, &model) != 0)
            break;
        write_point(&model, at_ns, i == 0);
    }
    free(copy);
}

/* Whether lines at any moment can be had from the clock's memory. */
static int remembers(const offbeat_clock_state *state) {
    return !state->model.is_shared && state->method->has_history && state->history.above.count > 0 &&
           state->history.below.count > 0;
}

int offbeat_times_sync(offbeat_clock *clock, int64_t began_ns) {
    const int contradictions = clock->state.contradictions;
    int rc = offbeat_clock_sync(clock);
    if (rc != MPI_SUCCESS)
        return rc;
    if (offbeat_file_header() == NULL) /* this process only helps the others */
        return MPI_SUCCESS;
    const int64_t now_ns = offbeat_clock_local_ns(clock);
    if (clock->state.contradictions != contradictions)
        offbeat_define_note(now_ns,
                            "The clocks contradicted what they had shown before: one was set, or runs "
                            "faster than clocks do. Times before this moment may be further off than "
                            "their bounds.");
    else if (remembers(&clock->state))
        write_history(&clock->state, began_ns, now_ns);
    write_point(&clock->state.model, now_ns, 0);
    return MPI_SUCCESS;
}
