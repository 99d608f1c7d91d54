/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE /* sched_getaffinity */
#include "harmonize/start_policy.h"

#include "clock/clock.h"

#include <offbeat/harmonize.h>

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TAG_FAN_IN = 1, TAG_FAN_OUT = 2, TAG_CORES = 3, TAG_RESULT = 4 };

/* Rounds that measure the first slack. Those that set up connections and warm caches are not counted. */
enum { WARM_UP_ROUNDS = 2, MEASURED_ROUNDS = 8 };

/* Few polls: a process that yields shares its core for certain. */
enum { POLLS_BEFORE_YIELD = 20 };

static const int64_t SLACK_FLOOR_NS = 2 * 1000;
static const int64_t SLACK_FLOOR_YIELDING_NS = 50 * 1000; /* a receiving process must be scheduled first */
static const int64_t SLACK_LONG_NS = 2 * 1000 * 1000;     /* shorter than a scheduler's time slice */
static const int64_t SLACK_CAP_NS = 50 * 1000 * 1000;

/* Fanned out in place of a deadline: synchronise the clocks, then agree again. */
static const int64_t RESYNC = INT64_MIN;

/* Fanned in in place of a lateness: it was reported before, or there was no start yet. */
static const int64_t NO_LATENESS = INT64_MIN;

/* The values of the fan-in, which are reduced to their maximum at rank 0, and those of the fan-out. */
enum { RESYNC_HELPS = 0, LATENESS = 1 };
enum { DEADLINE = 0, SLACK = 1, VALUES = 2 };

struct offbeat_start_context {
    offbeat_clock *clock;
    offbeat_clock_tree tree; /* over the context's own communicator */
    int yields;
    int64_t tolerance_ns;
    int64_t lateness_ns; /* of the last start: how long after the deadline this process began to wait */
    /* At rank 0: */
    offbeat_harmonize_slack slack;
    int64_t used_slack_ns;  /* in the last start */
    int64_t sync_length_ns; /* of the last sync, until all processes were done */
};

const char *offbeat_verdict_text(offbeat_verdict verdict) {
    switch (verdict) {
    case OFFBEAT_ON_TIME:
        return "started on time";
    case OFFBEAT_CAME_LATE:
        return "came after the deadline";
    case OFFBEAT_LOST_CORE:
        return "lost its core while it waited for the deadline";
    }
    return "has an unknown verdict";
}

static int64_t local_now_ns(const offbeat_start_context *context) {
    return offbeat_clock_local_ns(context->clock);
}

static int64_t global_now_ns(const offbeat_start_context *context) {
    return offbeat_clock_global_ns(context->clock, local_now_ns(context));
}

static int fan_in(const offbeat_start_context *context, int64_t values[VALUES]) {
    return offbeat_clock_tree_reduce(&context->tree, values, VALUES, OFFBEAT_MAX, TAG_FAN_IN);
}

static int fan_out(const offbeat_start_context *context, int64_t values[VALUES]) {
    return offbeat_clock_tree_broadcast(&context->tree, values, VALUES, MPI_INT64_T, TAG_FAN_OUT);
}

/* Measures the time from the beginning of a fan-out until the last process has forwarded it. The fan-in of
 * each round carries the measurement of the previous one. */
static int measure_first_slack(offbeat_start_context *context) {
    int64_t forwarding_ns = 0;
    for (int round = 0; round <= WARM_UP_ROUNDS + MEASURED_ROUNDS; round++) {
        int64_t largest_ns[VALUES] = {forwarding_ns, 0}, began_ns[VALUES] = {0, 0};
        int rc = fan_in(context, largest_ns);
        if (rc != MPI_SUCCESS)
            return rc;
        if (context->tree.rank == 0 && round > WARM_UP_ROUNDS)
            offbeat_harmonize_slack_add(&context->slack, largest_ns[0]);
        began_ns[0] = global_now_ns(context);
        rc = fan_out(context, began_ns);
        if (rc != MPI_SUCCESS)
            return rc;
        forwarding_ns = global_now_ns(context) - began_ns[0];
    }
    return MPI_SUCCESS;
}

