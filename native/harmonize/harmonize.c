/* SPDX-License-Identifier: BSD-3-Clause */
#define _POSIX_C_SOURCE 200809L
#include <offbeat/harmonize.h>

#include "clock/messages.h"
#include "harmonize/crowd.h"
#include "harmonize/fan.h"
#include "harmonize/harmony.h"
#include "harmonize/slack.h"
#include "harmonize/sync_due.h"
#include "harmonize/wishes.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

/* Rounds that measure the first slack; those that set up connections and warm caches don't count. */
enum { WARM_UP_ROUNDS = 2, MEASURED_ROUNDS = 8 };

static const int64_t SLACK_FLOOR_NS = 2 * 1000;
static const int64_t SLACK_FLOOR_YIELDING_NS =
    50 * 1000; /* a scheduler stands between the message and the process */
static const int64_t SLACK_CAP_NS = 50 * 1000 * 1000;
static const int64_t PATIENCE_NS = 2 * 1000 * 1000; /* shorter than schedulers let a process run */

/* Fanned out instead of a deadline: synchronise the clocks and begin again. */
static const int64_t RESYNC = INT64_MIN;

/* Fanned in instead of a lateness: this start has been told of, or there was none. */
static const int64_t TOLD = INT64_MIN;

/* What travels up, the largest of each at the top; and what travels down. */
enum { SYNC_HELPS = 0, LATENESS = 1 };
enum { DEADLINE = 0, SLACK = 1 };

struct offbeat_harmony {
    offbeat_clock *clock;
    offbeat_fan fan;
    int64_t tolerance_ns;
    int64_t lateness_ns; /* how long after the deadline this process began to wait in the last start */
    /* At rank 0: */
    offbeat_slack slack;
    int64_t used_slack_ns;  /* the slack of the last start */
    int64_t sync_length_ns; /* of the last sync, until all were done */
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
    return "has no known verdict";
}

static int64_t local_now_ns(const offbeat_harmony *harmony) {
    return offbeat_clock_local_ns(harmony->clock);
}

static int64_t global_now_ns(const offbeat_harmony *harmony) {
    return offbeat_clock_global_ns(harmony->clock, local_now_ns(harmony));
}

/* Measures how long a fan-out takes until the last process has passed it on; each round's answer travels up
 * with the fan-in of the next. */
static int measure_needs(offbeat_harmony *harmony) {
    int64_t need_ns = 0;
    for (int round = 0; round <= WARM_UP_ROUNDS + MEASURED_ROUNDS; round++) {
        int64_t up[OFFBEAT_FAN_VALUES] = {need_ns, 0}, down[OFFBEAT_FAN_VALUES] = {0, 0};
        int rc = offbeat_fan_in(&harmony->fan, up);
        if (rc != MPI_SUCCESS)
            return rc;
        if (harmony->fan.rank == 0 && round > WARM_UP_ROUNDS)
            offbeat_slack_learn(&harmony->slack, up[0]);
        down[0] = global_now_ns(harmony);
        rc = offbeat_fan_out(&harmony->fan, down);
        if (rc != MPI_SUCCESS)
            return rc;
        need_ns = global_now_ns(harmony) - down[0];
    }
    return MPI_SUCCESS;
}

/* Waits for all. Rank 0 hears how late the last start was known to the last process, and learns from it.
 * @param[in,out] sync_helps here, then anywhere (at rank 0) */
static int gather(offbeat_harmony *harmony, int *sync_helps) {
    int64_t up[OFFBEAT_FAN_VALUES] = {[SYNC_HELPS] = *sync_helps, [LATENESS] = harmony->lateness_ns};
    harmony->lateness_ns = TOLD;
    int rc = offbeat_fan_in(&harmony->fan, up);
    if (rc != MPI_SUCCESS || harmony->fan.rank != 0)
        return rc;
    *sync_helps = up[SYNC_HELPS] != 0;
    if (up[LATENESS] != TOLD)
        offbeat_slack_learn(&harmony->slack, harmony->used_slack_ns + up[LATENESS]);
    return MPI_SUCCESS;
}

