/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The shared clock: the messages of a sync, and the answers. Whom a process meets is in order.c, what it
 * makes of the exchanges in lesson.c, how a clock is made in create.c.
 */
#include "clock/clock.h"

#include "clock/messages.h"

enum { TAG_OPENING = 2, TAG_PING = 3, TAG_PONG = 4 };

/* Polls before a waiting process gives its core away: some ten microseconds, more than a round trip on a
 * network, so that the accuracy doesn't suffer where every process has a core. */
enum { PATIENCE = 200 };

/* For so long ahead a teacher knows the error of its answers, so that it need not think between a question
 * and its answer, where every nanosecond makes the two ways differ. */
static const int64_t ERROR_HORIZON_NS = 1000 * 1000;

int64_t offbeat_clock_local_ns(const offbeat_clock *clock) {
    return offbeat_source_now_ns(&clock->source);
}

int64_t offbeat_clock_global_ns(const offbeat_clock *clock, int64_t local_ns) {
    return offbeat_model_global_ns(&clock->pupil.model, local_ns);
}

int64_t offbeat_clock_to_local_ns(const offbeat_clock *clock, int64_t global_ns) {
    return offbeat_model_local_ns(&clock->pupil.model, global_ns);
}

int64_t offbeat_clock_bound_ns(const offbeat_clock *clock, int64_t local_ns) {
    return offbeat_model_bound_ns(&clock->pupil.model, local_ns);
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
    return clock->pupil.model.is_shared;
}

int64_t offbeat_clock_age_ns(const offbeat_clock *clock) {
    return offbeat_clock_local_ns(clock) - clock->synced_at_ns;
}

int64_t offbeat_clock_resolution_ns(const offbeat_clock *clock) {
    return clock->pupil.resolution_ns;
}

const char *offbeat_clock_source(const offbeat_clock *clock) {
    return offbeat_source_name(&clock->source);
}

const char *offbeat_clock_method(const offbeat_clock *clock) {
    return clock->pupil.method->name;
}

const char *offbeat_clock_method_name(int index) {
    for (int i = 0; i <= index; i++)
        if (i == index || offbeat_methods[i].name == NULL)
            return offbeat_methods[i].name;
    return NULL;
}

offbeat_sync_facts offbeat_clock_sync_facts(const offbeat_clock *clock) {
    return clock->facts;
}

int offbeat_clock_compare(const offbeat_clock *clock, MPI_Comm comm, int *result) {
    return PMPI_Comm_compare(clock->comm, comm, result);
}

/* A question is as long as its answer, so that both take the same time. */
enum { WORDS = 3 };

static int ask(const offbeat_clock *clock, int teacher, int64_t wants_more) {
    const int64_t question[WORDS] = {wants_more};
    return PMPI_Send(question, WORDS, MPI_INT64_T, teacher, TAG_PING, clock->comm);
}

/* One ping-pong with the teacher. */
static int exchange_with(const offbeat_clock *clock, int teacher, offbeat_exchange *exchange) {
    int64_t answer[WORDS] = {0};
    exchange->sent_ns = offbeat_clock_local_ns(clock);
    int rc = ask(clock, teacher, 1);
    if (rc == MPI_SUCCESS)
        rc = offbeat_receive(answer, WORDS, MPI_INT64_T, teacher, TAG_PONG, clock->comm, PATIENCE);
    exchange->received_ns = offbeat_clock_local_ns(clock);
    exchange->answered_ns = answer[0];
    exchange->answered_error_ns = answer[1];
    exchange->answered_local_ns = answer[2];
    return rc;
}

/* Learns the shared clock from another process, once that knows it. */
static int learn(offbeat_clock *clock, int teacher) {
    offbeat_opening opening;
    offbeat_lesson lesson;
    int rc = offbeat_receive(&opening, sizeof opening, MPI_BYTE, teacher, TAG_OPENING, clock->comm, PATIENCE);
    offbeat_lesson_begin(&lesson, &clock->pupil, &opening);
    while (rc == MPI_SUCCESS && offbeat_lesson_wants_more(&lesson)) {
        offbeat_exchange exchange;
        rc = exchange_with(clock, teacher, &exchange);
        if (rc == MPI_SUCCESS)
            offbeat_lesson_take(&lesson, &exchange);
    }
    if (rc != MPI_SUCCESS)
        return rc;
    offbeat_lesson_end(&lesson);
    clock->facts.exchanges += lesson.exchanges;
    clock->facts.best_round_trip_ns = offbeat_lesson_best_round_trip_ns(&lesson);
    return ask(clock, teacher, 0);
}

/* Answers a pupil with the shared clock until it has enough. */
static int teach(const offbeat_clock *clock, int learner) {
    const offbeat_opening opening = offbeat_pupil_opening(&clock->pupil);
    int64_t known_until_ns = INT64_MIN;
    int64_t question[WORDS] = {0}, answer[WORDS] = {0};
    int rc = PMPI_Send(&opening, sizeof opening, MPI_BYTE, learner, TAG_OPENING, clock->comm);
    for (;;) {
        if (rc == MPI_SUCCESS)
            rc = offbeat_receive(question, WORDS, MPI_INT64_T, learner, TAG_PING, clock->comm, PATIENCE);
        if (rc != MPI_SUCCESS || !question[0])
            return rc;
        answer[2] = offbeat_clock_local_ns(clock);
        answer[0] = offbeat_clock_global_ns(clock, answer[2]);
        if (answer[2] > known_until_ns)
            answer[1] = offbeat_pupil_error_ns(&clock->pupil, answer[2], answer[2]);
        rc = PMPI_Send(answer, WORDS, MPI_INT64_T, learner, TAG_PONG, clock->comm);
        known_until_ns = answer[2] + ERROR_HORIZON_NS;
        answer[1] = offbeat_pupil_error_ns(&clock->pupil, answer[2], known_until_ns);
    }
}

int offbeat_clock_sync(offbeat_clock *clock) {
    if (clock == NULL)
        return MPI_ERR_ARG;
    const int64_t began_ns = offbeat_clock_local_ns(clock);
    offbeat_meeting meeting;
    int rc = MPI_SUCCESS;
    clock->facts = (offbeat_sync_facts){.contradictions = clock->pupil.contradictions};
    if (clock->rank == 0)
        offbeat_pupil_be_reference(&clock->pupil, began_ns);
    for (int i = 0; rc == MPI_SUCCESS && offbeat_order_meeting(&clock->order, i, &meeting); i++)
        rc = meeting.teaches ? teach(clock, meeting.peer) : learn(clock, meeting.peer);
    clock->synced_at_ns = offbeat_clock_local_ns(clock);
    clock->facts.duration_ns = clock->synced_at_ns - began_ns;
    clock->facts.bound_ns = offbeat_clock_bound_ns(clock, clock->synced_at_ns);
    clock->facts.slope_ppb = clock->pupil.model.line.slope * 1e9;
    clock->facts.contradictions = clock->pupil.contradictions;
    return rc;
}
