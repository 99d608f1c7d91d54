/* SPDX-License-Identifier: BSD-3-Clause */
#include "benchmark/samples.h"

#include "control/p2p_collectives.h"

#include <stdlib.h>

/** All repetitions of a block. Rank 0 alone knows which are valid on all processes. */
typedef struct record {
    offbeat_sample *samples; /* per repetition: one for each partition */
    size_t partitions;
    int64_t *is_valid, valid;
    size_t trials, capacity;
    int64_t start_ns;
    int has_failed; /* on rank 0: on any process; elsewhere: on this process */
} record;

typedef struct limits {
    int64_t repetitions, attempts, duration_ns, tolerance_ns;
    int64_t unrecorded_count; /* discarded first repetitions, which take longer after other work */
} limits;

/* The tolerance in ns, or in error bounds of the worst clock at its last synchronisation; the larger of the
 * two. Collective. */
static int64_t read_tolerance(const offbeat_session *session, const offbeat_command *command) {
    int64_t tolerance_ns = offbeat_command_number_or(command, "tolerance_ns", INT64_MAX);
    int64_t bounds = offbeat_command_number(command, "tolerance_bounds");
    int64_t bound_ns = offbeat_clock_sync_facts(session->clock).bound_ns;
    offbeat_p2p_allreduce(&bound_ns, 1, OFFBEAT_MAX, session->control_comm);
    if (bounds > 0 && bound_ns > tolerance_ns / bounds)
        return bound_ns < INT64_MAX / bounds ? bound_ns * bounds : INT64_MAX;
    return tolerance_ns;
}

static limits read_limits(const offbeat_session *session, const offbeat_command *command) {
    return (limits){
        .repetitions = offbeat_command_number(command, "repetitions"),
        .attempts = offbeat_command_number(command, "attempts"),
        .duration_ns = offbeat_command_number_or(command, "duration_ns", INT64_MAX),
        .tolerance_ns = read_tolerance(session, command),
        .unrecorded_count = offbeat_command_number(command, "unrecorded"),
    };
}

/* The call of the sequence after @p valid valid repetitions: the next one after a valid repetition, the same
 * one after an invalid repetition; the first call follows the last. 0 without a sequence. */
static int64_t call_after(const offbeat_operation *operation, int64_t valid) {
    return operation->calls ? (operation->first_call + valid) % operation->calls : 0;
}

/* Whether the lateness of a process plus the error bound of its clock exceeds the tolerance; cannot overflow
 * with the tolerance INT64_MAX. */
static int exceeds_tolerance(const offbeat_sample *samples, size_t count, int64_t tolerance_ns) {
    for (size_t i = 0; i < count; i++)
        if (samples[i].overshoot > tolerance_ns - samples[i].bound)
            return 1;
    return 0;
}

/* Rank 0, which counts valid repetitions, decides whether there is another one, and with which call of the
 * sequence. Collective. */
static int should_continue(offbeat_session *session, const limits *limit, const offbeat_operation *operation,
                           const record *repetitions, int64_t *call) {
    int64_t decision[2] = {0};
    if (session->rank == 0) {
        int64_t elapsed_ns = offbeat_clock_local_ns(session->clock) - repetitions->start_ns;
        decision[0] = !repetitions->has_failed && repetitions->valid < limit->repetitions &&
                      (int64_t)repetitions->trials < limit->attempts &&
                      (repetitions->trials == 0 || elapsed_ns < limit->duration_ns);
        decision[1] = call_after(operation, repetitions->valid);
    }
    offbeat_p2p_broadcast(decision, sizeof decision, session->control_comm);
    *call = decision[1];
    return (int)decision[0];
}

/* Allocates memory for one more repetition. The number of attempts may be too large to allocate in advance.
 * @return the samples of the next repetition */
