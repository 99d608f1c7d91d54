/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file messages.h
 * Point-to-point communication: a receive that may give its core away while it waits, and a broadcast and a
 * reduction along a binomial tree. The shared clock, the harmonised start and the driver use them.
 *
 * Some MPI libraries spin in MPI_Recv. With more processes than cores the sender must then wait until the
 * receiver's time slice ends, so that every message takes milliseconds.
 */
#ifndef OFFBEAT_CLOCK_MESSAGES_H
#define OFFBEAT_CLOCK_MESSAGES_H

#include <mpi.h>
#include <stdint.h>

/** For polls_before_yield: wait in a plain MPI_Recv; sleep between polls, which is for long waits. */
enum { OFFBEAT_CLOCK_NEVER_YIELD = -1, OFFBEAT_CLOCK_SLEEP = -2 };

/**
 * Duplicates an intra-communicator; errors on the duplicate are returned as codes. Collective.
 * @return MPI_SUCCESS, MPI_ERR_COMM for MPI_COMM_NULL and inter-communicators, or an MPI error code
 */
int offbeat_clock_duplicate(MPI_Comm comm, MPI_Comm *duplicate);

/**
 * Receives a message.
 * @param polls_before_yield number of unsuccessful polls after which sched_yield is called between polls; or
 * OFFBEAT_CLOCK_NEVER_YIELD, OFFBEAT_CLOCK_SLEEP
 * @return MPI_SUCCESS or an MPI error code
 */
int offbeat_clock_receive(void *buffer, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
                          int polls_before_yield);

/** The position of this process in the binomial tree over a communicator. */
typedef struct offbeat_clock_tree {
    MPI_Comm comm; /**< not owned */
    int rank, size;
    int polls_before_yield;
} offbeat_clock_tree;

typedef enum offbeat_reduction { OFFBEAT_MIN, OFFBEAT_MAX, OFFBEAT_SUM } offbeat_reduction;

/** Initialises a tree over a communicator. Local. @return an MPI error code */
int offbeat_clock_tree_init(offbeat_clock_tree *tree, MPI_Comm comm, int polls_before_yield);

/**
 * Reduces each value to rank 0, which returns after all processes have called. The values at other ranks are
 * overwritten. Collective.
 * @return an MPI error code
 */
int offbeat_clock_tree_reduce(const offbeat_clock_tree *tree, int64_t *values, int count,
                              offbeat_reduction reduction, int tag);

/** Broadcasts rank 0's data. Collective. @return an MPI error code */
int offbeat_clock_tree_broadcast(const offbeat_clock_tree *tree, void *data, int count, MPI_Datatype type,
                                 int tag);

#endif
