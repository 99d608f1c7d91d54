/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file measure.c
 * The measurement loop: a harmonised start plus this process's delay, the collective, and two timestamps.
 *
 * Salimi Beni, Cosenza and Hunold, "MPI Collective Algorithm Selection in the Presence of Process Arrival
 * Patterns", Listing 1. A repetition is invalid if any process may have missed its planned start by more than
 * the tolerance, where its lateness and the error bound of its clock add up. An invalid repetition is
 * recorded with its flag and repeated.
 *
 * With a sequence each repetition has the delays of one call, from a file that only rank 0 reads: each line
 * is a call, with one delay per rank in whole nanoseconds, separated by blanks. Text after a '#' is a
 * comment, and blank lines are skipped. The next repetition has the delays of the next call if this one is
 * valid, and of the same call otherwise; the first call follows the last.
 */
#define _GNU_SOURCE
#include "benchmark/session.h"

#include "control/p2p_collectives.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* --- sequences --- */

#define SEQUENCE_UNREADABLE "the sequence file could not be read"

/** The delays of one process, one per call. */
typedef struct sequence {
    int64_t calls;
    int64_t *delays_ns;
} sequence;

/** The delays of all processes, on rank 0: p values per call. */
typedef struct delay_table {
    int64_t *values;
    size_t calls, capacity;
    int p;
} delay_table;

/* A relative path is relative to the directory of the sample file. */
static FILE *open_file(const offbeat_session *session, const char *path) {
    const char *slash = session->samples ? strrchr(session->samples, '/') : NULL;
    if (*path == '/' || !slash)
        return fopen(path, "r");
    char *full_path = NULL;
    if (asprintf(&full_path, "%.*s/%s", (int)(slash - session->samples), session->samples, path) < 0)
        offbeat_fatal("no memory for a path");
    FILE *file = fopen(full_path, "r");
    free(full_path);
    return file;
}

static int64_t *next_row(delay_table *table) {
    if (table->calls == table->capacity) {
        table->capacity = table->capacity ? 2 * table->capacity : 64;
        int64_t *values = realloc(table->values, table->capacity * (size_t)table->p * sizeof *values);
        if (!values)
            offbeat_fatal("no memory for the calls of a sequence");
        table->values = values;
    }
    return table->values + table->calls * (size_t)table->p;
}

/* Parses the delays of one line. @return their number; -1 if there are invalid or too many delays */
static int parse_line(char *line, int64_t *row, int p) {
    char *comment = strchr(line, '#');
    if (comment)
        *comment = '\0';
    int count = 0;
    char *rest = NULL;
    for (char *number = strtok_r(line, " \t\r\n", &rest); number; number = strtok_r(NULL, " \t\r\n", &rest)) {
        char *end;
        errno = 0;
        long long delay = strtoll(number, &end, 10);
        if (count == p || *end || errno || delay < 0 || delay > OFFBEAT_MAX_NS)
            return -1;
        row[count++] = delay;
    }
    return count;
}

/* @return NULL, or an error message (static storage) */
static const char *read_table(FILE *file, delay_table *table) {
    static char why[128];
    char *line = NULL;
    size_t capacity = 0;
    const char *error = NULL;
    for (long line_number = 1; !error && getline(&line, &capacity, file) > 0; line_number++) {
        int count = parse_line(line, next_row(table), table->p);
        if (count != 0 && count != table->p) {
            snprintf(why, sizeof why, "line %ld of the sequence does not have %d delays in nanoseconds",
                     line_number, table->p);
            error = why;
        }
        table->calls += count == table->p;
    }
    free(line);
    if (!error && ferror(file))
        error = SEQUENCE_UNREADABLE;
    if (!error && (table->calls == 0 || table->calls > INT_MAX))
        error = table->calls ? "the sequence has too many calls" : "the sequence has no calls";
    return error;
}

/* @return NULL, or an error message */
static const char *read_file(const offbeat_session *session, const char *path, delay_table *table) {
    FILE *file = open_file(session, path);
    if (!file)
        return SEQUENCE_UNREADABLE;
    const char *error = read_table(file, table);
    fclose(file);
    return error;
}

/* Rank 0 sends each process its column. Its own column is the last, and remains in the buffer. */
static void scatter_columns(const delay_table *table, int64_t *column, MPI_Comm comm) {
    for (int rank = table->p - 1; rank >= 0; rank--) {
        for (size_t call = 0; call < table->calls; call++)
            column[call] = table->values[call * (size_t)table->p + (size_t)rank];
        if (rank > 0)
            MPI_Send(column, (int)table->calls, MPI_INT64_T, rank, OFFBEAT_TAG_SEQUENCE, comm);
    }
}

/*
 * Reads a file on rank 0 and sends every process its own delays. Collective.
 * @param path relative to the directory of the sample file, unless it begins with '/'
 * @return 0, or -1 on all processes after answering with the error
 */
