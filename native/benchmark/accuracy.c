/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file accuracy.c
 * The errors of shared clocks by time since their synchronisation, and whether their error bounds hold.
 *
 * Schuchart, Hunold and Bosilca, EuroMPI 2023, section 6.5, figure 16: after synchronisation some processes
 * compare their clocks with rank 0's by ping-pong. Unlike there, the result is an interval: rank 0 read its
 * clock between the send of the request and the receipt of the reply. Where the driver's own clock has
 * verified that all processes read the same physical clock, that clock gives a much narrower interval.
 */
#define _POSIX_C_SOURCE 200809L
#include "benchmark/session.h"

#include "control/p2p_collectives.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Ping-pongs per comparison, of which the one with the narrowest interval counts. */
enum { EXCHANGES = 12 };

enum { MAX_CHECKED_PROCESSES = 16 };

/* The rates of a clock with artificial drift and of the physical clock differ by less than 1 /
 * INVERSE_MAX_DRIFT. */
enum { INVERSE_MAX_DRIFT = 1000 };

/** A reading of a local clock, and times on the physical clock before and after it. */
typedef struct reading {
    int64_t local_ns, before_ns, after_ns;
} reading;

/** One comparison: the error of this process's clock lies between low and high. */
typedef struct comparison {
    int64_t method, round, planned_ns, age_ns, low_ns, high_ns, bound_ns;
} comparison;

/** A clock of each method, and all comparisons of this process. */
typedef struct accuracy_check {
    offbeat_clock **clocks;
    int methods;
    int64_t *synced_at_ns; /**< of each clock, on the physical clock */
    int is_physical;       /**< all processes read the same physical clock */
    comparison *comparisons;
    size_t count, capacity;
} accuracy_check;

static int64_t physical_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static reading read_clock(const offbeat_clock *clock) {
    reading clock_reading;
    clock_reading.before_ns = physical_ns();
    clock_reading.local_ns = offbeat_clock_local_ns(clock);
    clock_reading.after_ns = physical_ns();
    return clock_reading;
}

static void sleep_until(int64_t ns) {
    int64_t remaining_ns = ns - physical_ns();
    if (remaining_ns > 0)
        nanosleep(
            &(struct timespec){.tv_sec = remaining_ns / 1000000000, .tv_nsec = remaining_ns % 1000000000},
            NULL);
}

/* Rank 0's part of a comparison: replies to each request with a reading. */
static void send_readings(const offbeat_session *session, const offbeat_clock *clock, int requester) {
    for (int i = 0; i < EXCHANGES; i++) {
        char request;
        MPI_Recv(&request, 1, MPI_CHAR, requester, OFFBEAT_TAG_TRANSFER, session->control_comm,
                 MPI_STATUS_IGNORE);
        reading own_reading = read_clock(clock);
        MPI_Send(&own_reading, (int)(sizeof own_reading / sizeof(int64_t)), MPI_INT64_T, requester,
                 OFFBEAT_TAG_TRANSFER, session->control_comm);
    }
}

/* The earliest and the latest local time of rank 0's reading, derived from the physical clock. @param own
 * this process's reading shortly afterwards */
static void bound_by_physical_clock(const reading *remote_reading, const reading *own_reading,
                                    int64_t *earliest_ns, int64_t *latest_ns) {
    int64_t longest_ns = own_reading->after_ns - remote_reading->before_ns,
            shortest_ns = own_reading->before_ns - remote_reading->after_ns;
    *earliest_ns = own_reading->local_ns - longest_ns - longest_ns / INVERSE_MAX_DRIFT - 1;
    *latest_ns = own_reading->local_ns - shortest_ns + longest_ns / INVERSE_MAX_DRIFT + 1;
}

