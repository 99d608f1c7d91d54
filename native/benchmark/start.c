/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file start.c
 * How processes leave a start, by a barrier or harmonised, and how long the collective behind it seems to
 * take.
 *
 * Schuchart, Hunold and Bosilca, "MPI Process Synchronization in Space and Time", EuroMPI 2023: the loop of
 * section 2 (start, time stamp, collective, time stamp) and the skew of section 2.2. As there, nothing comes
 * between the collective of one repetition and the start of the next; what was seen is combined afterwards.
 */
#include "benchmark/answer.h"
#include "benchmark/session.h"

#include "control/abandon.h"
#include "control/tree.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

/** What is kept of a repetition. Each becomes a list of the answer, combined over all processes; times are on
 * the shared clock, and `least` and `most` are what the clock's error leaves possible. */
enum column {
    FIRST_LEFT,      /* the first process left the start */
    LAST_LEFT,       /* the last one did */
    FIRST_LEFT_MOST, /* the first one left at the latest then */
    LAST_LEFT_LEAST, /* the last one left at the earliest then */
    FIRST_LEFT_LEAST,
    LAST_LEFT_MOST,
    TAKEN,   /* what the collective took, summed over the processes */
    LONGEST, /* what it took the process that it took longest */
    ENDED,   /* the last process left the collective */
    VERDICT, /* the worst verdict on a harmonised start */
    COLUMNS
};

static const offbeat_combine combined_by[COLUMNS] = {
    [FIRST_LEFT] = OFFBEAT_MIN,      [LAST_LEFT] = OFFBEAT_MAX,        [FIRST_LEFT_MOST] = OFFBEAT_MIN,
    [LAST_LEFT_LEAST] = OFFBEAT_MAX, [FIRST_LEFT_LEAST] = OFFBEAT_MIN, [LAST_LEFT_MOST] = OFFBEAT_MAX,
    [TAKEN] = OFFBEAT_SUM,           [LONGEST] = OFFBEAT_MAX,          [ENDED] = OFFBEAT_MAX,
    [VERDICT] = OFFBEAT_MAX,
};

/** All repetitions as this process sees them, and later as all do. */
typedef struct record {
    int repetitions;
    int64_t *columns[COLUMNS]; /**< a number a repetition each */
    int64_t *own_left;         /**< when this process left each start */
} record;

static record new_record(int repetitions) {
    record taken = {.repetitions = repetitions};
    size_t bytes = (size_t)repetitions * sizeof(int64_t);
    int64_t *memory = malloc((COLUMNS + 1) * bytes);
    if (!memory)
        offbeat_abandon("no memory for what the starts were like");
    for (int i = 0; i < COLUMNS; i++)
        taken.columns[i] = memory + (size_t)i * (size_t)repetitions;
    taken.own_left = memory + (size_t)COLUMNS * (size_t)repetitions;
    return taken;
}

static void free_record(record *taken) {
    free(taken->columns[0]);
}

/* One repetition. @return the MPI error of the barrier or the collective */
static int start_once(offbeat_session *session, int harmonized, offbeat_call *call, record *taken, int i) {
    offbeat_start start = {.verdict = OFFBEAT_ON_TIME};
    int error = MPI_SUCCESS;
    if (harmonized)
        offbeat_session_start(session, 0, &start);
    else
        error = MPI_Barrier(session->test);
    int64_t left = offbeat_clock_local_ns(session->clock);
    if (call && error == MPI_SUCCESS)
        error = offbeat_call_run(call);
    int64_t ended = offbeat_clock_local_ns(session->clock);
    if (i < 0)
        return error;
    offbeat_instant at = offbeat_clock_at(session->clock, left);
    int64_t **columns = taken->columns;
    taken->own_left[i] = columns[FIRST_LEFT][i] = columns[LAST_LEFT][i] = at.global_ns;
    columns[FIRST_LEFT_LEAST][i] = columns[LAST_LEFT_LEAST][i] = at.global_ns - at.bound_ns;
    columns[FIRST_LEFT_MOST][i] = columns[LAST_LEFT_MOST][i] = at.global_ns + at.bound_ns;
    columns[TAKEN][i] = columns[LONGEST][i] = ended - left;
    columns[ENDED][i] = offbeat_clock_global_ns(session->clock, ended);
    columns[VERDICT][i] = start.verdict;
    return error;
}

static void combine(const offbeat_session *session, record *taken) {
    for (int i = 0; i < COLUMNS; i++)
        offbeat_tree_allreduce(taken->columns[i], taken->repetitions, combined_by[i], session->control);
}

