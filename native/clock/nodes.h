/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file nodes.h
 * Which processes of a communicator share a node, and who speaks for each node.
 */
#ifndef OFFBEAT_CLOCK_NODES_H
#define OFFBEAT_CLOCK_NODES_H

#include <mpi.h>

/** Ranks in a communicator, in increasing order; zeroed: none. */
typedef struct offbeat_members {
    int *ranks;
    int count;
    int index; /**< this process among them */
} offbeat_members;

/**
 * Finds the processes of this process's node, and the first processes of all nodes (none unless this process
 * is one of those). Collective: creates communicators and frees them. Free both with offbeat_members_free,
 * also on failure.
 * @return MPI_SUCCESS, MPI_ERR_NO_MEM or another MPI error code
 */
int offbeat_nodes_find(MPI_Comm comm, offbeat_members *node, offbeat_members *leaders);

/** Frees the list and zeroes it. */
void offbeat_members_free(offbeat_members *members);

#endif
