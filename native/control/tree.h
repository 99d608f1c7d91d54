/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file tree.h
 * The driver's own collectives, over point-to-point messages: the library's are under test, and may hang.
 */
#ifndef OFFBEAT_TREE_H
#define OFFBEAT_TREE_H

#include <mpi.h>
#include <stddef.h>
#include <stdint.h>

/** Message tags of the driver on its control communicator. */
enum {
    OFFBEAT_TAG_DOWN = 101,
    OFFBEAT_TAG_UP = 102,
    OFFBEAT_TAG_GATHER = 103,
    OFFBEAT_TAG_LEARN = 104,
    OFFBEAT_TAG_TRANSFER = 105,
    OFFBEAT_TAG_SEQUENCE = 106,
};

/** How values of processes are combined. */
typedef enum { OFFBEAT_MIN, OFFBEAT_MAX, OFFBEAT_SUM } offbeat_combine;

/** Binomial broadcast of @p bytes, at most INT_MAX, from rank 0. */
void offbeat_tree_broadcast(void *data, size_t bytes, MPI_Comm comm);

/** The same for receivers that may wait for long: they sleep between looks instead of keeping a core busy. */
void offbeat_tree_broadcast_patiently(void *data, size_t bytes, MPI_Comm comm);

/** Binomial reduction of @p count values, element by element, to rank 0; elsewhere the values are
 * overwritten. */
void offbeat_tree_reduce(int64_t *values, int count, offbeat_combine combine, MPI_Comm comm);

/** The reduction followed by a broadcast: every process gets the result. */
void offbeat_tree_allreduce(int64_t *values, int count, offbeat_combine combine, MPI_Comm comm);

/**
 * Brings the bytes of every process to rank 0, one process after the other; as many as memory holds.
 * @param bytes    how many this process has
 * @param received on rank 0: called for each rank in order, its own included
 */
void offbeat_gather(const void *data, size_t bytes,
                    void (*received)(int rank, const void *data, size_t bytes, void *to), void *to,
                    MPI_Comm comm);

#endif