/* Replaces `from` by its distance from `to`, never negative. */
static void subtract(record *taken, enum column from, enum column to) {
    for (int i = 0; i < taken->repetitions; i++) {
        int64_t distance = taken->columns[from][i] - taken->columns[to][i];
        taken->columns[from][i] = distance > 0 ? distance : 0;
    }
}

static int compare_times(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* The median time by which this process left after the first one; starts that were not on time don't count,
 * unless none was. */
static int64_t typical_lag(record *taken) {
    int count = 0;
    for (int on_time = 1; count == 0 && on_time >= 0; on_time--)
        for (int i = 0; i < taken->repetitions; i++)
            if (!on_time || taken->columns[VERDICT][i] == OFFBEAT_ON_TIME)
                taken->own_left[count++] = taken->own_left[i] - taken->columns[FIRST_LEFT][i];
    qsort(taken->own_left, (size_t)count, sizeof *taken->own_left, compare_times);
    return taken->own_left[count / 2];
}

static void answer_starts(offbeat_session *session, record *taken) {
    size_t count = (size_t)taken->repetitions;
    combine(session, taken);
    int64_t lag_ns = typical_lag(taken);
    subtract(taken, ENDED, LAST_LEFT);
    subtract(taken, LAST_LEFT, FIRST_LEFT);
    subtract(taken, LAST_LEFT_LEAST, FIRST_LEFT_MOST);
    subtract(taken, LAST_LEFT_MOST, FIRST_LEFT_LEAST);
    offbeat_answer_begin(session);
    offbeat_answer_list(session, ",\"skew_ns\":", taken->columns[LAST_LEFT], count);
    offbeat_answer_list(session, ",\"least_skew_ns\":", taken->columns[LAST_LEFT_LEAST], count);
    offbeat_answer_list(session, ",\"most_skew_ns\":", taken->columns[LAST_LEFT_MOST], count);
    offbeat_answer_list(session, ",\"taken_ns\":", taken->columns[TAKEN], count);
    offbeat_answer_list(session, ",\"longest_ns\":", taken->columns[LONGEST], count);
    offbeat_answer_list(session, ",\"last_delay_ns\":", taken->columns[ENDED], count);
    offbeat_answer_list(session, ",\"verdicts\":", taken->columns[VERDICT], count);
    offbeat_answer_gathered(session, ",\"lags_ns\":", &lag_ns, 1);
    offbeat_answer_end(session);
}

/* @return 0, or -1 on all processes after answering why not */
static int prepare_start(offbeat_session *session, const offbeat_command *command, int *harmonized,
                         offbeat_call **call) {
    const char *by = offbeat_command_text(command, "by", "harmonize");
    *harmonized = strcmp(by, "harmonize") == 0;
    *call = NULL;
    if (!*harmonized && strcmp(by, "barrier") != 0) {
        offbeat_answer_failure(session, "by must be barrier or harmonize");
        return -1;
    }
    if (offbeat_command_number(command, "repetitions", 1) > INT_MAX / (int)sizeof(int64_t)) {
        offbeat_answer_failure(session, "so many repetitions cannot be kept; ask for fewer, several times");
        return -1;
    }
    if (strcmp(offbeat_command_text(command, "collective", "none"), "none") == 0)
        return 0;
    *call = offbeat_session_call(session, command);
    return *call ? 0 : -1;
}

void offbeat_start_by(offbeat_session *session, const offbeat_command *command) {
    int harmonized;
    offbeat_call *call;
    if (prepare_start(session, command, &harmonized, &call) != 0)
        return;
    record taken = new_record((int)offbeat_command_number(command, "repetitions", 1));
    /* Barriers don't look after the clock; it is as good for them as for harmonised starts. */
    if (offbeat_clock_sync(session->clock) != MPI_SUCCESS)
        offbeat_abandon("the clocks could not be synchronised before the starts");
    int64_t failed = 0;
    for (int i = -(int)offbeat_command_number(command, "warmups", 1); i < taken.repetitions; i++)
        failed |= start_once(session, harmonized, call, &taken, i) != MPI_SUCCESS;
    offbeat_tree_allreduce(&failed, 1, OFFBEAT_MAX, session->control);
    if (failed)
        offbeat_answer_failure(session, "the barrier or the collective returned an error");
    else
        answer_starts(session, &taken);
    free_record(&taken);
    offbeat_call_free(&call);
}