/* Waits until all processes have arrived. Rank 0 receives the largest lateness of the last start and adjusts
 * the slack.
 * @param[in,out] resync_helps for this process's clock; at rank 0, on return, for any clock */
static int collect_arrivals(offbeat_start_context *context, int *resync_helps) {
    int64_t values[VALUES] = {[RESYNC_HELPS] = *resync_helps, [LATENESS] = context->lateness_ns};
    context->lateness_ns = NO_LATENESS;
    int rc = fan_in(context, values);
    if (rc != MPI_SUCCESS || context->tree.rank != 0)
        return rc;
    *resync_helps = values[RESYNC_HELPS] != 0;
    if (values[LATENESS] != NO_LATENESS)
        offbeat_harmonize_slack_add(&context->slack, context->used_slack_ns + values[LATENESS]);
    return MPI_SUCCESS;
}

/* Sends rank 0's deadline, or RESYNC, to all processes. */
static int announce_deadline(offbeat_start_context *context, int resync, int64_t decision[VALUES]) {
    decision[DEADLINE] = decision[SLACK] = RESYNC;
    if (context->tree.rank == 0 && !resync) {
        decision[SLACK] = context->used_slack_ns = offbeat_harmonize_slack_ns(&context->slack);
        decision[DEADLINE] = global_now_ns(context) + decision[SLACK];
    }
    return fan_out(context, decision);
}

/* Synchronises all clocks and measures the duration at rank 0 until all processes are done. */
static int synchronise(offbeat_start_context *context) {
    int64_t began_ns = local_now_ns(context);
    int ignored_value = 0;
    int rc = offbeat_clock_sync(context->clock);
    if (rc == MPI_SUCCESS)
        rc = collect_arrivals(context, &ignored_value);
    context->sync_length_ns = local_now_ns(context) - began_ns;
    return rc;
}

/* Agrees on a deadline after all processes have arrived; synchronises the clocks first, at most once. */
static int agree_on_deadline(offbeat_start_context *context, int64_t decision[VALUES]) {
    const offbeat_clock *clock = context->clock;
    int resync_helps = offbeat_harmonize_resync_helps(offbeat_clock_sync_facts(clock).bound_ns,
                                                      offbeat_clock_bound_ns(clock, local_now_ns(context)));
    int rc = collect_arrivals(context, &resync_helps);
    if (rc != MPI_SUCCESS)
        return rc;
    int resync = resync_helps &&
                 offbeat_harmonize_resync_is_affordable(offbeat_clock_age_ns(clock), context->sync_length_ns);
    rc = announce_deadline(context, resync, decision);
    if (rc != MPI_SUCCESS || decision[DEADLINE] != RESYNC)
        return rc;
    rc = synchronise(context);
    return rc == MPI_SUCCESS ? announce_deadline(context, 0, decision) : rc;
}

/* Busy-waits until a local time.
 * @return the local time on leaving, which is later than requested when the process lost its core */
static int64_t wait_until(const offbeat_start_context *context, int64_t local_ns) {
    for (;;) {
        int64_t now_ns = local_now_ns(context);
        if (now_ns >= local_ns)
            return now_ns;
        if (context->yields)
            sched_yield();
    }
}

int offbeat_harmonize(offbeat_start_context *context, int64_t delay_ns, offbeat_start *start) {
    if (context == NULL || start == NULL || delay_ns < 0)
        return MPI_ERR_ARG;
    int64_t decision[VALUES];
    int rc = agree_on_deadline(context, decision);
    if (rc != MPI_SUCCESS)
        return rc;
    /* Everything is computed before the wait, so that the return follows the deadline immediately. */
    const int64_t deadline_ns = decision[DEADLINE];
    const int64_t target_ns = offbeat_clock_to_local_ns(context->clock, deadline_ns + delay_ns);
    start->deadline_ns = deadline_ns;
    start->planned_ns = deadline_ns + delay_ns;
    start->slack_ns = decision[SLACK];
    start->bound_ns = offbeat_clock_bound_ns(context->clock, target_ns);
    start->margin_ns = target_ns - delay_ns - local_now_ns(context);
    context->lateness_ns = -start->margin_ns;
    const offbeat_verdict late_verdict =
        start->margin_ns + delay_ns < 0 ? OFFBEAT_CAME_LATE : OFFBEAT_LOST_CORE;
    start->overshoot_ns = wait_until(context, target_ns) - target_ns;
    start->verdict = start->overshoot_ns <= context->tolerance_ns ? OFFBEAT_ON_TIME : late_verdict;
    return MPI_SUCCESS;
}

