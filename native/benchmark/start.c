/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file start.c
 * The skew of starts, by a barrier or harmonised, and the apparent duration of the collective that follows.
 *
 * Schuchart, Hunold and Bosilca, "MPI Process Synchronization in Space and Time", EuroMPI 2023: the loop of
 * section 2 (start, timestamp, collective, timestamp) and the skew of section 2.2. As there, nothing happens
 * between the collective of one repetition and the start of the next; results are combined afterwards.
 */
#include "benchmark/session.h"

#include "control/p2p_collectives.h"

#include <stdlib.h>
#include <string.h>

/** The values recorded for each repetition. Each column becomes a list of the answer, combined over all
 * processes. Times are on the shared clock; MIN and MAX are the ends of the range that its error bound
 * allows. */
enum column {
    FIRST_LEFT,     /* when the first process left the start */
    LAST_LEFT,      /* when the last process left the start */
    FIRST_LEFT_MAX, /* the latest possible time of FIRST_LEFT */
    LAST_LEFT_MIN,  /* the earliest possible time of LAST_LEFT */
    FIRST_LEFT_MIN,
    LAST_LEFT_MAX,
    DURATION,         /* duration of the collective, summed over the processes */
    LONGEST_DURATION, /* maximum over the processes */
    LAST_EXIT,        /* when the last process left the collective */
    VERDICT,          /* the worst verdict on a harmonised start */
    COLUMNS
};

static const offbeat_reduction reductions[COLUMNS] = {
    [FIRST_LEFT] = OFFBEAT_MIN,    [LAST_LEFT] = OFFBEAT_MAX,        [FIRST_LEFT_MAX] = OFFBEAT_MIN,
    [LAST_LEFT_MIN] = OFFBEAT_MAX, [FIRST_LEFT_MIN] = OFFBEAT_MIN,   [LAST_LEFT_MAX] = OFFBEAT_MAX,
    [DURATION] = OFFBEAT_SUM,      [LONGEST_DURATION] = OFFBEAT_MAX, [LAST_EXIT] = OFFBEAT_MAX,
    [VERDICT] = OFFBEAT_MAX,
};

/** All repetitions: the values of this process, later those combined over all processes. */
typedef struct start_record {
    int repetitions;
    int64_t *columns[COLUMNS]; /**< one value per repetition each */
    int64_t *own_left;         /**< when this process left each start */
} start_record;

static start_record new_record(int repetitions) {
    start_record record = {.repetitions = repetitions};
    size_t bytes = (size_t)repetitions * sizeof(int64_t);
    int64_t *memory = malloc((COLUMNS + 1) * bytes);
    if (!memory)
        offbeat_fatal("no memory for the results of the starts");
    for (int i = 0; i < COLUMNS; i++)
        record.columns[i] = memory + (size_t)i * (size_t)repetitions;
    record.own_left = memory + (size_t)COLUMNS * (size_t)repetitions;
    return record;
}

static void free_record(start_record *record) {
    free(record->columns[0]);
}

/* One repetition. @return the MPI error of the barrier or the collective */
static int run_start(offbeat_session *session, int is_harmonized, offbeat_call *call, start_record *record,
                     int i) {
    offbeat_start start = {.verdict = OFFBEAT_ON_TIME};
    int error = MPI_SUCCESS;
    if (is_harmonized)
        offbeat_session_start(session, 0, &start);
    else
        error = MPI_Barrier(session->test_comm);
    int64_t left_ns = offbeat_clock_local_ns(session->clock);
    if (call && error == MPI_SUCCESS)
        error = offbeat_call_run(call);
    int64_t exit_ns = offbeat_clock_local_ns(session->clock);
    if (i < 0)
        return error;
    offbeat_instant instant = offbeat_clock_at(session->clock, left_ns);
    int64_t **columns = record->columns;
    record->own_left[i] = columns[FIRST_LEFT][i] = columns[LAST_LEFT][i] = instant.global_ns;
    columns[FIRST_LEFT_MIN][i] = columns[LAST_LEFT_MIN][i] = instant.global_ns - instant.bound_ns;
    columns[FIRST_LEFT_MAX][i] = columns[LAST_LEFT_MAX][i] = instant.global_ns + instant.bound_ns;
    columns[DURATION][i] = columns[LONGEST_DURATION][i] = exit_ns - left_ns;
    columns[LAST_EXIT][i] = offbeat_clock_global_ns(session->clock, exit_ns);
    columns[VERDICT][i] = start.verdict;
    return error;
}

