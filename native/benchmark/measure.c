/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file measure.c
 * The measurement loop: a harmonised start plus this process's delay, the collective, and two time stamps.
 *
 * Salimi Beni, Cosenza and Hunold, "MPI Collective Algorithm Selection in the Presence of Process Arrival
 * Patterns", Listing 1. A repetition in which any process may have arrived further from its planned start
 * than the tolerance allows is invalid: how late it was and the error bound of its clock count together. It
 * is written with its flag, counted, and repeated.
 *
 * With a sequence (sequence.h) each repetition has the delays of one recorded call: a valid one moves on to
 * the next, an invalid one repeats its own, and behind the last call comes the first again.
 */
#define _GNU_SOURCE
#include "benchmark/session.h"

#include "benchmark/sequence.h"
#include "control/abandon.h"
#include "control/tree.h"

#include <stdlib.h>
#include <string.h>

#define NO_SEQUENCE ""

/** What one process knows of one repetition; times in ns since the deadline on the shared clock. */
typedef struct repetition {
    int64_t arrival, exit;
    int64_t overshoot; /* arrival after the planned start */
    int64_t bound;     /* error bound of the shared clock */
} repetition;

/** All repetitions of a case, and whether each is valid on all processes (known at rank 0 alone). */
typedef struct record {
    repetition *seen;
    int64_t *valid, valids;
    size_t tried, room;
    int64_t began_ns;
    int failed; /* the collective returned an error */
} record;

typedef struct limits {
    int64_t repetitions, attempts, duration_ns, tolerance_ns;
    int64_t unrecorded; /* repetitions that come first: the first ones after other work take longer */
} limits;

/** With which delays a case is measured: always the same, or those of one call after another. */
typedef struct plan {
    int64_t delay_ns;
    offbeat_sequence sequence; /* without calls: none */
    int64_t first;             /* the call to begin with */
} plan;

/* The larger of a time, and so many times what the last sync left of error in the worst clock. Collective. */
static int64_t read_tolerance(const offbeat_session *session, const offbeat_command *command) {
    int64_t tolerance_ns = offbeat_command_number(command, "tolerance_ns", INT64_MAX);
    int64_t bounds = offbeat_command_number(command, "tolerance_bounds", 0);
    int64_t bound_ns = offbeat_clock_sync_facts(session->clock).bound_ns;
    offbeat_tree_allreduce(&bound_ns, 1, OFFBEAT_MAX, session->control);
    if (bounds > 0 && bound_ns > tolerance_ns / bounds)
        return bound_ns < INT64_MAX / bounds ? bound_ns * bounds : INT64_MAX;
    return tolerance_ns;
}

static limits read_limits(const offbeat_session *session, const offbeat_command *command) {
    return (limits){
        .repetitions = offbeat_command_number(command, "repetitions", 1),
        .attempts = offbeat_command_number(command, "attempts", 1),
        .duration_ns = offbeat_command_number(command, "duration_ns", INT64_MAX),
        .tolerance_ns = read_tolerance(session, command),
        .unrecorded = offbeat_command_number(command, "unrecorded", 0),
    };
}

/* Collective. @return 0, or -1 on all processes after answering why not */
static int read_plan(offbeat_session *session, const offbeat_command *command, plan *planned) {
    *planned = (plan){.delay_ns = offbeat_command_listed(command, "delays", session->rank)};
    const char *file = offbeat_command_text(command, "sequence", NO_SEQUENCE);
    if (!*file)
        return 0;
    planned->first = offbeat_command_number(command, "call", 0);
    return offbeat_sequence_read(session, file, &planned->sequence);
}

/* The call that comes after so many valid repetitions; 0 where there is no sequence. */
static int64_t call_after(const plan *planned, int64_t valid) {
    return planned->sequence.calls ? (planned->first + valid) % planned->sequence.calls : 0;
}

/* Whether a process may have arrived further from its plan than the tolerance allows: as late as it says,
 * and as wrong as its clock can be. Written so that nothing overflows where there is no tolerance. */
static int is_off(const repetition *seen, int64_t tolerance_ns) {
    return seen->overshoot > tolerance_ns - seen->bound;
}

/* One repetition. @return the collective's own error code */
static int repeat_once(offbeat_session *session, offbeat_call *call, int64_t delay_ns, int64_t tolerance_ns,
                       repetition *seen, int *valid) {
    offbeat_start start;
    offbeat_session_start(session, delay_ns, &start);
    int64_t arrival = offbeat_clock_local_ns(session->clock);
    int error = offbeat_call_run(call);
    int64_t exit = offbeat_clock_local_ns(session->clock);
    *seen = (repetition){
        .arrival = offbeat_clock_global_ns(session->clock, arrival) - start.deadline_ns,
        .exit = offbeat_clock_global_ns(session->clock, exit) - start.deadline_ns,
        .bound = start.bound_ns,
    };
    seen->overshoot = seen->arrival - delay_ns;
    int64_t worst[2] = {is_off(seen, tolerance_ns), error != MPI_SUCCESS};
    offbeat_tree_reduce(worst, 2, OFFBEAT_MAX, session->control);
    *valid = !worst[0];
    return session->rank == 0 ? worst[1] != 0 : error != MPI_SUCCESS;
}

