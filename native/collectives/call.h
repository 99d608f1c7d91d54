/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file call.h
 * The table of collectives and the internals of a call, for this directory only.
 *
 * A row of the table describes the buffers of a collective, its expected result and its MPI function. All
 * other code here reads rows and does not depend on names of collectives.
 */
#ifndef OFFBEAT_CALL_H
#define OFFBEAT_CALL_H

#include "collectives.h"
#include "element.h"

/** The length of a buffer in blocks of count elements. */
typedef enum offbeat_blocks {
    OFFBEAT_NO_BLOCK,
    OFFBEAT_ONE_BLOCK,
    OFFBEAT_BLOCK_PER_RANK,
} offbeat_blocks;

/** The expected content of a receive buffer. */
typedef enum offbeat_result {
    OFFBEAT_NO_RESULT,      /**< no buffer */
    OFFBEAT_FROM_ROOT,      /**< the data of the root */
    OFFBEAT_FROM_EACH_RANK, /**< block s has the data of rank s */
    OFFBEAT_REDUCE_ALL,     /**< the reduction over all ranks */
    OFFBEAT_REDUCE_UPTO,    /**< the reduction over ranks 0 to this one */
    OFFBEAT_REDUCE_BEFORE,  /**< the reduction over ranks 0 to the one before this; undefined on rank 0 */
} offbeat_result;

/** What the root does. */
typedef enum offbeat_root {
    OFFBEAT_NO_ROOT,       /**< the collective has no root argument */
    OFFBEAT_ROOT_SENDS,    /**< only the root's send buffer is significant */
    OFFBEAT_ROOT_RECEIVES, /**< only the root's receive buffer is significant */
} offbeat_root;

/** The counts in a call's arguments. */
typedef enum offbeat_count_kind {
    OFFBEAT_EVEN_COUNTS,   /**< one count for all ranks */
    OFFBEAT_UNEVEN_COUNTS, /**< a count for each rank */
    OFFBEAT_UNEVEN_TYPES,  /**< a count and a datatype for each rank, and displacements in bytes */
} offbeat_count_kind;

/** A row of the table in collectives.def. */
typedef struct offbeat_collective {
    const char *name;
    offbeat_blocks send;        /**< the send buffer; index 0 is its first element */
    offbeat_blocks receive;     /**< the receive buffer */
    offbeat_result result;      /**< the expected content of the receive buffer */
    offbeat_root root;          /**< the role of the root */
    offbeat_count_kind counts;  /**< of its arguments */
    int is_measured;            /**< otherwise only drawn calls have it (drawn_call.h) */
    int (*run)(offbeat_call *); /**< the MPI call */
} offbeat_collective;

/** @return the row of that name, or NULL */
const offbeat_collective *offbeat_collective_find(const char *name);

/** Whether the collective has an operation argument. */
int offbeat_collective_is_reduction(const offbeat_collective *collective);

/** The arguments of the MPI function: buffers, counts and types, or MPI_IN_PLACE and null values. */
typedef struct offbeat_arguments {
    const void *send;
    void *receive;
    int send_count, receive_count;
    MPI_Datatype send_type, receive_type;
    const int *send_counts, *send_displacements; /**< only of collectives with these arguments */
    const MPI_Datatype *send_types, *receive_types;
} offbeat_arguments;

/** The position of a block in a buffer, in elements. */
typedef struct offbeat_span {
    size_t first;
    size_t elements;
} offbeat_span;

struct offbeat_call {
    int (*run)(offbeat_call *); /**< of the row; the first member, as it is timed */
    offbeat_arguments arguments;
    void *send;         /**< NULL: no buffer */
    void *receive;      /**< NULL: no buffer; the only buffer of bcast */
    int *counts;        /**< p counts, of irregular collectives */
    int *displacements; /**< p displacements in elements, of irregular collectives */
    int count;          /**< elements of a block, for even counts */
    int root;
    MPI_Comm comm;
    MPI_Datatype type;
    MPI_Op operation;

    const offbeat_collective *collective;
    offbeat_datatype datatype;
    offbeat_op op;
    int p;
    int rank;
    offbeat_variant variant;
    int is_in_place;       /**< the input of this process is in its receive buffer */
    int keeps_own_block;   /**< this process is the root of a scatter in place, and receives nothing */
    size_t send_blocks;    /**< blocks that this process sends */
    size_t receive_blocks; /**< blocks that this process receives */
    offbeat_content expected_content; /**< of reductions */
};

/** Creates the MPI handles of the call's datatype and operation. Local. @return MPI_SUCCESS or an MPI error
 * code */
int offbeat_handles_create(offbeat_call *call);

/** Frees the handles that are not predefined. Local. */
void offbeat_handles_free(offbeat_call *call);

/** Allocates the buffers, computes the expected result, and fills the buffers. Local. @return MPI_SUCCESS or
 * MPI_ERR_NO_MEM */
int offbeat_buffers_create(offbeat_call *call);

/** Frees the buffers. Local. */
void offbeat_buffers_free(offbeat_call *call);

/** @return the number of blocks of the receive buffer that have an expected content: all, or none if MPI
 * leaves the buffer undefined */
size_t offbeat_expected_blocks(const offbeat_call *call);

/** Whether this process's receive buffer is the source of the data: the root of bcast. */
int offbeat_receive_is_source(const offbeat_call *call);

#endif
