/* SPDX-License-Identifier: BSD-3-Clause */
/** @file group_members.h  The processes of a communicator, and its identity, which comes from them. */
#ifndef OFFBEAT_TRACE_GROUP_MEMBERS_H
#define OFFBEAT_TRACE_GROUP_MEMBERS_H

#include <mpi.h>
#include <stdint.h>

/** World ranks of a communicator's processes; -1 for processes of another MPI_COMM_WORLD. */
typedef struct offbeat_tracer_members {
    int count, remote_count; /**< the latter is 0 except for an inter-communicator */
    int *ranks;              /**< of the local group, then those of the remote group */
} offbeat_tracer_members;

/** Determines the members; local. The caller frees `ranks`. @return 0, or -1 if memory is exhausted */
int offbeat_tracer_members_get(MPI_Comm comm, offbeat_tracer_members *members);

/** A hash that is the same at all members, in both groups. */
uint64_t offbeat_tracer_members_hash(const offbeat_tracer_members *members);

/** The number of earlier communicators with this hash on this process; counts the present one. Thread-safe.
 */
uint32_t offbeat_tracer_members_ordinal(uint64_t hash);

/** Writes the members as definitions. @param communicator id */
void offbeat_tracer_members_define(uint32_t communicator, const offbeat_tracer_members *members);

#endif
