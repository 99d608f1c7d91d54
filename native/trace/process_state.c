/* SPDX-License-Identifier: BSD-3-Clause */
#define _POSIX_C_SOURCE 200809L
#include "trace/process_state.h"

#include "trace/timestamp.h"

#include <math.h>
#include <string.h>

offbeat_tracer_process_state offbeat_tracer_state;
_Atomic int offbeat_tracer_is_tracing;
_Atomic int offbeat_tracer_is_paused;

int offbeat_tracer_create_clock(void) {
    if (offbeat_clock_create(MPI_COMM_WORLD, &offbeat_tracer_state.clock) != MPI_SUCCESS)
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
