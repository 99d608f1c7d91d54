/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file call.h
 * What a call consists of; only this directory looks inside.
 */
#ifndef OFFBEAT_CALL_H
#define OFFBEAT_CALL_H

#include "collectives.h"
#include "element.h"
#include "table.h"
#include "tile.h"

/** What MPI is given: buffers, counts and types, or what stands in their place. */
typedef struct offbeat_arguments {
    const void *send;
    void *receive;
    int send_count, receive_count;
    MPI_Datatype send_type, receive_type;
    const int *send_counts, *send_displacements; /**< of collectives that take them */
} offbeat_arguments;

/** A block's place in a buffer, in elements. */
typedef struct offbeat_span {
    size_t first;
    size_t elements;
} offbeat_span;

struct offbeat_call {
    int (*run)(offbeat_call *); /**< the row's, first: it is what is timed */
    offbeat_arguments with;
    void *send;         /**< NULL where there is none */
    void *receive;      /**< NULL where there is none; of bcast, the only buffer */
    int *counts;        /**< p counts, of irregular collectives */
    int *displacements; /**< p displacements in elements, of irregular collectives */
    int count;          /**< elements of a block of regular collectives and even counts */
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
    int is_in_place;       /**< this process's input lies in its receive buffer */
    int keeps_own_block;   /**< this process is the root of a scatter in place, and receives nothing */
    size_t send_blocks;    /**< blocks that this process sends */
    size_t receive_blocks; /**< blocks that this process receives */
    offbeat_tile result;   /**< of reductions: the right result */
};

/**
 * Checks a request and fills in what follows from it: everything but buffers, handles and the result. Local.
 * @param[out] why a sentence when the result is not MPI_SUCCESS (static storage)
 * @return MPI_SUCCESS, MPI_ERR_ARG or MPI_ERR_NO_MEM, the same as offbeat_call_create
 */
int offbeat_request_resolve(const offbeat_request *request, const offbeat_variant *variant,
                            offbeat_call *call, const char **why);

/** Writes a sentence, as printf does, to where @p why points to afterwards (static storage). @return @p code
 */
int offbeat_refuse(int code, const char **why, const char *format, ...) __attribute__((format(printf, 3, 4)));

/** Creates the MPI handles of the call's datatype and operation. Local. @return MPI_SUCCESS or an MPI error
 * code */
int offbeat_handles_create(offbeat_call *call);

/** Frees those handles that are not predefined. Local. */
void offbeat_handles_free(offbeat_call *call);

/** Makes the counts and displacements of an irregular collective. Local. @return MPI_SUCCESS or
 * MPI_ERR_NO_MEM */
int offbeat_layout_create(offbeat_call *call);

/** Where block @p block lies in the send buffer, in the receive buffer, and, in place, in the latter as
 * input. */
offbeat_span offbeat_send_span(const offbeat_call *call, size_t block);
offbeat_span offbeat_receive_span(const offbeat_call *call, size_t block);
offbeat_span offbeat_input_span(const offbeat_call *call, size_t block);

/** How long the buffers of this process must be, in elements. */
size_t offbeat_send_elements(const offbeat_call *call);
size_t offbeat_receive_elements(const offbeat_call *call);

/** Lays this process's input into its send buffer; in place, into its receive buffer. Local. */
void offbeat_expected_send(const offbeat_call *call);

/** Computes the right result of a reduction, once per call: (number of ranks) * min(count, OFFBEAT_PERIOD)
 * folds. */
void offbeat_expected_prepare(offbeat_call *call);

/** @return how many blocks of the receive buffer have a right content: all, or none where MPI leaves it
 * undefined */
size_t offbeat_expected_blocks(const offbeat_call *call);

/** What is right in block @p block of the receive buffer. */
void offbeat_expected_block(const offbeat_call *call, size_t block, offbeat_tile *tile);

/** Whether this process's receive buffer is the source of the data: the root of bcast. */
int offbeat_expected_is_source(const offbeat_call *call);

#endif