static int read_sequence(offbeat_session *session, const char *path, sequence *own) {
    delay_table table = {.p = session->p};
    const char *error = session->rank == 0 ? read_file(session, path, &table) : NULL;
    *own = (sequence){.calls = error ? 0 : (int64_t)table.calls};
    offbeat_p2p_broadcast(&own->calls, sizeof own->calls, session->control);
    if (own->calls > 0) {
        own->delays_ns = malloc((size_t)own->calls * sizeof *own->delays_ns);
        if (!own->delays_ns)
            offbeat_fatal("no memory for the calls of a sequence");
        if (session->rank == 0)
            scatter_columns(&table, own->delays_ns, session->control);
        else
            MPI_Recv(own->delays_ns, (int)own->calls, MPI_INT64_T, 0, OFFBEAT_TAG_SEQUENCE, session->control,
                     MPI_STATUS_IGNORE);
    }
    free(table.values);
    if (error)
        offbeat_answer_failure(&session->answer, error);
    return own->calls > 0 ? 0 : -1;
}

/* --- repetitions --- */

/** One repetition on one process; times in ns since the deadline on the shared clock. */
typedef struct repetition {
    int64_t arrival, exit;
    int64_t overshoot; /* arrival after the planned start */
    int64_t bound;     /* error bound of the shared clock */
} repetition;

/** All repetitions of a block. Rank 0 alone knows which are valid on all processes. */
typedef struct record {
    repetition *repetitions;
    int64_t *is_valid, valid;
    size_t tried, capacity;
    int64_t start_ns;
    int failed; /* the collective returned an error */
} record;

typedef struct limits {
    int64_t repetitions, attempts, duration_ns, tolerance_ns;
    int64_t unrecorded; /* discarded first repetitions, which take longer after other work */
} limits;

/** The delays of this process: constant, or those of a sequence. */
typedef struct delay_plan {
    int64_t delay_ns;
    sequence sequence; /* of 0 calls: the delay is constant */
    int64_t first_call;
} delay_plan;

/* The tolerance in ns, or in error bounds of the worst clock at its last synchronisation; the larger of the
 * two. Collective. */
static int64_t read_tolerance(const offbeat_session *session, const offbeat_command *command) {
    int64_t tolerance_ns = offbeat_command_number_or(command, "tolerance_ns", INT64_MAX);
    int64_t bounds = offbeat_command_number(command, "tolerance_bounds");
    int64_t bound_ns = offbeat_clock_sync_facts(session->clock).bound_ns;
    offbeat_p2p_allreduce(&bound_ns, 1, OFFBEAT_MAX, session->control);
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
        .unrecorded = offbeat_command_number(command, "unrecorded"),
    };
}

/* Collective. @return 0, or -1 on all processes after answering with the error */
static int read_delays(offbeat_session *session, const offbeat_command *command, delay_plan *plan) {
    *plan = (delay_plan){.delay_ns = offbeat_command_list_item(command, "delays", session->rank)};
    const char *path = offbeat_command_text(command, "sequence");
    if (!path)
        return 0;
    plan->first_call = offbeat_command_number(command, "call");
    return read_sequence(session, path, &plan->sequence);
}

/* The call of the sequence after @p valid valid repetitions; 0 without a sequence. */
static int64_t call_after(const delay_plan *plan, int64_t valid) {
    return plan->sequence.calls ? (plan->first_call + valid) % plan->sequence.calls : 0;
}

static int64_t delay_of_call(const delay_plan *plan, int64_t call) {
    return plan->sequence.calls ? plan->sequence.delays_ns[call] : plan->delay_ns;
}

/* Whether the lateness of this process plus the error bound of its clock exceeds the tolerance; cannot
 * overflow with the tolerance INT64_MAX. */
static int exceeds_tolerance(const repetition *r, int64_t tolerance_ns) {
    return r->overshoot > tolerance_ns - r->bound;
}

/* Runs one repetition. @param[out] is_valid correct on rank 0 alone
 * @return whether the collective failed: on rank 0, on any process; elsewhere, on this process */
static int run_repetition(offbeat_session *session, offbeat_call *call, int64_t delay_ns,
                          int64_t tolerance_ns, repetition *r, int *is_valid) {
    offbeat_start start;
    offbeat_session_start(session, delay_ns, &start);
    int64_t arrival = offbeat_clock_local_ns(session->clock);
    int error = offbeat_call_run(call);
    int64_t exit = offbeat_clock_local_ns(session->clock);
    *r = (repetition){
        .arrival = offbeat_clock_global_ns(session->clock, arrival) - start.deadline_ns,
        .exit = offbeat_clock_global_ns(session->clock, exit) - start.deadline_ns,
        .bound = start.bound_ns,
    };
    r->overshoot = r->arrival - delay_ns;
    int64_t worst[2] = {exceeds_tolerance(r, tolerance_ns), error != MPI_SUCCESS};
    offbeat_p2p_reduce(worst, 2, OFFBEAT_MAX, session->control);
    *is_valid = !worst[0];
    return session->rank == 0 ? worst[1] != 0 : error != MPI_SUCCESS;
}