static void combine(const offbeat_session *session, start_record *record) {
    for (int i = 0; i < COLUMNS; i++)
        offbeat_p2p_allreduce(record->columns[i], record->repetitions, reductions[i], session->control_comm);
}

/* Replaces column `minuend` by `minuend` - `subtrahend`, or 0 where that is negative. */
static void subtract(start_record *record, enum column minuend, enum column subtrahend) {
    for (int i = 0; i < record->repetitions; i++) {
        int64_t difference = record->columns[minuend][i] - record->columns[subtrahend][i];
        record->columns[minuend][i] = difference > 0 ? difference : 0;
    }
}

static int compare_times(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* The median lag of this process after the first one, over the starts that were on time; over all starts if
 * none was. */
static int64_t median_lag(start_record *record) {
    int count = 0;
    for (int on_time = 1; count == 0 && on_time >= 0; on_time--)
        for (int i = 0; i < record->repetitions; i++)
            if (!on_time || record->columns[VERDICT][i] == OFFBEAT_ON_TIME)
                record->own_left[count++] = record->own_left[i] - record->columns[FIRST_LEFT][i];
    qsort(record->own_left, (size_t)count, sizeof *record->own_left, compare_times);
    return record->own_left[count / 2];
}

static void answer_starts(offbeat_session *session, start_record *record) {
    size_t count = (size_t)record->repetitions;
    combine(session, record);
    int64_t lag_ns = median_lag(record);
    subtract(record, LAST_EXIT, LAST_LEFT);
    subtract(record, LAST_LEFT, FIRST_LEFT);
    subtract(record, LAST_LEFT_MIN, FIRST_LEFT_MAX);
    subtract(record, LAST_LEFT_MAX, FIRST_LEFT_MIN);
    offbeat_answer *answer = offbeat_session_answer(session);
    offbeat_answer_numbers(answer, "skew_ns", record->columns[LAST_LEFT], count);
    offbeat_answer_numbers(answer, "least_skew_ns", record->columns[LAST_LEFT_MIN], count);
    offbeat_answer_numbers(answer, "most_skew_ns", record->columns[LAST_LEFT_MAX], count);
    offbeat_answer_numbers(answer, "taken_ns", record->columns[DURATION], count);
    offbeat_answer_numbers(answer, "longest_ns", record->columns[LONGEST_DURATION], count);
    offbeat_answer_numbers(answer, "last_delay_ns", record->columns[LAST_EXIT], count);
    offbeat_answer_numbers(answer, "verdicts", record->columns[VERDICT], count);
    offbeat_answer_gathered(session, "lags_ns", &lag_ns, 1);
    offbeat_answer_end(answer);
}

/* @return 0, or -1 on all processes after answering with the error */
static int prepare_start(offbeat_session *session, const offbeat_command *command, int *is_harmonized,
                         offbeat_call **call) {
    *is_harmonized = strcmp(offbeat_command_text(command, "by"), "harmonize") == 0;
    *call = NULL;
    if (strcmp(offbeat_command_text(command, "collective"), "none") == 0)
        return 0;
    *call = offbeat_session_call(session, command, session->test_comm);
    return *call ? 0 : -1;
}

void offbeat_start_by(offbeat_session *session, const offbeat_command *command) {
    int is_harmonized;
    offbeat_call *call;
    if (prepare_start(session, command, &is_harmonized, &call) != 0)
        return;
    start_record record = new_record((int)offbeat_command_number(command, "repetitions"));
    /* Harmonised starts keep the clock synchronised; barriers do not. */
    if (offbeat_clock_sync(session->clock) != MPI_SUCCESS)
        offbeat_fatal("an MPI error while the clocks were synchronised before the starts");
    int64_t has_failed = 0;
    for (int i = -(int)offbeat_command_number(command, "warmups"); i < record.repetitions; i++)
        has_failed |= run_start(session, is_harmonized, call, &record, i) != MPI_SUCCESS;
    offbeat_p2p_allreduce(&has_failed, 1, OFFBEAT_MAX, session->control_comm);
    if (has_failed)
        offbeat_answer_failure(&session->answer, "the barrier or the collective returned an error");
    else
        answer_starts(session, &record);
    free_record(&record);
    offbeat_call_free(&call);
}
