/* SPDX-License-Identifier: BSD-3-Clause */
#define _POSIX_C_SOURCE 200809L
#include <offbeat/harmonize.h>

#include "clock/messages.h"
#include "clock/tree.h"
#include "harmonize/slack.h"

#include <sched.h>
#include <stdlib.h>

enum { TAG_FAN_IN = 1, TAG_FAN_OUT = 2 };

/* Rounds that measure the first slack; those that set up connections and warm caches don't count. */
enum { WARM_UP_ROUNDS = 2, MEASURED_ROUNDS = 8 };

/* Polls before a waiting process gives its core away, when it shall at all: it shares the core for certain.
 */
enum { PATIENCE = 20 };

static const int64_t SLACK_FLOOR_NS = 2 * 1000;
static const int64_t SLACK_FLOOR_YIELDING_NS =
    50 * 1000; /* a scheduler stands between the message and the process */
static const int64_t SLACK_CAP_NS = 50 * 1000 * 1000;
static const int64_t OLDEST_SYNC_NS = 1000 * 1000 * 1000;

/* Fanned out instead of a deadline: synchronise the clocks and begin again. */
static const int64_t RESYNC = INT64_MIN;

struct offbeat_harmony {
    offbeat_clock *clock;
    MPI_Comm comm;
    int rank, size;
    int yield;
    offbeat_slack slack;   /* these two live at rank 0 */
    int64_t used_slack_ns; /* the slack of the last start */
};

static int receive(const offbeat_harmony *harmony, int64_t *value, int source, int tag) {
    int patience = harmony->yield ? PATIENCE : OFFBEAT_NEVER_YIELD;
    return offbeat_receive(value, 1, MPI_INT64_T, source, tag, harmony->comm, patience);
}

/* Rank 0 returns when all have called; there @p value becomes the largest of all values. */
static int fan_in(const offbeat_harmony *harmony, int64_t *value) {
    int span = offbeat_tree_span(harmony->rank, harmony->size);
    for (int distance = 1; distance < span; distance *= 2) {
        int64_t other = INT64_MIN;
        if (harmony->rank + distance >= harmony->size)
            break;
        int rc = receive(harmony, &other, harmony->rank + distance, TAG_FAN_IN);
        if (rc != MPI_SUCCESS)
            return rc;
        if (other > *value)
            *value = other;
    }
    if (harmony->rank == 0)
        return MPI_SUCCESS;
    return MPI_Send(value, 1, MPI_INT64_T, offbeat_tree_parent(harmony->rank), TAG_FAN_IN, harmony->comm);
}

/* Gives everybody rank 0's value. */
static int fan_out(const offbeat_harmony *harmony, int64_t *value) {
    int rc = MPI_SUCCESS;
    if (harmony->rank != 0)
        rc = receive(harmony, value, offbeat_tree_parent(harmony->rank), TAG_FAN_OUT);
    int distance = offbeat_tree_span(harmony->rank, harmony->size) / 2;
    for (; rc == MPI_SUCCESS && distance > 0; distance /= 2) {
        if (harmony->rank + distance < harmony->size)
            rc = MPI_Send(value, 1, MPI_INT64_T, harmony->rank + distance, TAG_FAN_OUT, harmony->comm);
    }
    return rc;
}

static int64_t global_now_ns(const offbeat_harmony *harmony) {
    return offbeat_clock_global_ns(harmony->clock, offbeat_clock_local_ns());
}

/* Measures how long a fan-out takes until the last process has passed it on; each round's answer travels up
 * with the fan-in of the next. */
static int measure_needs(offbeat_harmony *harmony) {
    int64_t need_ns = 0;
    for (int round = 0; round <= WARM_UP_ROUNDS + MEASURED_ROUNDS; round++) {
        int rc = fan_in(harmony, &need_ns);
        if (rc != MPI_SUCCESS)
            return rc;
        if (harmony->rank == 0 && round > WARM_UP_ROUNDS)
            offbeat_slack_learn(&harmony->slack, need_ns);
        int64_t began_ns = global_now_ns(harmony);
        rc = fan_out(harmony, &began_ns);
        if (rc != MPI_SUCCESS)
            return rc;
        need_ns = global_now_ns(harmony) - began_ns;
    }
    return MPI_SUCCESS;
}

/* Whether this process's clock has become too old to be trusted; a shared physical clock never does. */
static int is_stale(const offbeat_clock *clock) {
    return !offbeat_clock_is_shared(clock) && offbeat_clock_age_ns(clock) > OLDEST_SYNC_NS;
}

/* Waits for all, then spreads rank 0's deadline, or RESYNC where that is allowed and somebody needs it. */
static int agree(offbeat_harmony *harmony, int may_resync, int64_t *deadline_ns) {
    int64_t stale = may_resync && is_stale(harmony->clock);
    int rc = fan_in(harmony, &stale);
    if (rc != MPI_SUCCESS)
        return rc;
    if (harmony->rank == 0) {
        harmony->used_slack_ns = offbeat_slack_ns(&harmony->slack);
        *deadline_ns = stale ? RESYNC : global_now_ns(harmony) + harmony->used_slack_ns;
    }
    return fan_out(harmony, deadline_ns);
}

