/* SPDX-License-Identifier: BSD-3-Clause */
/** @file block.h  A process's block of the grid: cells, faces, the stencil, a checksum. */
#ifndef STENCIL_BLOCK_H
#define STENCIL_BLOCK_H

#include <stdint.h>

/** The directions; neighbouring cells in memory are neighbours in X. */
enum { Z, Y, X };

/** The cells 1 to n of each direction, and the cells 0 and n + 1 around them: copies of the neighbours'
 * cells, or the cold wall of the box. */
typedef struct block {
    int grid[3];        /**< cells of the whole grid */
    int first[3], n[3]; /**< this block's first cell in the grid, and its number of cells */
    double *now, *next; /**< the temperatures, and those of the next iteration */
} block;

/** The cells lo ≤ cell < hi. */
typedef struct box {
    int lo[3], hi[3];
} box;

/** Allocates the block at a place in a grid of places[Z] × places[Y] × places[X] blocks. @return 0 without
 * memory */
int block_create(block *b, const int grid[3], const int places[3], const int place[3]);
void block_free(block *b);

/** Sets the temperatures at the beginning, also those of the neighbours' cells. */
void block_heat(block *b);

/** Computes the next temperatures of the rows y0 ≤ y < y1 of a plane. */
void block_relax(block *b, int z, int y0, int y1);

/** The next temperatures become the present ones. */
void block_advance(block *b);

/** Part `part` of `parts` of a face: of the block's own cells, or of the neighbour's cells beside them. Faces
 * are divided along Y, so that each slab of the block has a part, and faces normal to Y along Z.
 * @param face 2 × direction, + 1 for the upper side */
box block_face(const block *b, int face, int part, int parts, int is_neighbours);

/** The number of cells of the largest part. */
int block_face_cells(const block *b, int face, int parts);

/** Copies cells of the next temperatures to a buffer, and back. */
void block_pack(const block *b, box cells, double *buffer);
void block_unpack(block *b, box cells, const double *buffer);

/** A sum over the bits of all temperatures and their places in the grid. The sum of all blocks' checksums is
 * the checksum of the grid, however it is divided. */
uint64_t block_checksum(const block *b);

#endif
