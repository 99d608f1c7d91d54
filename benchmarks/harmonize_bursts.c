/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Starts under bursts of load, alternating between MPIX_Harmonize and the paper's Algorithm 1.
 *
 * Usage: harmonize_bursts EPOCH_NS PERIOD_NS LENGTH_NS PHASE_NS PHASES. All processes are on one machine,
 * where CLOCK_MONOTONIC shows when each process really left. harmonize_bursts.py creates the bursts:
 * LENGTH_NS from EPOCH_NS on, every PERIOD_NS. Rank 0 prints for each phase and start: method, whether a
 * burst was on, whether all processes called the start good, the exit skew, and the slack, in nanoseconds;
 * and how long each phase took.
 */
#define _POSIX_C_SOURCE 200809L
#include <offbeat/harmonize.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { CHUNK = 20, MOST_STARTS = 1 << 20 };

typedef struct schedule {
    int64_t epoch_ns, period_ns, length_ns, phase_ns;
} schedule;

/* This process's record of its starts. */
typedef struct log {
    int count;
    int64_t *entered_ns, *left_ns, *slack_ns;
    int *flag;
} log;

static int64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* --- Algorithm 1 of Schuchart, Hunold and Bosilca (EuroMPI 2023), line by line
 * ------------------------------- */

enum { SYNC_FAILED = 1, SYNC_EXPIRED = 2 };

typedef struct algorithm_1 {
    MPI_Comm comm;
    int rank;
    offbeat_clock *clock; /* their HCA3 without slope */
    double slack, last_sync_time;
    int last_sync_failed;
} algorithm_1;

static double global_time(const algorithm_1 *state) {
    return (double)offbeat_clock_now(state->clock).global_ns * 1e-9;
}

/* Twice the slowest process's mean of 20 broadcasts. */
static double first_slack(const algorithm_1 *state) {
    double nothing = 0, began = MPI_Wtime();
    for (int i = 0; i < 20; i++)
        MPI_Bcast(&nothing, 1, MPI_DOUBLE, 0, state->comm);
    double mean = (MPI_Wtime() - began) / 20, slowest;
    MPI_Allreduce(&mean, &slowest, 1, MPI_DOUBLE, MPI_MAX, state->comm);
    return 2 * slowest;
}

static void begin(algorithm_1 *state, MPI_Comm comm) {
    offbeat_clock_options options = {.method = "offset"};
    state->comm = comm;
    MPI_Comm_rank(comm, &state->rank);
    offbeat_clock_create_with(comm, &options, &state->clock);
    state->slack = first_slack(state);
    state->last_sync_time = global_time(state);
    state->last_sync_failed = 0;
}

static double synchronised_deadline(algorithm_1 *state) {
    int jitter = 0, nothing;
    double sync_time = 0;
    offbeat_clock_sync(state->clock);
    MPI_Reduce(&jitter, &nothing, 1, MPI_INT, MPI_MAX, 0, state->comm);
    state->last_sync_time = global_time(state);
    state->last_sync_failed = 0;
    if (state->rank == 0)
        sync_time = global_time(state) + state->slack;
    MPI_Bcast(&sync_time, 1, MPI_DOUBLE, 0, state->comm);
    return sync_time;
}

static int harmonize_plainly(algorithm_1 *state) {
    int flag = state->last_sync_failed ? SYNC_FAILED : 0, flags = 0;
    double sync_time = 0;
    if (global_time(state) - state->last_sync_time > 1.0)
        flag |= SYNC_EXPIRED;
    MPI_Reduce(&flag, &flags, 1, MPI_INT, MPI_BOR, 0, state->comm);
    if (state->rank == 0) {
        if (flags & SYNC_FAILED)
            state->slack *= 1.5;
        sync_time = flags ? -1.0 : global_time(state) + state->slack;
    }
    MPI_Bcast(&sync_time, 1, MPI_DOUBLE, 0, state->comm);
    if (sync_time < 0)
        sync_time = synchronised_deadline(state);
    if (sync_time < global_time(state)) {
        state->last_sync_failed = 1;
        return 0;
    }
    while (sync_time > global_time(state))
        ;
    return 1;
}