/* Agrees on a deadline, synchronising the clocks before it at most once: where a sync itself takes a second,
 * the clocks are stale again at once. */
static int agree_in_sync(offbeat_harmony *harmony, int64_t *deadline_ns) {
    int rc = agree(harmony, 1, deadline_ns);
    if (rc != MPI_SUCCESS || *deadline_ns != RESYNC)
        return rc;
    rc = offbeat_clock_sync(harmony->clock);
    return rc == MPI_SUCCESS ? agree(harmony, 0, deadline_ns) : rc;
}

/* Spins until a local time. @return the local time on leaving, which is later when the process lost its core
 */
static int64_t wait_until(int64_t local_ns, int yield) {
    for (;;) {
        int64_t now_ns = offbeat_clock_local_ns();
        if (now_ns >= local_ns)
            return now_ns;
        if (yield)
            sched_yield();
    }
}

int offbeat_harmonize(offbeat_harmony *harmony, int64_t delay_ns, offbeat_start *start) {
    if (harmony == NULL || start == NULL || delay_ns < 0)
        return MPI_ERR_ARG;
    int64_t deadline_ns = 0;
    int rc = agree_in_sync(harmony, &deadline_ns);
    if (rc != MPI_SUCCESS)
        return rc;
    /* All that can be done beforehand is: nothing but one subtraction comes between the deadline and the
     * return. */
    const int64_t target_ns = offbeat_clock_to_local_ns(harmony->clock, deadline_ns + delay_ns);
    start->deadline_ns = deadline_ns;
    start->planned_ns = deadline_ns + delay_ns;
    start->bound_ns = offbeat_clock_bound_ns(harmony->clock, target_ns);
    start->margin_ns = target_ns - delay_ns - offbeat_clock_local_ns();
    start->overshoot_ns = wait_until(target_ns, harmony->yield) - target_ns;
    return MPI_SUCCESS;
}

void offbeat_harmony_adapt(offbeat_harmony *harmony, int64_t smallest_margin_ns) {
    if (harmony == NULL || harmony->rank != 0)
        return;
    /* Nobody can be told to come earlier than the cap allows, and any number may be given. */
    int64_t margin_ns = smallest_margin_ns < -SLACK_CAP_NS ? -SLACK_CAP_NS : smallest_margin_ns;
    offbeat_slack_learn(&harmony->slack, harmony->used_slack_ns - margin_ns);
}

int64_t offbeat_harmony_slack_ns(const offbeat_harmony *harmony) {
    return harmony->rank == 0 ? offbeat_slack_ns(&harmony->slack) : 0;
}

/* Whether the communicator has just the clock's processes: a sync would wait for all of those. */
static int check_processes(const offbeat_clock *clock, MPI_Comm comm) {
    int is_inter, relation;
    if (comm == MPI_COMM_NULL)
        return MPI_ERR_COMM;
    int rc = MPI_Comm_test_inter(comm, &is_inter);
    if (rc == MPI_SUCCESS && is_inter)
        return MPI_ERR_COMM;
    if (rc == MPI_SUCCESS)
        rc = offbeat_clock_compare(clock, comm, &relation);
    if (rc != MPI_SUCCESS)
        return rc;
    return relation == MPI_UNEQUAL ? MPI_ERR_COMM : MPI_SUCCESS;
}

/* What offbeat_harmony_create does once there is a harmony to fill. */
static int set_up(offbeat_harmony *harmony, MPI_Comm comm) {
    int rc = offbeat_duplicate(comm, &harmony->comm);
    if (rc == MPI_SUCCESS)
        rc = MPI_Comm_rank(harmony->comm, &harmony->rank);
    if (rc == MPI_SUCCESS)
        rc = MPI_Comm_size(harmony->comm, &harmony->size);
    if (rc != MPI_SUCCESS)
        return rc;
    offbeat_slack_init(&harmony->slack, harmony->yield ? SLACK_FLOOR_YIELDING_NS : SLACK_FLOOR_NS,
                       SLACK_CAP_NS);
    rc = measure_needs(harmony);
    harmony->used_slack_ns = offbeat_slack_ns(&harmony->slack);
    return rc;
}

int offbeat_harmony_create(offbeat_clock *clock, MPI_Comm comm, int yield, offbeat_harmony **harmony) {
    if (clock == NULL || harmony == NULL)
        return MPI_ERR_ARG;
    *harmony = NULL;
    int rc = check_processes(clock, comm);
    if (rc != MPI_SUCCESS)
        return rc;
    offbeat_harmony *created = calloc(1, sizeof *created);
    if (created == NULL)
        return MPI_ERR_NO_MEM;
    created->clock = clock;
    created->comm = MPI_COMM_NULL;
    created->yield = yield;
    rc = set_up(created, comm);
    if (rc == MPI_SUCCESS)
        *harmony = created;
    else
        offbeat_harmony_free(&created);
    return rc;
}

int offbeat_harmony_free(offbeat_harmony **harmony) {
    if (harmony == NULL || *harmony == NULL)
        return MPI_SUCCESS;
    int rc = MPI_SUCCESS;
    if ((*harmony)->comm != MPI_COMM_NULL)
        rc = MPI_Comm_free(&(*harmony)->comm);
    free(*harmony);
    *harmony = NULL;
    return rc;
}
