/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file oversubscription.h
 * Whether processes share cores: then a waiting process must yield its core, or the others wait for it.
 */
#ifndef OFFBEAT_HARMONIZE_OVERSUBSCRIPTION_H
#define OFFBEAT_HARMONIZE_OVERSUBSCRIPTION_H

#include <mpi.h>
#include <stdint.h>

/** Length of the affinity mask: 8192 cores. */
enum { OFFBEAT_HARMONIZE_CORE_WORDS = 128 };

/** The affinity mask of a process: the cores on which it may run, one bit each. */
typedef struct offbeat_harmonize_cores {
    uint64_t words[OFFBEAT_HARMONIZE_CORE_WORDS];
} offbeat_harmonize_cores;

/**
 * Whether some of these processes together have fewer cores than processes: for each mask, counts the
 * processes that can run only on its cores. Exact when masks are equal, nested or disjoint, as launchers set
 * them. A process with an empty mask (its affinity is unknown) is ignored.
 */
int offbeat_harmonize_cores_are_oversubscribed(const offbeat_harmonize_cores *processes, int count);

/**
 * Whether this node is oversubscribed: by the communicator's processes and their affinity masks, or by all
 * processes that the launcher says it started on the node and the node's cores, as the others spin as well.
 * Collective; point-to-point messages on a private communicator.
 * @return an MPI error code
 */
int offbeat_harmonize_node_is_oversubscribed(MPI_Comm comm, int *is_oversubscribed);

#endif
