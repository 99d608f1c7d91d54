/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "benchmark/sequence.h"

#include "control/p2p_collectives.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

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
        error = OFFBEAT_SEQUENCE_UNREADABLE;
    if (!error && (table->calls == 0 || table->calls > INT_MAX))
        error = table->calls ? "the sequence has too many calls" : "the sequence has no calls";
    return error;
}

/* @return NULL, or an error message */
static const char *read_file(const offbeat_session *session, const char *path, delay_table *table) {
    FILE *file = open_file(session, path);
    if (!file)
        return OFFBEAT_SEQUENCE_UNREADABLE;
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

int offbeat_sequence_read(offbeat_session *session, const char *path, offbeat_sequence *sequence) {
    delay_table table = {.p = session->p};
    const char *error = session->rank == 0 ? read_file(session, path, &table) : NULL;
    *sequence = (offbeat_sequence){.calls = error ? 0 : (int64_t)table.calls};
    offbeat_p2p_broadcast(&sequence->calls, sizeof sequence->calls, session->control);
    if (sequence->calls > 0) {
        sequence->delays_ns = malloc((size_t)sequence->calls * sizeof *sequence->delays_ns);
        if (!sequence->delays_ns)
            offbeat_fatal("no memory for the calls of a sequence");
        if (session->rank == 0)
            scatter_columns(&table, sequence->delays_ns, session->control);
        else
            MPI_Recv(sequence->delays_ns, (int)sequence->calls, MPI_INT64_T, 0, OFFBEAT_TAG_SEQUENCE,
                     session->control, MPI_STATUS_IGNORE);
    }
    free(table.values);
    if (error)
        offbeat_answer_failure(&session->answer, error);
    return sequence->calls > 0 ? 0 : -1;
}

void offbeat_sequence_free(offbeat_sequence *sequence) {
    free(sequence->delays_ns);
    *sequence = (offbeat_sequence){0};
}