/* Rank 0's deadline, or RESYNC, for everybody. */
static int spread(offbeat_harmony *harmony, int resync, int64_t down[OFFBEAT_FAN_VALUES]) {
    down[DEADLINE] = down[SLACK] = RESYNC;
    if (harmony->fan.rank == 0 && !resync) {
        down[SLACK] = harmony->used_slack_ns = offbeat_slack_ns(&harmony->slack);
        down[DEADLINE] = global_now_ns(harmony) + down[SLACK];
    }
    return offbeat_fan_out(&harmony->fan, down);
}

/* Synchronises all clocks, and takes the time at rank 0 until all are done. */
static int synchronise(offbeat_harmony *harmony) {
    int64_t began_ns = local_now_ns(harmony);
    int nothing = 0;
    int rc = offbeat_clock_sync(harmony->clock);
    if (rc == MPI_SUCCESS)
        rc = gather(harmony, &nothing);
    harmony->sync_length_ns = local_now_ns(harmony) - began_ns;
    return rc;
}

/* Agrees on a deadline when all are there, synchronising the clocks before it at most once. */
static int agree(offbeat_harmony *harmony, int64_t down[OFFBEAT_FAN_VALUES]) {
    offbeat_clock *clock = harmony->clock;
    int sync_helps = offbeat_sync_helps(offbeat_clock_sync_facts(clock).bound_ns,
                                        offbeat_clock_bound_ns(clock, local_now_ns(harmony)));
    int rc = gather(harmony, &sync_helps);
    if (rc != MPI_SUCCESS)
        return rc;
    rc = spread(
        harmony,
        sync_helps && offbeat_sync_is_affordable(offbeat_clock_age_ns(clock), harmony->sync_length_ns), down);
    if (rc != MPI_SUCCESS || down[DEADLINE] != RESYNC)
        return rc;
    rc = synchronise(harmony);
    return rc == MPI_SUCCESS ? spread(harmony, 0, down) : rc;
}

/* Spins until a local time. @return the local time on leaving, which is later when the process lost its core
 */
static int64_t wait_until(const offbeat_harmony *harmony, int64_t local_ns) {
    for (;;) {
        int64_t now_ns = local_now_ns(harmony);
        if (now_ns >= local_ns)
            return now_ns;
        if (harmony->fan.yields)
            sched_yield();
    }
}

int offbeat_harmonize(offbeat_harmony *harmony, int64_t delay_ns, offbeat_start *start) {
    if (harmony == NULL || start == NULL || delay_ns < 0)
        return MPI_ERR_ARG;
    int64_t down[OFFBEAT_FAN_VALUES];
    int rc = agree(harmony, down);
    if (rc != MPI_SUCCESS)
        return rc;
    /* All that can be done beforehand is: little comes between the deadline and the return. */
    const int64_t deadline_ns = down[DEADLINE];
    const int64_t target_ns = offbeat_clock_to_local_ns(harmony->clock, deadline_ns + delay_ns);
    start->deadline_ns = deadline_ns;
    start->planned_ns = deadline_ns + delay_ns;
    start->slack_ns = down[SLACK];
    start->bound_ns = offbeat_clock_bound_ns(harmony->clock, target_ns);
    start->margin_ns = target_ns - delay_ns - local_now_ns(harmony);
    harmony->lateness_ns = -start->margin_ns;
    const offbeat_verdict reproach = start->margin_ns + delay_ns < 0 ? OFFBEAT_CAME_LATE : OFFBEAT_LOST_CORE;
    start->overshoot_ns = wait_until(harmony, target_ns) - target_ns;
    start->verdict = start->overshoot_ns <= harmony->tolerance_ns ? OFFBEAT_ON_TIME : reproach;
    return MPI_SUCCESS;
}