/* Compares the clocks by one ping-pong with rank 0. */
static comparison compare_once(const offbeat_session *session, const offbeat_clock *clock, int is_physical) {
    char request = 0;
    reading remote_reading;
    int64_t requested_ns = offbeat_clock_local_ns(clock);
    MPI_Send(&request, 1, MPI_CHAR, 0, OFFBEAT_TAG_TRANSFER, session->control_comm);
    MPI_Recv(&remote_reading, (int)(sizeof remote_reading / sizeof(int64_t)), MPI_INT64_T, 0,
             OFFBEAT_TAG_TRANSFER, session->control_comm, MPI_STATUS_IGNORE);
    reading own_reading = read_clock(clock);
    int64_t earliest_ns = requested_ns, latest_ns = own_reading.local_ns;
    if (is_physical)
        bound_by_physical_clock(&remote_reading, &own_reading, &earliest_ns, &latest_ns);
    return (comparison){
        .age_ns = offbeat_clock_age_ns(clock),
        .low_ns = offbeat_clock_global_ns(clock, earliest_ns) - remote_reading.local_ns,
        .high_ns = offbeat_clock_global_ns(clock, latest_ns) - remote_reading.local_ns,
        .bound_ns = offbeat_clock_bound_ns(clock, own_reading.local_ns),
    };
}

/* The comparison with the narrowest interval of several. */
static comparison compare(const offbeat_session *session, const offbeat_clock *clock, int is_physical) {
    comparison best = {.low_ns = INT64_MIN / 4, .high_ns = INT64_MAX / 4};
    for (int i = 0; i < EXCHANGES; i++) {
        comparison next = compare_once(session, clock, is_physical);
        if (next.high_ns - next.low_ns < best.high_ns - best.low_ns)
            best = next;
    }
    return best;
}

static void append(accuracy_check *check, comparison result) {
    if (check->count == check->capacity) {
        check->capacity = check->capacity ? 2 * check->capacity : 64;
        comparison *more = realloc(check->comparisons, check->capacity * sizeof *check->comparisons);
        if (!more)
            offbeat_fatal("no memory for the results of the comparisons");
        check->comparisons = more;
    }
    check->comparisons[check->count++] = result;
}

/* The rank of the `index`-th checked process of `checked_count`; they are evenly spread, and the last rank is
 * the last. */
static int checked_rank(const offbeat_session *session, int index, int checked_count) {
    return (int)((int64_t)(index + 1) * (session->p - 1) / checked_count);
}

/* Compares the clock of some processes with rank 0's, one process after the other. */
static void check_clock(const offbeat_session *session, accuracy_check *check, int method, int round,
                        int64_t planned_ns) {
    const offbeat_clock *clock = check->clocks[method];
    int checked_count = session->p - 1 < MAX_CHECKED_PROCESSES ? session->p - 1 : MAX_CHECKED_PROCESSES;
    for (int index = 0; index < checked_count; index++) {
        int rank = checked_rank(session, index, checked_count);
        if (session->rank == 0)
            send_readings(session, clock, rank);
        if (session->rank != rank)
            continue;
        comparison result = compare(session, clock, check->is_physical);
        result.method = method;
        result.round = round;
        result.planned_ns = planned_ns;
        append(check, result);
    }
}

/* Synchronises every clock, and compares each immediately and at every age. */
static void run_round(const offbeat_session *session, const offbeat_command *command, accuracy_check *check,
                      int round) {
    int ages = offbeat_command_list_length(command, "ages");
    for (int method = 0; method < check->methods; method++) {
        if (offbeat_clock_sync(check->clocks[method]) != MPI_SUCCESS)
            offbeat_fatal("an MPI error in a synchronisation");
        check->synced_at_ns[method] = physical_ns();
        check_clock(session, check, method, round, 0);
    }
    for (int age = 0; age < ages; age++)
        for (int method = 0; method < check->methods; method++) {
            int64_t planned_ns = offbeat_command_list_item(command, "ages", age);
            sleep_until(check->synced_at_ns[method] + planned_ns);
            check_clock(session, check, method, round, planned_ns);
        }
}