/* Rank 0 decides, alone, whether the next repetition takes place, and with which call of the sequence: it
 * alone knows how many were valid. */
static int goes_on(offbeat_session *session, const limits *limit, const plan *planned, const record *taken,
                   int64_t *call) {
    int64_t decision[2] = {0};
    if (session->rank == 0) {
        int64_t spent_ns = offbeat_clock_local_ns(session->clock) - taken->began_ns;
        decision[0] = !taken->failed && taken->valids < limit->repetitions &&
                      (int64_t)taken->tried < limit->attempts &&
                      (taken->tried == 0 || spent_ns < limit->duration_ns);
        decision[1] = call_after(planned, taken->valids);
    }
    offbeat_tree_broadcast(decision, sizeof decision, session->control);
    *call = decision[1];
    return (int)decision[0];
}

static int64_t delay_in(const plan *planned, int64_t call) {
    return planned->sequence.calls ? planned->sequence.delays_ns[call] : planned->delay_ns;
}

static void write_samples(int rank, const void *data, size_t bytes, void *to) {
    (void)rank;
    if (to)
        fwrite(data, 1, bytes, to);
}

/*
 * The sample file: for each rank in order, for each repetition in order, four int64 (arrival, exit,
 * overshoot, bound) in the machine's byte order; then one int64 (1 valid, 0 not) a repetition. Written anew
 * at each measure.
 */
static int save(offbeat_session *session, const record *taken) {
    FILE *file = NULL;
    if (session->rank == 0 && session->samples)
        file = fopen(session->samples, "wb");
    offbeat_gather(taken->seen, taken->tried * sizeof *taken->seen, write_samples, file, session->control);
    if (session->rank != 0)
        return 0;
    if (!file)
        return -1;
    size_t written = fwrite(taken->valid, sizeof *taken->valid, taken->tried, file);
    int failed = ferror(file) || written != taken->tried;
    return fclose(file) == 0 && !failed ? 0 : -1;
}

/* Room for one more repetition: memory is taken as it is needed, as many attempts may be allowed. */
static void make_room(record *taken) {
    if (taken->tried < taken->room)
        return;
    taken->room = taken->room ? 2 * taken->room : 256;
    repetition *seen = realloc(taken->seen, taken->room * sizeof *seen);
    int64_t *valid = seen ? realloc(taken->valid, taken->room * sizeof *valid) : NULL;
    if (!valid)
        offbeat_abandon("no memory for more repetitions");
    taken->seen = seen;
    taken->valid = valid;
}

static void answer(offbeat_session *session, const record *taken, const plan *planned) {
    if (!session->answers)
        return;
    fprintf(session->answers, "@offbeat {\"ok\":true,\"tried\":%lld,\"valid\":%lld", (long long)taken->tried,
            (long long)taken->valids);
    if (planned->sequence.calls)
        fprintf(session->answers, ",\"calls\":%lld,\"next\":%lld", (long long)planned->sequence.calls,
                (long long)call_after(planned, taken->valids));
    fputs("}\n", session->answers);
}

static void measure_call(offbeat_session *session, offbeat_call *call, const limits *limit,
                         const plan *planned) {
    repetition seen;
    int was_valid;
    for (int64_t i = 0; i < limit->unrecorded; i++)
        repeat_once(session, call, delay_in(planned, planned->first), limit->tolerance_ns, &seen, &was_valid);
    record taken = {.began_ns = offbeat_clock_local_ns(session->clock)};
    int64_t number;
    while (goes_on(session, limit, planned, &taken, &number)) {
        make_room(&taken);
        taken.failed = repeat_once(session, call, delay_in(planned, number), limit->tolerance_ns,
                                   &taken.seen[taken.tried], &was_valid);
        taken.valid[taken.tried++] = was_valid;
        taken.valids += was_valid;
    }
    int saved = save(session, &taken);
    if (taken.failed)
        offbeat_answer_failure(session, "the collective returned an error while it was measured");
    else if (saved != 0)
        offbeat_answer_failure(session, "the sample file could not be written");
    else
        answer(session, &taken, planned);
    free(taken.seen);
    free(taken.valid);
}

void offbeat_measure(offbeat_session *session, const offbeat_command *command) {
    offbeat_call *call = offbeat_session_call(session, command);
    if (!call)
        return;
    plan planned;
    limits limit = read_limits(session, command);
    if (read_plan(session, command, &planned) == 0) {
        int64_t warmups = offbeat_command_number(command, "warmups", 1);
        for (int64_t i = 0; i < warmups; i++)
            offbeat_call_run(call);
        measure_call(session, call, &limit, &planned);
        offbeat_sequence_free(&planned.sequence);
    }
    offbeat_call_free(&call);
}