static offbeat_sample *reserve(record *repetitions) {
    if (repetitions->trials == repetitions->capacity) {
        size_t capacity = repetitions->capacity ? 2 * repetitions->capacity : 256;
        size_t bytes = capacity * repetitions->partitions * sizeof *repetitions->samples;
        offbeat_sample *samples = realloc(repetitions->samples, bytes);
        int64_t *is_valid =
            samples ? realloc(repetitions->is_valid, capacity * sizeof *repetitions->is_valid) : NULL;
        if (!is_valid)
            offbeat_fatal("no memory for more repetitions");
        repetitions->samples = samples;
        repetitions->is_valid = is_valid;
        repetitions->capacity = capacity;
    }
    return repetitions->samples + repetitions->trials * repetitions->partitions;
}

static void add_repetition(offbeat_session *session, const offbeat_operation *operation, int64_t call,
                           int64_t tolerance_ns, record *repetitions) {
    offbeat_sample *samples = reserve(repetitions);
    int has_failed = operation->repeat(session, operation->state, call, samples);
    int64_t worst[2] = {exceeds_tolerance(samples, repetitions->partitions, tolerance_ns), has_failed};
    offbeat_p2p_reduce(worst, 2, OFFBEAT_MAX, session->control_comm);
    repetitions->has_failed = session->rank == 0 ? worst[1] != 0 : has_failed;
    repetitions->is_valid[repetitions->trials++] = !worst[0];
    repetitions->valid += !worst[0];
}

static void write_samples(int rank, const void *data, size_t bytes, void *file) {
    (void)rank;
    if (file)
        fwrite(data, 1, bytes, file);
}

/*
 * The sample file: for each rank in order, for each repetition in order, for each partition in order, four
 * int64 (arrival, exit, overshoot, bound) in the machine's byte order; then one int64 per repetition (1
 * valid, 0 not). Each measurement overwrites the file.
 */
static int save_samples(offbeat_session *session, const record *repetitions) {
    FILE *file = NULL;
    if (session->rank == 0 && session->samples)
        file = fopen(session->samples, "wb");
    size_t count = repetitions->trials * repetitions->partitions;
    offbeat_p2p_gather(repetitions->samples, count * sizeof *repetitions->samples, write_samples, file,
                       session->control_comm);
    if (session->rank != 0)
        return 0;
    if (!file)
        return -1;
    size_t written_count =
        fwrite(repetitions->is_valid, sizeof *repetitions->is_valid, repetitions->trials, file);
    int has_failed = ferror(file) || written_count != repetitions->trials;
    return fclose(file) == 0 && !has_failed ? 0 : -1;
}

static offbeat_answer *answer_counts(offbeat_session *session, const offbeat_operation *operation,
                                     const record *repetitions) {
    offbeat_answer *answer = offbeat_session_answer(session);
    offbeat_answer_number(answer, "tried", (int64_t)repetitions->trials);
    offbeat_answer_number(answer, "valid", repetitions->valid);
    if (operation->calls) {
        offbeat_answer_number(answer, "calls", operation->calls);
        offbeat_answer_number(answer, "next", call_after(operation, repetitions->valid));
    }
    return answer;
}

offbeat_answer *offbeat_measure_repeatedly(offbeat_session *session, const offbeat_command *command,
                                           const offbeat_operation *operation) {
    limits limit = read_limits(session, command);
    record repetitions = {.partitions = (size_t)operation->partitions};
    offbeat_sample *discarded_sample = reserve(&repetitions);
    for (int64_t i = 0; i < limit.unrecorded_count; i++)
        operation->repeat(session, operation->state, operation->first_call, discarded_sample);
    repetitions.start_ns = offbeat_clock_local_ns(session->clock);
    int64_t call;
    while (should_continue(session, &limit, operation, &repetitions, &call))
        add_repetition(session, operation, call, limit.tolerance_ns, &repetitions);
    int save_status = save_samples(session, &repetitions);
    offbeat_answer *answer = NULL;
    if (repetitions.has_failed)
        offbeat_answer_failure(&session->answer, operation->failure_answer);
    else if (save_status != 0)
        offbeat_answer_failure(&session->answer, "the sample file could not be written");
    else
        answer = answer_counts(session, operation, &repetitions);
    free(repetitions.samples);
    free(repetitions.is_valid);
    return answer;
}
