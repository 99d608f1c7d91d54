/* SPDX-License-Identifier: BSD-3-Clause */
/** @file sequence.c  Reading a sequence of calls, and handing it out. */
#define _GNU_SOURCE
#include "benchmark/sequence.h"

#include "control/abandon.h"
#include "control/tree.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

/** The delays of all processes at rank 0: a row a call. */
typedef struct table {
    int64_t *values;
    size_t calls, room;
    int p;
} table;

/* Opens a file; one without a folder's path stands beside the sample file. */
static FILE *open_file(const offbeat_session *session, const char *path) {
    const char *slash = session->samples ? strrchr(session->samples, '/') : NULL;
    if (*path == '/' || !slash)
        return fopen(path, "r");
    char *beside = NULL;
    if (asprintf(&beside, "%.*s/%s", (int)(slash - session->samples), session->samples, path) < 0)
        offbeat_abandon("no memory for a file's name");
    FILE *file = fopen(beside, "r");
    free(beside);
    return file;
}

static int64_t *next_row(table *rows) {
    if (rows->calls == rows->room) {
        rows->room = rows->room ? 2 * rows->room : 64;
        int64_t *values = realloc(rows->values, rows->room * (size_t)rows->p * sizeof *values);
        if (!values)
            offbeat_abandon("no memory for the calls of a sequence");
        rows->values = values;
    }
    return rows->values + rows->calls * (size_t)rows->p;
}

/* Takes the numbers of one line. @return how many there were; -1 for anything but delays, or too many */
static int take_line(char *line, int64_t *row, int p) {
    char *comment = strchr(line, '#');
    if (comment)
        *comment = '\0';
    int count = 0;
    char *rest = NULL;
    for (char *word = strtok_r(line, " \t\r\n", &rest); word; word = strtok_r(NULL, " \t\r\n", &rest)) {
        char *end;
        errno = 0;
        long long delay = strtoll(word, &end, 10);
        if (count == p || *end || errno || delay < 0 || delay > OFFBEAT_LONGEST_NS)
            return -1;
        row[count++] = delay;
    }
    return count;
}

/* @return NULL, or what is wrong (static storage) */
static const char *read_table(FILE *file, table *rows) {
    static char why[128];
    char *line = NULL;
    size_t room = 0;
    const char *fault = NULL;
    for (long number = 1; !fault && getline(&line, &room, file) > 0; number++) {
        int count = take_line(line, next_row(rows), rows->p);
        if (count != 0 && count != rows->p) {
            snprintf(why, sizeof why, "line %ld of the sequence does not have %d delays in nanoseconds",
                     number, rows->p);
            fault = why;
        }
        rows->calls += count == rows->p;
    }
    free(line);
    if (!fault && ferror(file))
        fault = OFFBEAT_SEQUENCE_UNREAD;
    if (!fault && (rows->calls == 0 || rows->calls > INT_MAX))
        fault = rows->calls ? "the sequence has too many calls" : "the sequence has no calls";
    return fault;
}

/* Rank 0's part: from the file to the table. @return NULL, or what is wrong */
static const char *load(const offbeat_session *session, const char *path, table *rows) {
    FILE *file = open_file(session, path);
    if (!file)
        return OFFBEAT_SEQUENCE_UNREAD;
    const char *fault = read_table(file, rows);
    fclose(file);
    return fault;
}

/* Rank 0 sends each process its column; its own comes last and stays. */
static void hand_out(const table *rows, int64_t *column, MPI_Comm comm) {
    for (int rank = rows->p - 1; rank >= 0; rank--) {
        for (size_t call = 0; call < rows->calls; call++)
            column[call] = rows->values[call * (size_t)rows->p + (size_t)rank];
        if (rank > 0)
            MPI_Send(column, (int)rows->calls, MPI_INT64_T, rank, OFFBEAT_TAG_SEQUENCE, comm);
    }
}

int offbeat_sequence_read(offbeat_session *session, const char *path, offbeat_sequence *sequence) {
    table rows = {.p = session->p};
    const char *fault = session->rank == 0 ? load(session, path, &rows) : NULL;
    *sequence = (offbeat_sequence){.calls = fault ? 0 : (int64_t)rows.calls};
    offbeat_tree_broadcast(&sequence->calls, sizeof sequence->calls, session->control);
    if (sequence->calls > 0) {
        sequence->delays_ns = malloc((size_t)sequence->calls * sizeof *sequence->delays_ns);
        if (!sequence->delays_ns)
            offbeat_abandon("no memory for the calls of a sequence");
        if (session->rank == 0)
            hand_out(&rows, sequence->delays_ns, session->control);
        else
            MPI_Recv(sequence->delays_ns, (int)sequence->calls, MPI_INT64_T, 0, OFFBEAT_TAG_SEQUENCE,
                     session->control, MPI_STATUS_IGNORE);
    }
    free(rows.values);
    if (fault)
        offbeat_answer_failure(session, fault);
    return sequence->calls > 0 ? 0 : -1;
}

void offbeat_sequence_free(offbeat_sequence *sequence) {
    free(sequence->delays_ns);
    *sequence = (offbeat_sequence){0};
}
