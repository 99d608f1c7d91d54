/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file tile.h
 * One period of elements, from which whole buffers are laid and against which they are compared.
 *
 * Values repeat after OFFBEAT_PERIOD elements, so a tile is all that must be computed of a buffer, however
 * long. Nothing here calls MPI.
 */
#ifndef OFFBEAT_TILE_H
#define OFFBEAT_TILE_H

#include "element.h"

/** The first min(count, OFFBEAT_PERIOD) elements of a buffer of count elements. */
typedef struct offbeat_tile {
    offbeat_datatype datatype;
    size_t elements;
    _Alignas(16) unsigned char bytes[OFFBEAT_PERIOD * OFFBEAT_LARGEST_EXTENT];
} offbeat_tile;

/** What @p rank sends from index @p first on, when data are only moved; for a buffer of @p count elements. */
void offbeat_tile_moved(offbeat_tile *tile, offbeat_datatype datatype, int rank, size_t first, size_t count);

/**
 * The reduction, in rank order, of what ranks @p low to @p high - 1 of @p p send from index @p first on; for
 * a buffer of @p count elements. At least one rank. Takes (high - low) * min(count, OFFBEAT_PERIOD) folds.
 */
void offbeat_tile_folded(offbeat_tile *tile, offbeat_datatype datatype, offbeat_op op, int p, int low,
                         int high, size_t first, size_t count);

/** Copies a tile: only what is used of it. */
void offbeat_tile_copy(const offbeat_tile *from, offbeat_tile *to);

/** Inverts every bit outside gaps, so that every byte of every element is wrong. */
void offbeat_tile_invert(offbeat_tile *tile);

/** Lays the tile over @p count elements. */
void offbeat_tile_lay(const offbeat_tile *tile, void *buffer, size_t count);

/** @return how many of @p count elements differ from the tile in any bit */
size_t offbeat_tile_compare(const offbeat_tile *tile, const void *buffer, size_t count);

#endif
