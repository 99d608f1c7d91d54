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
 * The request's own messages (message[], missing, ready) are the groups of collective_layout.h: a group is
 * ready when its stamp is the current one. All else is changed by the thread that entered the request.
 */
#ifndef OFFBEAT_PARTITIONED_COLLECTIVE_H
#define OFFBEAT_PARTITIONED_COLLECTIVE_H

#include "partitioned/collective_layout.h"
#include "partitioned/reduction.h"
#include "partitioned/request.h"

/** What a message waits for. */
enum {
    OFFBEAT_PARTITIONED_CONTRIBUTION,
    OFFBEAT_PARTITIONED_RESULT,
    OFFBEAT_PARTITIONED_FINISHED /**< the result is here */
};

typedef struct offbeat_partitioned_step {
    int waits_for;
    int has_partial;      /**< what the left neighbour reduced is here */
    atomic_uint finished; /**< stamp of the last iteration whose result was here */
} offbeat_partitioned_step;

typedef struct offbeat_partitioned_collective {
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
    int finished;                    /**< messages whose result is here */
    int active;                      /**< entries of the following arrays that are in use */
    MPI_Request *requests;
    int *purposes;        /**< message and part of each request */
    int *indices;         /**< for MPI_Testsome */
    MPI_Status *statuses; /**< request->statuses points to them, too */
    int capacity;
    atomic_uint groups_ready; /**< number of groups that became ready, over all iterations */
    unsigned groups_checked;  /**< groups_ready at the last check */
    atomic_int markers;       /**< threads that mark a group at the moment */
} offbeat_partitioned_collective;

/** Number of messages of an iteration. */
static inline int offbeat_partitioned_steps(const offbeat_partitioned_collective *collective) {
    return collective->layout.groups * collective->layout.blocks;
}

/** Allocates what depends on the layout. @return an MPI error code */
int offbeat_partitioned_collective_allocate(offbeat_partitioned_request *request);

/** Frees it; NULL: does nothing. */
void offbeat_partitioned_collective_free(offbeat_partitioned_collective *collective);

/** Begins an iteration. The caller entered the request. */
void offbeat_partitioned_collective_start(offbeat_partitioned_request *request);

/** All partitions of a group are ready: its messages leave, inside this call or inside the call of a thread
 * that progresses the request at the moment. */
void offbeat_partitioned_collective_ready(offbeat_partitioned_request *request, int group);

/** Tests and forwards messages, unless another thread does. */
void offbeat_partitioned_collective_progress(offbeat_partitioned_request *request);

/** Whether MPI is done with a freed request, whose last iteration may have failed. The caller entered it. */
int offbeat_partitioned_collective_is_idle(offbeat_partitioned_request *request);

/** Whether the result of a partition is here. Local, without progress. */
int offbeat_partitioned_collective_has(offbeat_partitioned_request *request, int partition);

#endif
