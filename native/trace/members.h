/* SPDX-License-Identifier: BSD-3-Clause */
/** @file members.h  Who is in a communicator: world ranks, their hash, and how often it came before. */
#ifndef OFFBEAT_TRACE_MEMBERS_H
#define OFFBEAT_TRACE_MEMBERS_H

#include <mpi.h>
#include <stdint.h>

/** World ranks of a communicator's members, -1 for processes of another world. */
typedef struct offbeat_world_ranks {
    int count, remote_count; /**< the latter 0 but for an inter-communicator */
    int *ranks;              /**< of this process's group, then those of the other one */
} offbeat_world_ranks;

/** Finds them; local. Free `ranks`. @return 0, or -1 where memory is full */
int offbeat_members_find(MPI_Comm comm, offbeat_world_ranks *members);

/** A hash that is the same on all members, in both groups. */
uint64_t offbeat_members_hash(const offbeat_world_ranks *members);

/** How many communicators with this hash there were before on this process; counts this one. Any thread. */
uint32_t offbeat_members_ordinal(uint64_t hash);

/** Writes them as definitions. @param communicator id */
void offbeat_members_define(uint32_t communicator, const offbeat_world_ranks *members);

#endif
