/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file collective.h
 * A partitioned collective: what each of its messages waits for, and where it goes.
 *
 * A message has up to two parts. In the contribution (the root of a broadcast, all processes of an allreduce)
 * it waits for the own partitions and, unless the reduction begins here, for what the left neighbour reduced;
 * the sum of both goes to the right. In the result, it comes from the parent (or left neighbour) and is
 * forwarded. docs/explanation/partitioned.md explains why.
 *
 * The messages of the marked request are the groups of collective_layout.h: a group is ready when its stamp
 * is the current one. All else is changed by the thread that entered the request.
 */
#ifndef OFFBEAT_PARTITIONED_COLLECTIVE_H
#define OFFBEAT_PARTITIONED_COLLECTIVE_H

#include "partitioned/collective_layout.h"
#include "partitioned/marks.h"
#include "partitioned/reduction.h"
#include "partitioned/request.h"

/** What a message waits for. */
enum {
    OFFBEAT_PARTITIONED_CONTRIBUTION,
    OFFBEAT_PARTITIONED_RESULT,
    OFFBEAT_PARTITIONED_NO_MESSAGE /**< the result is here */
};

typedef struct offbeat_partitioned_step {
    int waits_for;
    int has_partial;            /**< what the left neighbour reduced is here */
    atomic_uint finished_stamp; /**< of the last iteration whose result was here */
} offbeat_partitioned_step;

typedef struct offbeat_partitioned_collective {
    offbeat_partitioned_marked_request marks; /**< the first member */
    int is_allreduce, is_in_rank_order;
    int rank, size;
    offbeat_partitioned_tree
        tree;       /**< of an allreduce: the left neighbour and the right one as the only child */
    int parent_tag; /**< the first tag of the parent's messages */
    offbeat_partitioned_blocks layout;
    int64_t unit_elements;
    offbeat_partitioned_reduction reduction;

    /* The current iteration. */
    offbeat_partitioned_step *steps; /**< one a message */
    int finished_count;              /**< messages whose result is here */
    int request_count;               /**< entries of the following arrays that are in use */
    MPI_Request *requests;
    int *purposes; /**< message and part of each request */
    int *indices;  /**< for MPI_Testsome */
    MPI_Status *statuses;
    int capacity;
    int lasting_failure;      /**< MPI error code: all further iterations fail */
    atomic_uint ready_groups; /**< number of groups that became ready, over all iterations */
    unsigned checked_groups;  /**< ready_groups at the last check */
    atomic_int markers;       /**< threads that mark a group at the moment */
} offbeat_partitioned_collective;

/** Number of messages of an iteration. */
static inline int offbeat_partitioned_steps(const offbeat_partitioned_collective *collective) {
    return collective->layout.groups * collective->layout.blocks;
}

extern const offbeat_partitioned_operations offbeat_partitioned_collective_operations;

/** Allocates what depends on the layout. @return an MPI error code */
int offbeat_partitioned_collective_allocate(offbeat_partitioned_collective *collective);

#endif
