/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file fan.h
 * The two halves of a start: a fan-in along a binomial tree to rank 0, and a fan-out back along it.
 *
 * Point-to-point messages of a few numbers, on a communicator of our own.
 */
#ifndef OFFBEAT_HARMONIZE_FAN_H
#define OFFBEAT_HARMONIZE_FAN_H

#include <mpi.h>
#include <stdint.h>

/** How many numbers a message carries. */
enum { OFFBEAT_FAN_VALUES = 2 };

/** This process's place in the tree. */
typedef struct offbeat_fan {
    MPI_Comm comm; /**< our own; freed by whoever made it */
    int rank, size;
    int yields; /**< give the core away while waiting for a message */
} offbeat_fan;

/** Takes a communicator of our own; waits don't yield until the field says so. @return an MPI error code */
int offbeat_fan_open(offbeat_fan *fan, MPI_Comm comm);

/** Rank 0 returns when all have called; there each value becomes the largest of all. Elsewhere they are
 * overwritten. Collective. @return an MPI error code */
int offbeat_fan_in(const offbeat_fan *fan, int64_t values[OFFBEAT_FAN_VALUES]);

/** Gives everybody rank 0's values. Collective. @return an MPI error code */
int offbeat_fan_out(const offbeat_fan *fan, int64_t values[OFFBEAT_FAN_VALUES]);

#endif
