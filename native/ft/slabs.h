/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file slabs.h
 * How the grid is cut for the processes, and what MPI_Alltoall carries from one cut to the other.
 *
 * The grid has nz planes of nx * ny columns. In the first cut, the slab, a process holds some whole planes,
 * [plane] [column]; in the second, the pencils, it holds some columns from the first plane to the last,
 * [plane][own column]. A block is what one process sends to one other. MPI_Alltoall wants all blocks of one
 * size: where the number of processes does not divide the planes and the columns, that is the largest one,
 * and the others carry some padding.
 */
#ifndef OFFBEAT_FT_SLABS_H
#define OFFBEAT_FT_SLABS_H

#include "ft/fft.h"

/** A cut of a grid; what a process holds of it is ft_part_first and ft_part_size of its rank. */
typedef struct {
    size_t planes, columns; /**< of the whole grid */
    size_t block;           /**< elements of a block, padding included */
    int p, rank;
} ft_slabs;

/** @param p at most as many as there are planes */
ft_slabs ft_slabs_cut(size_t planes, size_t columns, int p, int rank);

/** Number @p total cut in p parts that differ by one at most: where the part of @p rank begins. */
size_t ft_part_first(size_t total, int p, int rank);

/** How much the part of @p rank is. */
size_t ft_part_size(size_t total, int p, int rank);

/** Elements that hold p blocks, the slab or the pencils of any process. */
size_t ft_slabs_room(const ft_slabs *slabs);

/** Puts the slab into the blocks to send; padding is left as it is. */
void ft_slab_to_blocks(const ft_slabs *slabs, const ft_complex *slab, ft_complex *blocks);

/** Puts received blocks together to pencils. */
void ft_blocks_to_pencils(const ft_slabs *slabs, const ft_complex *blocks, ft_complex *pencils);

/** The way back: puts pencils into the blocks to send. */
void ft_pencils_to_blocks(const ft_slabs *slabs, const ft_complex *pencils, ft_complex *blocks);

/** The way back: puts received blocks together to the slab. */
void ft_blocks_to_slab(const ft_slabs *slabs, const ft_complex *blocks, ft_complex *slab);

#endif
