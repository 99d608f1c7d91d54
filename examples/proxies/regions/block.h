/* SPDX-License-Identifier: BSD-3-Clause */
/** @file block.h  A process's block of the elements: its size, groups of five fields, their exchange and
 * walls. */
#ifndef REGIONS_BLOCK_H
#define REGIONS_BLOCK_H

#include <mpi.h>
#include <stddef.h>
#include <stdint.h>

enum { X, Y, Z, DIMENSIONS };

/** The fields of a group. Conserved: density, momentum and energy per volume; primitive: density, velocity
 * and pressure. */
enum { DENSITY, MOTION, ENERGY = MOTION + DIMENSIONS, PRESSURE = ENERGY, FIELDS };

enum { LOW, HIGH, SIDES };

/** Elements have the places 1 to n; 0 and n + 1 are copies of a neighbour's elements, or mirror images at a
 * wall. A group of fields has FIELDS × cells numbers. */
typedef struct block {
    int elements[DIMENSIONS];                 /**< of the whole grid */
    int first[DIMENSIONS], n[DIMENSIONS];     /**< this block's first element in the grid, and its elements */
    size_t distance[DIMENSIONS], cells;       /**< between neighbours in memory; all places */
    MPI_Comm comm;                            /**< a Cartesian communicator, Z first */
    int neighbour[DIMENSIONS][SIDES];         /**< ranks, or MPI_PROC_NULL at a wall */
    MPI_Datatype sent[DIMENSIONS][SIDES];     /**< the elements of a group beside a side */
    MPI_Datatype received[DIMENSIONS][SIDES]; /**< the places beyond a side */
} block;

/** Divides the grid. In z, the largest part has `imbalance` (0 to 1) more elements than the mean. Collective.
 * @return 0 if a process would have no element */
int block_create(block *b, const int elements[DIMENSIONS], double imbalance, MPI_Comm comm);
void block_free(block *b);

/** Exchanges elements with all neighbours: in direction d those of the group at `groups + d × distance`. */
void block_exchange(const block *b, double *groups, size_t distance);

/** Sets the places beyond walls in one direction to mirror images, times a sign: `normal` for the motion in
 * this direction, `others` for all other fields. */
void block_reflect(const block *b, double *group, int direction, double normal, double others);

static inline size_t block_at(const block *b, int x, int y, int z) {
    return (size_t)x + (size_t)y * b->distance[Y] + (size_t)z * b->distance[Z];
}

/** The number of an element in the whole grid. */
static inline uint64_t block_number(const block *b, int x, int y, int z) {
    const uint64_t plane = (uint64_t)(b->first[Z] + z - 1), row = (uint64_t)(b->first[Y] + y - 1);
    return (plane * (uint64_t)b->elements[Y] + row) * (uint64_t)b->elements[X] +
           (uint64_t)(b->first[X] + x - 1);
}

#endif
