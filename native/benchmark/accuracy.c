/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file accuracy.c
 * How wrong shared clocks are, by the age of their sync, and whether their bounds hold.
 *
 * Schuchart, Hunold and Bosilca, EuroMPI 2023, section 6.5, figure 16: clocks are synchronised, then some
 * processes compare theirs with rank 0's by ping-pong. Unlike there, the answer is an interval: whatever the
 * network did, rank 0 took its time between the sending of the question and the coming of the answer. Where
 * the driver's own clock shows that all processes read one physical clock, that clock says much better when
 * rank 0 took its time.
 */
#define _POSIX_C_SOURCE 200809L
#include "benchmark/answer.h"
#include "benchmark/session.h"

#include "control/abandon.h"
#include "control/tree.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* So many ping-pongs a check, of which the one counts that says most. */
enum { EXCHANGES = 12 };

/* So many processes are checked at most; the last one and the middle one are among them. */
enum { MOST_CHECKED = 16 };

/* A bent clock and the physical one differ in rate by less than one part in so many. */
enum { SLOWEST = 1000 };

/** A local clock's time, and when it was read on the physical clock: not before and not after. */
typedef struct reading {
    int64_t local_ns, before_ns, after_ns;
} reading;

/** One check: the error of this process's clock is from low to high. */
typedef struct finding {
    int64_t method, round, planned_ns, age_ns, low_ns, high_ns, bound_ns;
} finding;

/** A clock of each method, and what was found out about them. */
typedef struct study {
    offbeat_clock **clocks;
    int methods;
    int64_t *synced_at_ns; /**< of each clock, on the physical clock */
    int physical;          /**< all processes read one physical clock */
    finding *found;
    size_t count, room;
} study;

static int64_t physical_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static reading read_clock(const offbeat_clock *clock) {
    reading taken;
    taken.before_ns = physical_ns();
    taken.local_ns = offbeat_clock_local_ns(clock);
    taken.after_ns = physical_ns();
    return taken;
}

static void sleep_until(int64_t ns) {
    int64_t left_ns = ns - physical_ns();
    if (left_ns > 0)
        nanosleep(&(struct timespec){.tv_sec = left_ns / 1000000000, .tv_nsec = left_ns % 1000000000}, NULL);
}

/* Rank 0's part of a check: answers each question with its reading. */
static void be_asked(const offbeat_session *session, const offbeat_clock *clock, int by) {
    for (int i = 0; i < EXCHANGES; i++) {
        char question;
        MPI_Recv(&question, 1, MPI_CHAR, by, OFFBEAT_TAG_TRANSFER, session->control, MPI_STATUS_IGNORE);
        reading taken = read_clock(clock);
        MPI_Send(&taken, (int)(sizeof taken / sizeof(int64_t)), MPI_INT64_T, by, OFFBEAT_TAG_TRANSFER,
                 session->control);
    }
}

/* Earliest and latest local time at which rank 0 can have taken its reading, by the messages alone. */
static void by_messages(int64_t asked_ns, int64_t answered_ns, int64_t *from_ns, int64_t *to_ns) {
    *from_ns = asked_ns;
    *to_ns = answered_ns;
}

/* The same by the physical clock, on which both read: `here` is this process's reading soon afterwards. */
static void by_physical_clock(const reading *there, const reading *here, int64_t *from_ns, int64_t *to_ns) {
    int64_t longest_ns = here->after_ns - there->before_ns, shortest_ns = here->before_ns - there->after_ns;
    *from_ns = here->local_ns - longest_ns - longest_ns / SLOWEST - 1;
    *to_ns = here->local_ns - shortest_ns + longest_ns / SLOWEST + 1;
}

/* One ping-pong with rank 0: between which bounds the error of this process's clock lies. */
static finding compare_once(const offbeat_session *session, const offbeat_clock *clock, int physical) {
    char question = 0;
    reading there;
    int64_t from_ns, to_ns;
    int64_t asked_ns = offbeat_clock_local_ns(clock);
    MPI_Send(&question, 1, MPI_CHAR, 0, OFFBEAT_TAG_TRANSFER, session->control);
    MPI_Recv(&there, (int)(sizeof there / sizeof(int64_t)), MPI_INT64_T, 0, OFFBEAT_TAG_TRANSFER,
             session->control, MPI_STATUS_IGNORE);
    reading here = read_clock(clock);
    if (physical)
        by_physical_clock(&there, &here, &from_ns, &to_ns);
    else
        by_messages(asked_ns, here.local_ns, &from_ns, &to_ns);
    return (finding){
        .age_ns = offbeat_clock_age_ns(clock),
        .low_ns = offbeat_clock_global_ns(clock, from_ns) - there.local_ns,
        .high_ns = offbeat_clock_global_ns(clock, to_ns) - there.local_ns,
        .bound_ns = offbeat_clock_bound_ns(clock, here.local_ns),
    };
}

/* The tightest of several comparisons. */
static finding compare(const offbeat_session *session, const offbeat_clock *clock, int physical) {
    finding best = {.low_ns = INT64_MIN / 4, .high_ns = INT64_MAX / 4};
    for (int i = 0; i < EXCHANGES; i++) {
        finding found = compare_once(session, clock, physical);
        if (found.high_ns - found.low_ns < best.high_ns - best.low_ns)
            best = found;
    }
    return best;
}

static void keep(study *all, finding found) {
    if (all->count == all->room) {
        all->room = all->room ? 2 * all->room : 64;
        finding *more = realloc(all->found, all->room * sizeof *all->found);
        if (!more)
            offbeat_abandon("no memory for what the checks found");
        all->found = more;
    }
    all->found[all->count++] = found;
}