int64_t offbeat_start_context_slack_ns(const offbeat_start_context *context) {
    return context->tree.rank == 0 ? offbeat_harmonize_slack_ns(&context->slack) : 0;
}

int64_t offbeat_start_context_tolerance_ns(const offbeat_start_context *context) {
    return context->tolerance_ns;
}

/* --- oversubscription --- */

static offbeat_harmonize_cores own_cores(void) {
    offbeat_harmonize_cores cores;
    cpu_set_t sets[sizeof cores / sizeof(cpu_set_t)];
    memset(&cores, 0, sizeof cores);
    if (sched_getaffinity(0, sizeof sets, sets) == 0)
        memcpy(&cores, sets, sizeof sets);
    return cores;
}

/* The number of processes of this launch on this node, as the launcher states it; 0 when it does not. */
static long launched_on_node(void) {
    static const char *const names[] = {"OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *text = getenv(names[i]);
        if (text != NULL)
            return strtol(text, NULL, 10);
    }
    return 0;
}

/* Gathers the masks on the first process of the node, which computes the result. */
static int compute_result(const offbeat_clock_tree *node, int *is_oversubscribed) {
    const offbeat_harmonize_cores process_cores = own_cores();
    if (node->rank != 0)
        return PMPI_Send(process_cores.words, OFFBEAT_HARMONIZE_CORE_WORDS, MPI_UINT64_T, 0, TAG_CORES,
                         node->comm);
    offbeat_harmonize_cores *processes = calloc((size_t)node->size, sizeof *processes);
    int rc = processes == NULL ? MPI_ERR_NO_MEM : MPI_SUCCESS;
    for (int i = 1; i < node->size && rc == MPI_SUCCESS; i++)
        rc = offbeat_clock_receive(processes[i].words, OFFBEAT_HARMONIZE_CORE_WORDS, MPI_UINT64_T, i,
                                   TAG_CORES, node->comm, OFFBEAT_CLOCK_POLLS_BEFORE_YIELD);
    if (rc == MPI_SUCCESS) {
        processes[0] = process_cores;
        *is_oversubscribed = offbeat_harmonize_cores_are_oversubscribed(processes, node->size);
    }
    free(processes);
    return rc;
}

/* Whether this node is oversubscribed: by the communicator's processes and their affinity masks, or by all
 * processes that the launcher says it started on the node and the node's cores, as the others spin as well.
 * Collective. */
static int node_is_oversubscribed(MPI_Comm comm, int *is_oversubscribed) {
    MPI_Comm node_comm = MPI_COMM_NULL;
    offbeat_clock_tree node;
    *is_oversubscribed = 0;
    int rc = PMPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node_comm);
    if (rc != MPI_SUCCESS)
        return rc;
    rc = offbeat_clock_tree_init(&node, node_comm, OFFBEAT_CLOCK_POLLS_BEFORE_YIELD);
    if (rc == MPI_SUCCESS)
        rc = compute_result(&node, is_oversubscribed);
    if (rc == MPI_SUCCESS)
        rc = offbeat_clock_tree_broadcast(&node, is_oversubscribed, 1, MPI_INT, TAG_RESULT);
    *is_oversubscribed |= launched_on_node() > sysconf(_SC_NPROCESSORS_ONLN);
    int free_rc = PMPI_Comm_free(&node_comm);
    return rc != MPI_SUCCESS ? rc : free_rc;
}

/* --- creation --- */