/* Rank 0, which counts valid repetitions, decides whether there is another one, and with which call of the
 * sequence. Collective. */
static int should_continue(offbeat_session *session, const limits *limit, const delay_plan *plan,
                           const record *samples, int64_t *call) {
    int64_t decision[2] = {0};
    if (session->rank == 0) {
        int64_t elapsed_ns = offbeat_clock_local_ns(session->clock) - samples->start_ns;
        decision[0] = !samples->failed && samples->valid < limit->repetitions &&
                      (int64_t)samples->tried < limit->attempts &&
                      (samples->tried == 0 || elapsed_ns < limit->duration_ns);
        decision[1] = call_after(plan, samples->valid);
    }
    offbeat_p2p_broadcast(decision, sizeof decision, session->control);
    *call = decision[1];
    return (int)decision[0];
}

static void write_samples(int rank, const void *data, size_t bytes, void *file) {
    (void)rank;
    if (file)
        fwrite(data, 1, bytes, file);
}

/*
 * The sample file: for each rank in order, for each repetition in order, four int64 (arrival, exit,
 * overshoot, bound) in the machine's byte order; then one int64 per repetition (1 valid, 0 not). Each measure
 * overwrites the file.
 */
static int save_samples(offbeat_session *session, const record *samples) {
    FILE *file = NULL;
    if (session->rank == 0 && session->samples)
        file = fopen(session->samples, "wb");
    offbeat_p2p_gather(samples->repetitions, samples->tried * sizeof *samples->repetitions, write_samples,
                       file, session->control);
    if (session->rank != 0)
        return 0;
    if (!file)
        return -1;
    size_t written = fwrite(samples->is_valid, sizeof *samples->is_valid, samples->tried, file);
    int failed = ferror(file) || written != samples->tried;
    return fclose(file) == 0 && !failed ? 0 : -1;
}

/* Allocates memory for one more repetition. The number of attempts may be too large to allocate in advance.
 */
static void reserve(record *samples) {
    if (samples->tried < samples->capacity)
        return;
    samples->capacity = samples->capacity ? 2 * samples->capacity : 256;
    repetition *repetitions = realloc(samples->repetitions, samples->capacity * sizeof *repetitions);
    int64_t *is_valid = repetitions ? realloc(samples->is_valid, samples->capacity * sizeof *is_valid) : NULL;
    if (!is_valid)
        offbeat_fatal("no memory for more repetitions");
    samples->repetitions = repetitions;
    samples->is_valid = is_valid;
}

static void answer_measure(offbeat_session *session, const record *samples, const delay_plan *plan) {
    offbeat_answer *answer = offbeat_session_answer(session);
    offbeat_answer_number(answer, "tried", (int64_t)samples->tried);
    offbeat_answer_number(answer, "valid", samples->valid);
    if (plan->sequence.calls) {
        offbeat_answer_number(answer, "calls", plan->sequence.calls);
        offbeat_answer_number(answer, "next", call_after(plan, samples->valid));
    }
    offbeat_answer_end(answer);
}

static void measure_call(offbeat_session *session, offbeat_call *call, const limits *limit,
                         const delay_plan *plan) {
    repetition discarded;
    int is_valid;
    for (int64_t i = 0; i < limit->unrecorded; i++)
        run_repetition(session, call, delay_of_call(plan, plan->first_call), limit->tolerance_ns, &discarded,
                       &is_valid);
    record samples = {.start_ns = offbeat_clock_local_ns(session->clock)};
    int64_t next_call;
    while (should_continue(session, limit, plan, &samples, &next_call)) {
        reserve(&samples);
        samples.failed = run_repetition(session, call, delay_of_call(plan, next_call), limit->tolerance_ns,
                                        &samples.repetitions[samples.tried], &is_valid);
        samples.is_valid[samples.tried++] = is_valid;
        samples.valid += is_valid;
    }
    int save_status = save_samples(session, &samples);
    if (samples.failed)
        offbeat_answer_failure(&session->answer, "the collective returned an error while it was measured");
    else if (save_status != 0)
        offbeat_answer_failure(&session->answer, "the sample file could not be written");
    else
        answer_measure(session, &samples, plan);
    free(samples.repetitions);
    free(samples.is_valid);
}

void offbeat_measure(offbeat_session *session, const offbeat_command *command) {
    offbeat_call *call = offbeat_session_call(session, command);
    if (!call)
        return;
    delay_plan plan;
    limits limit = read_limits(session, command);
    if (read_delays(session, command, &plan) == 0) {
        int64_t warmups = offbeat_command_number(command, "warmups");
        for (int64_t i = 0; i < warmups; i++)
            offbeat_call_run(call);
        measure_call(session, call, &limit, &plan);
        free(plan.sequence.delays_ns);
    }
    offbeat_call_free(&call);
}
