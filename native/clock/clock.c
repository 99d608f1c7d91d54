/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The messages of a clock synchronisation, and the queries of the shared clock. sync_schedule.c decides which
 * processes synchronise with each other, pair_sync.c evaluates their exchanges, create.c creates a clock.
 */
#include "clock/clock.h"

enum { TAG_HELLO = 2, TAG_PING = 3, TAG_PONG = 4 };

/* A reference process computes the error bound of its answers for this long ahead, so that it computes
 * nothing between receiving a ping and answering, where each nanosecond makes the two directions differ. */
static const int64_t ERROR_HORIZON_NS = 1000 * 1000;

int64_t offbeat_clock_local_ns(const offbeat_clock *clock) {
    return offbeat_clock_source_now_ns(&clock->source);
}

int64_t offbeat_clock_global_ns(const offbeat_clock *clock, int64_t local_ns) {
    return offbeat_clock_model_global_ns(&clock->state.model, local_ns);
}

int64_t offbeat_clock_to_local_ns(const offbeat_clock *clock, int64_t global_ns) {
    return offbeat_clock_model_local_ns(&clock->state.model, global_ns);
}

int64_t offbeat_clock_bound_ns(const offbeat_clock *clock, int64_t local_ns) {
    return offbeat_clock_model_bound_ns(&clock->state.model, local_ns);
}

offbeat_instant offbeat_clock_at(const offbeat_clock *clock, int64_t local_ns) {
    offbeat_instant instant = {offbeat_clock_global_ns(clock, local_ns),
                               offbeat_clock_bound_ns(clock, local_ns)};
    return instant;
}

offbeat_instant offbeat_clock_now(const offbeat_clock *clock) {
    return offbeat_clock_at(clock, offbeat_clock_local_ns(clock));
}

int offbeat_clock_is_shared(const offbeat_clock *clock) {
    return clock->state.model.is_shared;
}

int64_t offbeat_clock_age_ns(const offbeat_clock *clock) {
    return offbeat_clock_local_ns(clock) - clock->synced_at_ns;
}

int64_t offbeat_clock_resolution_ns(const offbeat_clock *clock) {
    return clock->state.resolution_ns;
}

const char *offbeat_clock_source(const offbeat_clock *clock) {
    return offbeat_clock_source_name(&clock->source);
}

const char *offbeat_clock_method(const offbeat_clock *clock) {
    return clock->state.method->name;
}

const char *offbeat_clock_method_name(int index) {
    for (int i = 0; i <= index; i++)
        if (i == index || offbeat_clock_methods[i].name == NULL)
            return offbeat_clock_methods[i].name;
    return NULL;
}

offbeat_sync_facts offbeat_clock_sync_facts(const offbeat_clock *clock) {
    return clock->facts;
}

int offbeat_clock_compare(const offbeat_clock *clock, MPI_Comm comm, int *result) {
    return PMPI_Comm_compare(clock->tree.comm, comm, result);
}

/* The values of a ping or a pong. Both have the same length, so that both directions take the same time. */
enum { PING_NEEDS_ANSWER = 0 };
enum { PONG_GLOBAL_NS = 0, PONG_ERROR_NS = 1, PONG_LOCAL_NS = 2, VALUES = 3 };

static int receive_values(const offbeat_clock *clock, int64_t values[VALUES], int source, int tag) {
    return offbeat_clock_receive(values, VALUES, MPI_INT64_T, source, tag, clock->tree.comm,
                                 clock->tree.polls_before_yield);
}

static int send_ping(const offbeat_clock *clock, int reference, int64_t needs_answer) {
    const int64_t ping[VALUES] = {[PING_NEEDS_ANSWER] = needs_answer};
    return PMPI_Send(ping, VALUES, MPI_INT64_T, reference, TAG_PING, clock->tree.comm);
}

