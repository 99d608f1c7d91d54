/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file measure.c
 * Measuring a collective: a harmonised start plus this process's delay, the collective, and two timestamps.
 *
 * Salimi Beni, Cosenza and Hunold, "MPI Collective Algorithm Selection in the Presence of Process Arrival
 * Patterns", Listing 1. With a sequence (sequence.h) each repetition has the delays of one call.
 */
#include "benchmark/verbs.h"

#include "benchmark/samples.h"
#include "benchmark/sequence.h"

/** A collective with the delays of this process: constant, or those of a sequence. */
typedef struct delayed_call {
    offbeat_call *call;
    int64_t delay_ns;
    offbeat_sequence sequence; /* of 0 calls: the delay is constant */
} delayed_call;

static int repeat_call(offbeat_session *session, void *state, int64_t call, offbeat_sample *sample) {
    const delayed_call *delayed = state;
    int64_t delay_ns = delayed->sequence.calls ? delayed->sequence.delays_ns[call] : delayed->delay_ns;
    offbeat_start start;
    offbeat_session_start(session, delay_ns, &start);
    int64_t arrival = offbeat_clock_local_ns(session->clock);
    int error = offbeat_call_run(delayed->call);
    int64_t exit = offbeat_clock_local_ns(session->clock);
    *sample = (offbeat_sample){
        .arrival = offbeat_clock_global_ns(session->clock, arrival) - start.deadline_ns,
        .exit = offbeat_clock_global_ns(session->clock, exit) - start.deadline_ns,
        .bound = start.bound_ns,
    };
    sample->overshoot = sample->arrival - delay_ns;
    return error != MPI_SUCCESS;
}

/* Collective. @return 0, or -1 on all processes after answering with the error */
static int read_delays(offbeat_session *session, const offbeat_command *command, delayed_call *delayed) {
    delayed->delay_ns = offbeat_command_list_item(command, "delays", session->rank);
    const char *path = offbeat_command_text(command, "sequence");
    return path ? offbeat_sequence_read(session, path, &delayed->sequence) : 0;
}

static void measure_call(offbeat_session *session, const offbeat_command *command, delayed_call *delayed) {
    int64_t warmups = offbeat_command_number(command, "warmups");
    for (int64_t i = 0; i < warmups; i++)
        offbeat_call_run(delayed->call);
    offbeat_operation operation = {
        .state = delayed,
        .repeat = repeat_call,
        .partitions = 1,
        .failed = "the collective returned an error while it was measured",
        .calls = delayed->sequence.calls,
        .first_call = delayed->sequence.calls ? offbeat_command_number(command, "call") : 0,
    };
    offbeat_answer *answer = offbeat_measure_repeatedly(session, command, &operation);
    if (answer)
        offbeat_answer_end(answer);
}

void offbeat_measure(offbeat_session *session, const offbeat_command *command) {
    delayed_call delayed = {.call = offbeat_session_call(session, command)};
    if (!delayed.call)
        return;
    if (read_delays(session, command, &delayed) == 0) {
        measure_call(session, command, &delayed);
        offbeat_sequence_free(&delayed.sequence);
    }
    offbeat_call_free(&delayed.call);
}