/* Checks that the communicator has exactly the clock's processes, as a sync would wait for all of them. */
static int check_processes(const offbeat_clock *clock, MPI_Comm comm) {
    int is_inter, relation;
    if (comm == MPI_COMM_NULL)
        return MPI_ERR_COMM;
    int rc = PMPI_Comm_test_inter(comm, &is_inter);
    if (rc == MPI_SUCCESS && is_inter)
        return MPI_ERR_COMM;
    if (rc == MPI_SUCCESS)
        rc = offbeat_clock_compare(clock, comm, &relation);
    if (rc != MPI_SUCCESS)
        return rc;
    return relation == MPI_UNEQUAL ? MPI_ERR_COMM : MPI_SUCCESS;
}

/* Reads the environment. Fails at all processes when one process's environment is invalid; that process
 * prints the reason. */
static int read_settings(offbeat_start_context *context, int *yield) {
    char why[256];
    offbeat_harmonize_settings settings;
    int64_t failure_flags[VALUES] = {offbeat_harmonize_settings_read(&settings, why, sizeof why) != 0, 0};
    if (failure_flags[0])
        fprintf(stderr, "offbeat-harmonize: %s\n", why);
    int rc = fan_in(context, failure_flags);
    if (rc == MPI_SUCCESS)
        rc = fan_out(context, failure_flags);
    if (rc != MPI_SUCCESS || failure_flags[0])
        return rc != MPI_SUCCESS ? rc : MPI_ERR_ARG;
    context->tolerance_ns = settings.tolerance_ns;
    if (*yield == OFFBEAT_YIELD_IF_OVERSUBSCRIBED)
        *yield = settings.yield;
    return MPI_SUCCESS;
}

static void set_yield(offbeat_start_context *context, int yields) {
    context->yields = yields;
    if (yields) {
        context->tree.polls_before_yield = POLLS_BEFORE_YIELD;
        offbeat_harmonize_slack_init(&context->slack, SLACK_FLOOR_YIELDING_NS, SLACK_CAP_NS, SLACK_CAP_NS);
    } else {
        offbeat_harmonize_slack_init(&context->slack, SLACK_FLOOR_NS, SLACK_LONG_NS, SLACK_CAP_NS);
    }
}

/* Sets up a context that has a clock and a communicator. */
static int set_up(offbeat_start_context *context, int yield) {
    int rc = offbeat_clock_tree_init(&context->tree, context->tree.comm, OFFBEAT_CLOCK_NEVER_YIELD);
    if (rc == MPI_SUCCESS)
        rc = read_settings(context, &yield);
    if (rc == MPI_SUCCESS && yield == OFFBEAT_YIELD_IF_OVERSUBSCRIBED)
        rc = node_is_oversubscribed(context->tree.comm, &yield);
    if (rc != MPI_SUCCESS)
        return rc;
    set_yield(context, yield);
    rc = measure_first_slack(context);
    context->lateness_ns = NO_LATENESS;
    context->sync_length_ns = offbeat_clock_sync_facts(context->clock).duration_ns;
    return rc;
}

int offbeat_start_context_create(offbeat_clock *clock, MPI_Comm comm, int yield,
                                 offbeat_start_context **context) {
    if (context != NULL)
        *context = NULL;
    if (clock == NULL || context == NULL || yield < OFFBEAT_YIELD_IF_OVERSUBSCRIBED || yield > 1)
        return MPI_ERR_ARG;
    int rc = check_processes(clock, comm);
    if (rc != MPI_SUCCESS)
        return rc;
    *context = calloc(1, sizeof **context);
    if (*context == NULL)
        return MPI_ERR_NO_MEM;
    (*context)->clock = clock;
    rc = offbeat_clock_duplicate(comm, &(*context)->tree.comm);
    if (rc == MPI_SUCCESS)
        rc = set_up(*context, yield);
    if (rc != MPI_SUCCESS)
        offbeat_start_context_free(context);
    return rc;
}

int offbeat_start_context_free(offbeat_start_context **context) {
    if (context == NULL || *context == NULL)
        return MPI_SUCCESS;
    int rc = MPI_SUCCESS;
    if ((*context)->tree.comm != MPI_COMM_NULL)
        rc = PMPI_Comm_free(&(*context)->tree.comm);
    free(*context);
    *context = NULL;
    return rc;
}