/* The `index`-th process that is checked, of `checked`: evenly spread, the last process last. */
static int checked_rank(const offbeat_session *session, int index, int checked) {
    return (int)((int64_t)(index + 1) * (session->p - 1) / checked);
}

/* Checks one clock: some processes after one another, each with rank 0. */
static void check_clock(const offbeat_session *session, study *all, int method, int round,
                        int64_t planned_ns) {
    const offbeat_clock *clock = all->clocks[method];
    int checked = session->p - 1 < MOST_CHECKED ? session->p - 1 : MOST_CHECKED;
    for (int index = 0; index < checked; index++) {
        int rank = checked_rank(session, index, checked);
        if (session->rank == 0)
            be_asked(session, clock, rank);
        if (session->rank != rank)
            continue;
        finding found = compare(session, clock, all->physical);
        found.method = method;
        found.round = round;
        found.planned_ns = planned_ns;
        keep(all, found);
    }
}

/* Synchronises every clock, and checks each at every age. */
static void go_round(const offbeat_session *session, const offbeat_command *command, study *all, int round) {
    int ages = offbeat_command_entries(command, "ages");
    for (int method = 0; method < all->methods; method++) {
        if (offbeat_clock_sync(all->clocks[method]) != MPI_SUCCESS)
            offbeat_abandon("MPI could not pass on the messages of a sync");
        all->synced_at_ns[method] = physical_ns();
        check_clock(session, all, method, round, 0);
    }
    for (int age = 0; age < ages; age++)
        for (int method = 0; method < all->methods; method++) {
            int64_t planned_ns = offbeat_command_listed(command, "ages", age);
            sleep_until(all->synced_at_ns[method] + planned_ns);
            check_clock(session, all, method, round, planned_ns);
        }
}

/* Makes a clock for each method of a list. @return 0, or -1 on all processes after answering why not */
static int make_clocks(offbeat_session *session, const offbeat_command *command, study *all) {
    offbeat_clock_options options = offbeat_clock_wishes(command);
    char *names = strdup(offbeat_command_text(command, "methods", "constraints")), *rest = NULL;
    size_t most = names ? strlen(names) / 2 + 1 : 1;
    all->clocks = calloc(most, sizeof(offbeat_clock *));
    all->synced_at_ns = calloc(most, sizeof *all->synced_at_ns);
    if (!names || !all->clocks || !all->synced_at_ns)
        offbeat_abandon("no memory for the clocks");
    int error = MPI_SUCCESS;
    char *name = strtok_r(names, ",", &rest);
    for (; name && error == MPI_SUCCESS; name = strtok_r(NULL, ",", &rest)) {
        options.method = name;
        error = offbeat_clock_create_with(session->control, &options, &all->clocks[all->methods]);
        all->methods += error == MPI_SUCCESS;
    }
    free(names);
    if (error != MPI_SUCCESS)
        offbeat_answer_failure(session, offbeat_clock_error());
    return error == MPI_SUCCESS ? 0 : -1;
}

static void release_study(study *all) {
    for (int method = 0; method < all->methods; method++)
        offbeat_clock_free(&all->clocks[method]);
    free(all->clocks);
    free(all->synced_at_ns);
    free(all->found);
}

static void answer_findings(const offbeat_session *session, const study *all) {
    static const char *const names[] = {",\"methods\":", ",\"rounds\":",  ",\"planned_ns\":", ",\"ages_ns\":",
                                        ",\"low_ns\":",  ",\"high_ns\":", ",\"bound_ns\":"};
    enum { COLUMNS = sizeof names / sizeof *names };
    int64_t *column = malloc((all->count + 1) * sizeof *column);
    if (!column)
        offbeat_abandon("no memory to answer what the checks found");
    offbeat_answer_begin(session);
    if (session->answers)
        fprintf(session->answers, ",\"physical\":%s", all->physical ? "true" : "false");
    for (int i = 0; i < COLUMNS; i++) {
        for (size_t j = 0; j < all->count; j++) {
            const finding *one = &all->found[j];
            const int64_t values[COLUMNS] = {one->method, one->round,   one->planned_ns, one->age_ns,
                                             one->low_ns, one->high_ns, one->bound_ns};
            column[j] = values[i];
        }
        offbeat_answer_gathered(session, names[i], column, all->count);
    }
    for (size_t j = 0; j < all->count; j++)
        column[j] = session->rank;
    offbeat_answer_gathered(session, ",\"ranks\":", column, all->count);
    offbeat_answer_end(session);
    free(column);
}

/* Whether all processes read the same CLOCK_MONOTONIC: the driver's own clock has verified it. */
static int one_physical_clock(const offbeat_session *session) {
    int64_t apart = !offbeat_clock_is_shared(session->clock) ||
                    strcmp(offbeat_clock_source(session->clock), "CLOCK_MONOTONIC") != 0;
    offbeat_tree_allreduce(&apart, 1, OFFBEAT_MAX, session->control);
    return !apart;
}

void offbeat_accuracy(offbeat_session *session, const offbeat_command *command) {
    if (session->p < 2) {
        offbeat_answer_failure(session, "one process has nobody to compare its clock with");
        return;
    }
    study all = {.physical = one_physical_clock(session)};
    if (make_clocks(session, command, &all) == 0) {
        int rounds = (int)offbeat_command_number(command, "rounds", 1);
        for (int round = 0; round < rounds; round++)
            go_round(session, command, &all, round);
        answer_findings(session, &all);
    }
    release_study(&all);
}
