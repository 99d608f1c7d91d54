/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file slabs.h
 * Two distributions of an array over processes, and the blocks that MPI_Alltoall exchanges between them.
 *
 * The array has planes of columns: element [plane][d][column][w] with d < depth and w < width. As a slab, a
 * process holds some whole planes, [own plane][d][column][w]; as pencils, it holds some columns of all
 * planes, [plane][d][own column][w]. A block is what one process sends to another. MPI_Alltoall requires
 * blocks of equal size: where the number of processes divides the planes or the columns unevenly, the smaller
 * blocks are padded to the size of the largest.
 */
#ifndef OFFBEAT_FT_SLABS_H
#define OFFBEAT_FT_SLABS_H

#include "ft/fft.h"

/** The distribution of an array; ft_part_first and ft_part_size give the part of a rank. */
typedef struct {
    size_t planes, depth, columns, width; /**< of the whole array */
    size_t block;                         /**< elements of a block, padding included */
    int p, rank;                          /**< of the processes that share the array */
} ft_slabs;

/** Divides @p total into p parts that differ by one at most. @return the first index of the part of @p rank
 */
size_t ft_part_first(size_t total, int p, int rank);

/** The size of the part of @p rank. */
size_t ft_part_size(size_t total, int p, int rank);

/** The size of the largest part. */
size_t ft_part_largest(size_t total, int p);

/** Sets the size of the blocks of a distribution of which all other fields are set. */
ft_slabs ft_slabs_with_blocks(ft_slabs slabs);

/** Size in elements of a buffer for p blocks, or the slab or the pencils of any process. */
size_t ft_slabs_elements(const ft_slabs *slabs);

/** Copies the slab to the blocks to send; padding is left unchanged. */
void ft_slab_to_blocks(const ft_slabs *slabs, const ft_complex *slab, ft_complex *blocks);

/** Copies received blocks to pencils. */
void ft_blocks_to_pencils(const ft_slabs *slabs, const ft_complex *blocks, ft_complex *pencils);

/** The inverse of ft_blocks_to_pencils. */
void ft_pencils_to_blocks(const ft_slabs *slabs, const ft_complex *pencils, ft_complex *blocks);

/** The inverse of ft_slab_to_blocks. */
void ft_blocks_to_slab(const ft_slabs *slabs, const ft_complex *blocks, ft_complex *slab);

#endif