/* Creates a clock for each method of a list. @return 0, or -1 on all processes after answering with the error
 */
static int create_clocks(offbeat_session *session, const offbeat_command *command, accuracy_check *check) {
    offbeat_clock_options options = offbeat_session_clock_options(command);
    char *names = strdup(offbeat_command_text(command, "methods")), *strtok_state = NULL;
    size_t capacity = names ? strlen(names) / 2 + 1 : 1;
    check->clocks = calloc(capacity, sizeof(offbeat_clock *));
    check->synced_at_ns = calloc(capacity, sizeof *check->synced_at_ns);
    if (!names || !check->clocks || !check->synced_at_ns)
        offbeat_fatal("no memory for the clocks");
    int error = MPI_SUCCESS;
    char *name = strtok_r(names, ",", &strtok_state);
    for (; name && error == MPI_SUCCESS; name = strtok_r(NULL, ",", &strtok_state)) {
        options.method = name;
        error = offbeat_clock_create_with(session->control_comm, &options, &check->clocks[check->methods]);
        check->methods += error == MPI_SUCCESS;
    }
    free(names);
    if (error != MPI_SUCCESS)
        offbeat_answer_failure(&session->answer, offbeat_clock_error());
    return error == MPI_SUCCESS ? 0 : -1;
}

static void free_check(accuracy_check *check) {
    for (int method = 0; method < check->methods; method++)
        offbeat_clock_free(&check->clocks[method]);
    free(check->clocks);
    free(check->synced_at_ns);
    free(check->comparisons);
}

static void answer_comparisons(offbeat_session *session, const accuracy_check *check) {
    static const char *const names[] = {"methods", "rounds",  "planned_ns", "ages_ns",
                                        "low_ns",  "high_ns", "bound_ns"};
    enum { COLUMNS = sizeof names / sizeof *names };
    int64_t *column = malloc((check->count + 1) * sizeof *column);
    if (!column)
        offbeat_fatal("no memory for the answer");
    offbeat_answer *answer = offbeat_session_answer(session);
    offbeat_answer_flag(answer, "physical", check->is_physical);
    for (int i = 0; i < COLUMNS; i++) {
        for (size_t j = 0; j < check->count; j++) {
            const comparison *row = &check->comparisons[j];
            const int64_t values[COLUMNS] = {row->method, row->round,   row->planned_ns, row->age_ns,
                                             row->low_ns, row->high_ns, row->bound_ns};
            column[j] = values[i];
        }
        offbeat_answer_gathered(session, names[i], column, check->count);
    }
    for (size_t j = 0; j < check->count; j++)
        column[j] = session->rank;
    offbeat_answer_gathered(session, "ranks", column, check->count);
    offbeat_answer_end(answer);
    free(column);
}

/* Whether all processes read the same CLOCK_MONOTONIC, as verified by the driver's own clock. */
static int has_common_physical_clock(const offbeat_session *session) {
    int64_t is_separate = !offbeat_clock_is_shared(session->clock) ||
                          strcmp(offbeat_clock_source(session->clock), "CLOCK_MONOTONIC") != 0;
    offbeat_p2p_allreduce(&is_separate, 1, OFFBEAT_MAX, session->control_comm);
    return !is_separate;
}

void offbeat_accuracy(offbeat_session *session, const offbeat_command *command) {
    if (session->p < 2) {
        offbeat_answer_failure(&session->answer, "a comparison of clocks needs at least two processes");
        return;
    }
    accuracy_check check = {.is_physical = has_common_physical_clock(session)};
    if (create_clocks(session, command, &check) == 0) {
        int rounds = (int)offbeat_command_number(command, "rounds");
        for (int round = 0; round < rounds; round++)
            run_round(session, command, &check, round);
        answer_comparisons(session, &check);
    }
    free_check(&check);
}
