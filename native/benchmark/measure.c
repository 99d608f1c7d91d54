/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file measure.c
 * Measuring a collective: a harmonised start plus this process's delay, the collective, and two timestamps.
 *
 * Salimi Beni, Cosenza and Hunold, "MPI Collective Algorithm Selection in the Presence of Process Arrival
 * Patterns", Listing 1. With several communicators, each has the same delays. With a sequence each repetition
 * has the delays of one call, from a file that only rank 0 reads: each line is a call, with one delay per
 * rank of a communicator in whole nanoseconds, separated by blanks. Text after a '#' is a comment, and blank
 * lines are skipped.
 */
#define _GNU_SOURCE
#include "benchmark/communicators.h"
#include "benchmark/samples.h"
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

/** The delays of the p processes of a communicator, on rank 0: p values per call. */
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
    char *strtok_state = NULL;
    for (char *number = strtok_r(line, " \t\r\n", &strtok_state); number;
         number = strtok_r(NULL, " \t\r\n", &strtok_state)) {
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
static void scatter_columns(const offbeat_session *session, const offbeat_layout *layout,
                            const delay_table *table, int64_t *column) {
    for (int rank = session->p - 1; rank >= 0; rank--) {
        size_t member = (size_t)offbeat_layout_member(layout, rank);
        for (size_t call = 0; call < table->calls; call++)
            column[call] = table->values[call * (size_t)table->p + member];
        if (rank > 0)
            MPI_Send(column, (int)table->calls, MPI_INT64_T, rank, OFFBEAT_TAG_SEQUENCE,
                     session->control_comm);
    }
}

/*
 * Reads a file on rank 0 and sends every process its own delays. Collective.
 * @param path relative to the directory of the sample file, unless it begins with '/'
 * @return 0, or -1 on all processes after answering with the error
 */
static int read_sequence(offbeat_session *session, const offbeat_layout *layout, const char *path,
                         sequence *rank_sequence) {
    delay_table table = {.p = layout->size};
    const char *error = session->rank == 0 ? read_file(session, path, &table) : NULL;
    *rank_sequence = (sequence){.calls = error ? 0 : (int64_t)table.calls};
    offbeat_p2p_broadcast(&rank_sequence->calls, sizeof rank_sequence->calls, session->control_comm);
    if (rank_sequence->calls > 0) {
        rank_sequence->delays_ns = malloc((size_t)rank_sequence->calls * sizeof *rank_sequence->delays_ns);
        if (!rank_sequence->delays_ns)
            offbeat_fatal("no memory for the calls of a sequence");
        if (session->rank == 0)
            scatter_columns(session, layout, &table, rank_sequence->delays_ns);
        else
            MPI_Recv(rank_sequence->delays_ns, (int)rank_sequence->calls, MPI_INT64_T, 0,
                     OFFBEAT_TAG_SEQUENCE, session->control_comm, MPI_STATUS_IGNORE);
    }
    free(table.values);
    if (error)
        offbeat_answer_failure(&session->answer, error);
    return rank_sequence->calls > 0 ? 0 : -1;
}

/* --- the measurement --- */

/** A collective with the delays of this process: constant, or those of a sequence. */
typedef struct delayed_call {
    offbeat_call *call;
    int64_t delay_ns;
    sequence sequence; /* of 0 calls: the delay is constant */
} delayed_call;

static int repeat_call(offbeat_session *session, void *state, int64_t call, offbeat_sample *sample) {
    const delayed_call *call_state = state;
    int64_t delay_ns =
        call_state->sequence.calls ? call_state->sequence.delays_ns[call] : call_state->delay_ns;
    offbeat_start start;
    offbeat_session_start(session, delay_ns, &start);
    int64_t arrival = offbeat_clock_local_ns(session->clock);
    int error = offbeat_call_run(call_state->call);
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
static int read_delays(offbeat_session *session, const offbeat_command *command, const offbeat_layout *layout,
                       delayed_call *call_state) {
    int member = offbeat_layout_member(layout, session->rank);
    call_state->delay_ns = offbeat_command_list_item(command, "delays", member);
    const char *path = offbeat_command_text(command, "sequence");
    return path ? read_sequence(session, layout, path, &call_state->sequence) : 0;
}

static void measure_call(offbeat_session *session, const offbeat_command *command, delayed_call *call_state) {
    int64_t warmups = offbeat_command_number(command, "warmups");
    for (int64_t i = 0; i < warmups; i++)
        offbeat_call_run(call_state->call);
    offbeat_operation operation = {
        .state = call_state,
        .repeat = repeat_call,
        .partitions = 1,
        .failure_answer = "the collective returned an error while it was measured",
        .calls = call_state->sequence.calls,
        .first_call = call_state->sequence.calls ? offbeat_command_number(command, "call") : 0,
    };
    offbeat_answer *answer = offbeat_measure_repeatedly(session, command, &operation);
    if (answer)
        offbeat_answer_end(answer);
}

void offbeat_measure(offbeat_session *session, const offbeat_command *command) {
    offbeat_layout layout;
    delayed_call call_state = {.call = offbeat_call_in_layout(session, command, &layout)};
    if (!call_state.call)
        return;
    if (read_delays(session, command, &layout, &call_state) == 0) {
        measure_call(session, command, &call_state);
        free(call_state.sequence.delays_ns);
    }
    offbeat_call_free(&call_state.call);
}
