/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file crowd.h
 * Whether processes share cores: then one that waits must give its core away, or the others wait for it.
 */
#ifndef OFFBEAT_HARMONIZE_CROWD_H
#define OFFBEAT_HARMONIZE_CROWD_H

#include <mpi.h>
#include <stdint.h>

/** Room for the cores of a process: 8192. */
enum { OFFBEAT_CORE_WORDS = 128 };

/** The cores that a process may run on, one bit each. */
typedef struct offbeat_cores {
    uint64_t words[OFFBEAT_CORE_WORDS];
} offbeat_cores;

/**
 * Whether some of these processes have fewer cores among them than they are: for the cores of each process,
 * it counts who may run nowhere else. Exact where sets of cores are the same, nested or apart, as launchers
 * make them. A process without any core (nothing is known of it) doesn't count.
 */
int offbeat_cores_are_crowded(const offbeat_cores *processes, int count);

/**
 * Whether the processes of this node are more than their cores: those of the communicator by the cores that
 * each may use; and, as others of the same launch spin beside them, all that the launcher says it started
 * here by the node's cores. Collective; point-to-point messages on a communicator of our own.
 * @return an MPI error code
 */
int offbeat_node_is_crowded(MPI_Comm comm, int *crowded);

#endif
