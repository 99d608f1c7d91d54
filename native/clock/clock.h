/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file clock.h
 * The contents of a shared clock, for the files of this folder and the tracer; users include offbeat/clock.h.
 */
#ifndef OFFBEAT_CLOCK_CLOCK_H
#define OFFBEAT_CLOCK_CLOCK_H

#include "clock/messages.h"
#include "clock/pair_sync.h"
#include "clock/source.h"
#include "clock/sync_schedule.h"

#include <offbeat/clock.h>

/** Polls before a waiting process yields its core: about ten microseconds, more than a round trip on a
 * network, so that the accuracy does not suffer where every process has a core. */
enum { OFFBEAT_CLOCK_POLLS_BEFORE_YIELD = 200 };

/** Ranks in a communicator, in increasing order; zeroed: none. */
typedef struct offbeat_clock_members {
    int *ranks;
    int count;
    int index; /**< of this process */
} offbeat_clock_members;

struct offbeat_clock {
    offbeat_clock_tree tree; /* over the clock's own communicator */
    offbeat_time_source source;
    offbeat_clock_state state;
    offbeat_clock_members node, leaders; /* of a method that is by_node; the schedule points to them */
    offbeat_clock_sync_schedule schedule;
    int64_t synced_at_ns; /* local time at which the last synchronisation ended */
    offbeat_sync_facts facts;
};

/** The ranks in a communicator of a group's processes; MPI_UNDEFINED for those outside of it. Local.
 * @return an MPI error code */
int offbeat_clock_ranks_of_group(MPI_Group group, int count, MPI_Comm comm, int *ranks);

#endif