int64_t offbeat_harmony_slack_ns(const offbeat_harmony *harmony) {
    return harmony->fan.rank == 0 ? offbeat_slack_ns(&harmony->slack) : 0;
}

int64_t offbeat_harmony_tolerance_ns(const offbeat_harmony *harmony) {
    return harmony->tolerance_ns;
}

/* Whether the communicator has just the clock's processes: a sync would wait for all of those. */
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

/* Reads the environment; fails everywhere where it fails anywhere, and says why where it does. */
static int obey_environment(offbeat_harmony *harmony, int *yield) {
    char why[256];
    offbeat_wishes wishes;
    int64_t failed[OFFBEAT_FAN_VALUES] = {offbeat_wishes_read(&wishes, why, sizeof why) != 0, 0};
    if (failed[0])
        fprintf(stderr, "offbeat-harmonize: %s\n", why);
    int rc = offbeat_fan_in(&harmony->fan, failed);
    if (rc == MPI_SUCCESS)
        rc = offbeat_fan_out(&harmony->fan, failed);
    if (rc != MPI_SUCCESS || failed[0])
        return rc != MPI_SUCCESS ? rc : MPI_ERR_ARG;
    harmony->tolerance_ns = wishes.tolerance_ns;
    if (*yield == OFFBEAT_YIELD_WHERE_CROWDED)
        *yield = wishes.yield;
    return MPI_SUCCESS;
}

/* What is done once there is a harmony to fill. */
static int set_up(offbeat_harmony *harmony, int yield) {
    int rc = offbeat_fan_open(&harmony->fan, harmony->fan.comm);
    if (rc == MPI_SUCCESS)
        rc = obey_environment(harmony, &yield);
    if (rc == MPI_SUCCESS && yield == OFFBEAT_YIELD_WHERE_CROWDED)
        rc = offbeat_node_is_crowded(harmony->fan.comm, &yield);
    if (rc != MPI_SUCCESS)
        return rc;
    harmony->fan.yields = yield;
    if (yield)
        offbeat_slack_init(&harmony->slack, SLACK_FLOOR_YIELDING_NS, SLACK_CAP_NS, SLACK_CAP_NS);
    else
        offbeat_slack_init(&harmony->slack, SLACK_FLOOR_NS, PATIENCE_NS, SLACK_CAP_NS);
    rc = measure_needs(harmony);
    harmony->lateness_ns = TOLD;
    harmony->sync_length_ns = offbeat_clock_sync_facts(harmony->clock).duration_ns;
    return rc;
}

int offbeat_harmony_create_on(offbeat_clock *clock, MPI_Comm own, int yield, offbeat_harmony **harmony) {
    *harmony = NULL;
    offbeat_harmony *created = calloc(1, sizeof *created);
    if (created == NULL) {
        PMPI_Comm_free(&own);
        return MPI_ERR_NO_MEM;
    }
    created->clock = clock;
    created->fan.comm = own;
    int rc = set_up(created, yield);
    if (rc == MPI_SUCCESS)
        *harmony = created;
    else
        offbeat_harmony_free(&created);
    return rc;
}

int offbeat_harmony_create(offbeat_clock *clock, MPI_Comm comm, int yield, offbeat_harmony **harmony) {
    MPI_Comm own;
    if (harmony != NULL)
        *harmony = NULL;
    if (clock == NULL || harmony == NULL || yield < OFFBEAT_YIELD_WHERE_CROWDED || yield > 1)
        return MPI_ERR_ARG;
    int rc = check_processes(clock, comm);
    if (rc == MPI_SUCCESS)
        rc = offbeat_duplicate(comm, &own);
    return rc == MPI_SUCCESS ? offbeat_harmony_create_on(clock, own, yield, harmony) : rc;
}

int offbeat_harmony_free(offbeat_harmony **harmony) {
    if (harmony == NULL || *harmony == NULL)
        return MPI_SUCCESS;
    int rc = PMPI_Comm_free(&(*harmony)->fan.comm);
    free(*harmony);
    *harmony = NULL;
    return rc;
}
