/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file tree.h
 * The binomial tree that the clock and the harmonised start run on: any number of processes, rank 0 on top.
 *
 * The parent of a rank is the rank with its lowest set bit cleared; the children of a rank lie at distances
 * that are powers of two below that bit. Depth and number of children are at most ceil(log2 p).
 */
#ifndef OFFBEAT_CLOCK_TREE_H
#define OFFBEAT_CLOCK_TREE_H

/**
 * The distance between a rank and its parent; for rank 0 the smallest power of two that is not below @p size.
 * The children of the rank are rank + m for m = span/2, span/4, ... 1, as far as they are below @p size.
 */
static inline int offbeat_tree_span(int rank, int size) {
    int span = 1;
    while (rank != 0 ? (rank & span) == 0 : span < size)
        span <<= 1;
    return span;
}

/** The parent of a rank other than 0. */
static inline int offbeat_tree_parent(int rank) {
    return rank & (rank - 1);
}

#endif
