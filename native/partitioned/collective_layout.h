/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file collective_layout.h
 * How the partitions of a collective are divided among messages, the tree of a broadcast, and the ring of an
 * allreduce. Without MPI: all processes compute the same from the same numbers.
 *
 * Sizes are in units, the smallest amounts of data that can be separated: an element of the largest datatype.
 * Consecutive partitions that are too small for a message of their own form a group, as in layout.h; a group
 * is divided into blocks of nearly equal size. A message carries a block; message m is block m % blocks of
 * group m / blocks.
 */
#ifndef OFFBEAT_PARTITIONED_COLLECTIVE_LAYOUT_H
#define OFFBEAT_PARTITIONED_COLLECTIVE_LAYOUT_H

#include <stdint.h>

typedef struct offbeat_partitioned_blocks {
    int partitions;
    int64_t units;      /**< of a partition */
    int groups, blocks; /**< blocks of a group */
} offbeat_partitioned_blocks;

/** The smallest size of a message unless a setting gives it: 32 KiB, or what makes 128 messages, or one for
 * each process if these are more. */
int64_t offbeat_partitioned_default_message_bytes(int size, int64_t total_bytes);

/** As many messages of at least message_bytes each as possible, but at most
 * OFFBEAT_PARTITIONED_MOST_MESSAGES, and one of each group. */
offbeat_partitioned_blocks offbeat_partitioned_divide(int partitions, int64_t units, int64_t unit_bytes,
                                                      int64_t message_bytes);

/** The first unit of a message; for message == groups * blocks, the number of units. */
int64_t offbeat_partitioned_first_unit(const offbeat_partitioned_blocks *layout, int message);

/**
 * The place of a process in a tree in which each process forwards to at most fanout others: the processes are
 * numbered from the root, and number v forwards to fanout v + 1, ..., fanout v + fanout. Fan-out 1: a chain.
 */
typedef struct offbeat_partitioned_tree {
    int parent;                /**< -1: of the root */
    int first_child, children; /**< ranks are (first_child + i) % size */
} offbeat_partitioned_tree;

offbeat_partitioned_tree offbeat_partitioned_tree_of(int rank, int size, int root, int fanout);

/**
 * The fan-out f with which the last process has the last message after the fewest steps, when all messages
 * are ready at once and a step sends one message to one process: f (messages - 1) + f depth. At most 8; of
 * equal ones the smallest.
 */
int offbeat_partitioned_best_fanout(int size, int messages);

/** The rank at which the reduction of a message begins; the rank on its left has the result. */
int offbeat_partitioned_ring_start(int size, int message, int is_in_rank_order);

#endif
