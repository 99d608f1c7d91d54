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

struct offbeat_call {
    int (*run)(offbeat_call *); /**< the row's, first: it is what is timed */
    void *send;                 /**< NULL where there is none */
    void *receive;              /**< NULL where there is none; of bcast, the only buffer */
    int *counts;                /**< p counts, of irregular collectives */
    int *displacements;         /**< p displacements in elements, of irregular collectives */
    int count;                  /**< elements of a block */
    int root;
    MPI_Comm comm;
    MPI_Datatype type;
    MPI_Op operation;

    const offbeat_collective *collective;
    offbeat_datatype datatype;
    offbeat_op op;
    int p;
    int rank;
    size_t send_blocks;    /**< blocks in this process's send buffer */
    size_t receive_blocks; /**< blocks in this process's receive buffer */
    offbeat_tile result;   /**< of reductions: the right result */
};

/**
 * Checks a request and fills in what follows from it: everything but buffers, handles and the result. Local.
 * @param[out] why a sentence when the result is not MPI_SUCCESS (static storage)
 * @return MPI_SUCCESS, MPI_ERR_ARG or MPI_ERR_NO_MEM, the same as offbeat_call_create
 */
int offbeat_request_resolve(const offbeat_request *request, offbeat_call *call, const char **why);

/** Writes a sentence, as printf does, to where @p why points to afterwards (static storage). @return @p code
 */
int offbeat_refuse(int code, const char **why, const char *format, ...) __attribute__((format(printf, 3, 4)));

/** Creates the MPI handles of the call's datatype and operation. Local. @return MPI_SUCCESS or an MPI error
 * code */
int offbeat_handles_create(offbeat_call *call);

/** Frees those handles that are not predefined. Local. */
void offbeat_handles_free(offbeat_call *call);

/** Fills the send buffer, where there is one. Local. */
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
