/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file p2p_collectives.h
 * The driver's own collectives, over point-to-point messages: the library's collectives are under test and
 * may hang. MPI errors on the communicator must be fatal.
 */
#ifndef OFFBEAT_P2P_COLLECTIVES_H
#define OFFBEAT_P2P_COLLECTIVES_H

#include "clock/messages.h"

#include <mpi.h>
#include <stddef.h>
#include <stdint.h>
#include <stdnoreturn.h>

/** Message tags on the driver's control communicator. */
enum {
    OFFBEAT_TAG_BROADCAST = 101,
    OFFBEAT_TAG_REDUCE = 102,
    OFFBEAT_TAG_GATHER = 103,
    OFFBEAT_TAG_ENDPOINT = 104,
    OFFBEAT_TAG_TRANSFER = 105,
    OFFBEAT_TAG_SEQUENCE = 106,
};

/** Broadcasts @p bytes, at most INT_MAX, from rank 0. */
void offbeat_p2p_broadcast(void *data, size_t bytes, MPI_Comm comm);

/** A broadcast that may come after a long wait: the receivers sleep between polls instead of occupying a
 * core. */
void offbeat_p2p_broadcast_idle_wait(void *data, size_t bytes, MPI_Comm comm);

/** Reduces @p count values element-wise to rank 0; elsewhere the values are overwritten. */
void offbeat_p2p_reduce(int64_t *values, int count, offbeat_reduction reduction, MPI_Comm comm);

/** The reduction, followed by a broadcast of the result. */
void offbeat_p2p_allreduce(int64_t *values, int count, offbeat_reduction reduction, MPI_Comm comm);

/**
 * Gathers data of any length on rank 0, which holds the data of one other rank at a time.
 * @param bytes   length of this process's data
 * @param consume called on rank 0 for each rank in order, its own included
 */
void offbeat_p2p_gather(const void *data, size_t bytes,
                        void (*consume)(int rank, const void *data, size_t bytes, void *context),
                        void *context, MPI_Comm comm);

/** Prints "offbeat-driver: fatal error on rank R: WHY" to standard error, and aborts all processes. */
noreturn void offbeat_fatal(const char *why);

#endif