/* --- phases
 * -------------------------------------------------------------------------------------------------- */

static void allocate(log *all) {
    all->entered_ns = malloc(MOST_STARTS * sizeof *all->entered_ns);
    all->left_ns = malloc(MOST_STARTS * sizeof *all->left_ns);
    all->slack_ns = malloc(MOST_STARTS * sizeof *all->slack_ns);
    all->flag = malloc(MOST_STARTS * sizeof *all->flag);
    if (!all->entered_ns || !all->left_ns || !all->slack_ns || !all->flag)
        MPI_Abort(MPI_COMM_WORLD, 1);
}

static void start_once(algorithm_1 *plain, log *all) {
    int i = all->count++;
    all->entered_ns[i] = now_ns();
    if (plain) {
        all->flag[i] = harmonize_plainly(plain);
        all->slack_ns[i] = (int64_t)(plain->slack * 1e9);
    } else {
        offbeat_start start;
        MPIX_Harmonize_delayed(MPI_COMM_WORLD, 0, &start);
        all->flag[i] = start.verdict == OFFBEAT_ON_TIME;
        all->slack_ns[i] = start.slack_ns;
    }
    all->left_ns[i] = now_ns();
}

/* Starts until the phase is over; rank 0 says when, after every few. @return how long it took */
static int64_t keep_starting(algorithm_1 *plain, log *all, int64_t phase_ns) {
    int goes_on = 1;
    int64_t began_ns = now_ns();
    for (all->count = 0; goes_on && all->count + CHUNK <= MOST_STARTS;) {
        for (int i = 0; i < CHUNK; i++)
            start_once(plain, all);
        goes_on = now_ns() - began_ns < phase_ns;
        MPI_Bcast(&goes_on, 1, MPI_INT, 0, MPI_COMM_WORLD);
    }
    return now_ns() - began_ns;
}

static void combine(void *values, int count, MPI_Datatype type, MPI_Op op, int rank) {
    MPI_Reduce(rank == 0 ? MPI_IN_PLACE : values, values, count, type, op, 0, MPI_COMM_WORLD);
}

static void report(const char *method, log *all, const schedule *bursts, int64_t taken_ns, int64_t *last_ns) {
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < all->count; i++)
        last_ns[i] = all->left_ns[i];
    combine(last_ns, all->count, MPI_INT64_T, MPI_MAX, rank);
    combine(all->left_ns, all->count, MPI_INT64_T, MPI_MIN, rank);
    combine(all->flag, all->count, MPI_INT, MPI_MIN, rank);
    if (rank != 0)
        return;
    printf("phase %s %lld\n", method, (long long)taken_ns);
    for (int i = 0; i < all->count; i++)
        printf("%s %d %d %lld %lld\n", method,
               (all->entered_ns[i] - bursts->epoch_ns) % bursts->period_ns < bursts->length_ns, all->flag[i],
               (long long)(last_ns[i] - all->left_ns[i]), (long long)all->slack_ns[i]);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    if (argc != 6)
        MPI_Abort(MPI_COMM_WORLD, 2);
    schedule bursts = {atoll(argv[1]), atoll(argv[2]), atoll(argv[3]), atoll(argv[4])};
    int flag, phases = atoi(argv[5]);
    algorithm_1 plain;
    log all;
    int64_t *last_ns = malloc(MOST_STARTS * sizeof *last_ns);
    allocate(&all);
    begin(&plain, MPI_COMM_WORLD);
    MPIX_Harmonize(MPI_COMM_WORLD, &flag);
    for (int i = 0; i < phases; i++) {
        int is_ours = i % 2 == 0;
        int64_t taken_ns = keep_starting(is_ours ? NULL : &plain, &all, bursts.phase_ns);
        report(is_ours ? "offbeat" : "algorithm-1", &all, &bursts, taken_ns, last_ns);
    }
    offbeat_clock_free(&plain.clock);
    MPI_Finalize();
    return 0;
}