static int ping_pong(const offbeat_clock *clock, int reference, offbeat_clock_exchange *exchange) {
    int64_t pong[VALUES] = {0};
    exchange->sent_ns = offbeat_clock_local_ns(clock);
    int rc = send_ping(clock, reference, 1);
    if (rc == MPI_SUCCESS)
        rc = receive_values(clock, pong, reference, TAG_PONG);
    exchange->received_ns = offbeat_clock_local_ns(clock);
    exchange->answered_ns = pong[PONG_GLOBAL_NS];
    exchange->answered_error_ns = pong[PONG_ERROR_NS];
    exchange->answered_local_ns = pong[PONG_LOCAL_NS];
    return rc;
}

/* The client's side of a pairwise synchronisation. */
static int sync_as_client(offbeat_clock *clock, int reference) {
    offbeat_clock_hello hello;
    offbeat_clock_pair_sync sync;
    int rc = offbeat_clock_receive(&hello, sizeof hello, MPI_BYTE, reference, TAG_HELLO, clock->tree.comm,
                                   clock->tree.polls_before_yield);
    offbeat_clock_pair_sync_begin(&sync, &clock->state, &hello);
    while (rc == MPI_SUCCESS && offbeat_clock_pair_sync_needs_more(&sync)) {
        offbeat_clock_exchange exchange;
        rc = ping_pong(clock, reference, &exchange);
        if (rc == MPI_SUCCESS)
            offbeat_clock_pair_sync_add(&sync, &exchange);
    }
    if (rc != MPI_SUCCESS)
        return rc;
    offbeat_clock_pair_sync_end(&sync);
    clock->facts.exchanges += sync.exchanges;
    clock->facts.best_round_trip_ns = offbeat_clock_pair_sync_min_rtt_ns(&sync);
    return send_ping(clock, reference, 0);
}

/* The reference process's side: answers pings until the client needs no more. */
static int sync_as_reference(const offbeat_clock *clock, int client) {
    const offbeat_clock_hello hello = offbeat_clock_state_hello(&clock->state);
    int64_t error_valid_until_ns = INT64_MIN;
    int64_t ping[VALUES] = {0}, pong[VALUES] = {0};
    int rc = PMPI_Send(&hello, sizeof hello, MPI_BYTE, client, TAG_HELLO, clock->tree.comm);
    for (;;) {
        if (rc == MPI_SUCCESS)
            rc = receive_values(clock, ping, client, TAG_PING);
        if (rc != MPI_SUCCESS || !ping[PING_NEEDS_ANSWER])
            return rc;
        const int64_t now_ns = offbeat_clock_local_ns(clock);
        pong[PONG_LOCAL_NS] = now_ns;
        pong[PONG_GLOBAL_NS] = offbeat_clock_global_ns(clock, now_ns);
        if (now_ns > error_valid_until_ns)
            pong[PONG_ERROR_NS] = offbeat_clock_state_error_ns(&clock->state, now_ns, now_ns);
        rc = PMPI_Send(pong, VALUES, MPI_INT64_T, client, TAG_PONG, clock->tree.comm);
        error_valid_until_ns = now_ns + ERROR_HORIZON_NS;
        pong[PONG_ERROR_NS] = offbeat_clock_state_error_ns(&clock->state, now_ns, error_valid_until_ns);
    }
}

int offbeat_clock_sync(offbeat_clock *clock) {
    if (clock == NULL)
        return MPI_ERR_ARG;
    const int64_t began_ns = offbeat_clock_local_ns(clock);
    offbeat_clock_sync_step step;
    int rc = MPI_SUCCESS;
    clock->facts = (offbeat_sync_facts){.contradictions = clock->state.contradictions};
    if (clock->tree.rank == 0)
        offbeat_clock_state_set_root(&clock->state, began_ns);
    for (int i = 0; rc == MPI_SUCCESS && offbeat_clock_sync_schedule_step(&clock->schedule, i, &step); i++)
        rc = step.is_reference ? sync_as_reference(clock, step.peer) : sync_as_client(clock, step.peer);
    clock->synced_at_ns = offbeat_clock_local_ns(clock);
    clock->facts.duration_ns = clock->synced_at_ns - began_ns;
    clock->facts.bound_ns = offbeat_clock_bound_ns(clock, clock->synced_at_ns);
    clock->facts.slope_ppb = clock->state.model.line.slope * 1e9;
    clock->facts.contradictions = clock->state.contradictions;
    return rc;
}
