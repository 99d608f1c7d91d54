/* SPDX-License-Identifier: BSD-3-Clause */
#include "clock/pair_sync.h"

#include <string.h>

/* A synchronisation ends after this many exchanges in a row that did not narrow the interval, or when it
 * takes too long. */
enum { FEWEST_EXCHANGES = 10, MOST_STALLED_EXCHANGES = 20 };
static const int64_t LONGEST_SYNC_NS = 20 * 1000 * 1000;

void offbeat_clock_state_init(offbeat_clock_state *state, const offbeat_sync_method *method,
                              int64_t resolution_ns) {
    memset(state, 0, sizeof *state);
    state->method = method;
    state->exchanges = method->exchanges;
    state->fit_points = method->fit_points;
    state->resolution_ns = resolution_ns;
}

void offbeat_clock_state_set_root(offbeat_clock_state *state, int64_t now_ns) {
    state->model = offbeat_clock_model_of_root(now_ns, state->resolution_ns);
}

offbeat_clock_hello offbeat_clock_state_hello(const offbeat_clock_state *state) {
    offbeat_clock_hello hello = {.model = state->model};
    memcpy(hello.identity, state->identity, sizeof hello.identity);
    return hello;
}

int64_t offbeat_clock_state_error_ns(const offbeat_clock_state *state, int64_t from_ns, int64_t to_ns) {
    if (state->model.is_shared)
        return state->resolution_ns;
    /* The bound first decreases and then increases with time: its maximum is at one of the ends. */
    int64_t first_ns = offbeat_clock_model_bound_ns(&state->model, from_ns);
    int64_t last_ns = offbeat_clock_model_bound_ns(&state->model, to_ns);
    return first_ns > last_ns ? first_ns : last_ns;
}

void offbeat_clock_pair_sync_begin(offbeat_clock_pair_sync *sync, offbeat_clock_state *state,
                                   const offbeat_clock_hello *hello) {
    memset(sync, 0, sizeof *sync);
    sync->state = state;
    sync->hello = hello;
    sync->is_same_clock =
        state->identity[0] != '\0' && strncmp(state->identity, hello->identity, sizeof state->identity) == 0;
    if (state->fit_points > 0)
        sync->fit.exchanges_per_point = state->exchanges / state->fit_points;
    if (sync->fit.exchanges_per_point == 0)
        sync->fit.exchanges_per_point = 1;
    if (!state->method->has_history)
        memset(&state->history, 0, sizeof state->history);
}

int offbeat_clock_pair_sync_needs_more(const offbeat_clock_pair_sync *sync) {
    const offbeat_clock_state *state = sync->state;
    if (sync->exchanges == 0)
        return 1;
    if (sync->is_same_clock)
        return sync->exchanges < FEWEST_EXCHANGES && sync->exchanges < state->exchanges;
    if (state->method->estimator == OFFBEAT_LEAST_SQUARES)
        return sync->exchanges < sync->fit.exchanges_per_point * state->fit_points;
    if (sync->exchanges >= state->exchanges || sync->stalled_exchanges >= MOST_STALLED_EXCHANGES)
        return 0;
    return sync->exchanges < FEWEST_EXCHANGES || sync->ended_ns - sync->began_ns < LONGEST_SYNC_NS;
}

static int64_t middle_of_interval_ns(const offbeat_clock_pair_sync *sync) {
    int64_t low_ns, high_ns;
    offbeat_clock_interval_at(&sync->interval, sync->ended_ns, &low_ns, &high_ns);
    return low_ns + (high_ns - low_ns) / 2;
}

/* Moves the pending exchanges to the history. They are held back until the interval is narrow, as their
 * uncertainty is measured from its middle. */
static void flush_pending(offbeat_clock_pair_sync *sync) {
    const int64_t offset_ns = middle_of_interval_ns(sync);
    for (int i = 0; i < sync->pending_count; i++)
        offbeat_clock_history_add(&sync->state->history, &sync->pending_exchanges[i], offset_ns);
    sync->pending_count = 0;
}

/* One physical clock, read by the reference process between the client's two readings, is between them. */
static void compare_clocks(offbeat_clock_pair_sync *sync, const offbeat_clock_exchange *exchange) {
    int64_t resolution_ns = sync->state->resolution_ns;
    if (exchange->answered_local_ns < exchange->sent_ns - resolution_ns ||
        exchange->answered_local_ns > exchange->received_ns + resolution_ns)
        sync->is_same_clock = 0;
}

void offbeat_clock_pair_sync_add(offbeat_clock_pair_sync *sync, const offbeat_clock_exchange *exchange) {
    if (offbeat_clock_round_trip_ns(exchange) < 0)
        return; /* the local clock was set back during the exchange: the next one will contradict the last */
    if (sync->exchanges == 0)
        sync->began_ns = exchange->sent_ns;
    offbeat_clock_min_rtt_add(&sync->min_rtt, exchange);
    sync->exchanges++;
    sync->ended_ns = exchange->received_ns;
    compare_clocks(sync, exchange);
    offbeat_clock_exchange widened_exchange = *exchange; /* by the error of reading this process's clock */
    widened_exchange.answered_error_ns += sync->state->resolution_ns;
    int is_narrower = offbeat_clock_interval_narrow(&sync->interval, &widened_exchange);
    sync->stalled_exchanges = is_narrower ? 0 : sync->stalled_exchanges + 1;
    if (sync->state->fit_points > 0)
        offbeat_clock_fit_add(&sync->fit, &widened_exchange);
    if (sync->pending_count == OFFBEAT_MAX_PENDING_EXCHANGES)
        flush_pending(sync);
    sync->pending_exchanges[sync->pending_count++] = widened_exchange;
}

int64_t offbeat_clock_pair_sync_min_rtt_ns(const offbeat_clock_pair_sync *sync) {
    return offbeat_clock_round_trip_ns(&sync->min_rtt.exchanges[0]);
}

/* The method's estimate, relative to the model's time and offset. */
static offbeat_clock_line estimate(const offbeat_clock_pair_sync *sync, const offbeat_clock_model *model) {
    offbeat_clock_line no_slope = {0, 0};
    switch (sync->state->method->estimator) {
    case OFFBEAT_LEAST_SQUARES:
        return offbeat_clock_fit_line(&sync->fit, model->at_ns, model->offset_ns);
    case OFFBEAT_CONSTRAINED_LINE:
        return offbeat_clock_history_line(&sync->state->history, model->at_ns, model->offset_ns,
                                          &model->possible);
    default:
        return no_slope;
    }
}

void offbeat_clock_pair_sync_end(offbeat_clock_pair_sync *sync) {
    offbeat_clock_state *state = sync->state;
    if (sync->is_same_clock) {
        state->model = sync->hello->model;
        memset(&state->history, 0, sizeof state->history);
        return;
    }
    flush_pending(sync);
    offbeat_clock_history_add_midpoint(&state->history, offbeat_clock_min_rtt_midpoint(&sync->min_rtt));
    offbeat_clock_model model = {.at_ns = sync->ended_ns,
                                 .offset_ns = middle_of_interval_ns(sync),
                                 .resolution_ns = state->resolution_ns};
    state->contradictions +=
        offbeat_clock_history_polygon(&state->history, model.at_ns, model.offset_ns, &model.possible);
    offbeat_clock_history_prune(&state->history, sync->ended_ns);
    model.line = estimate(sync, &model);
    state->model = model;
}
