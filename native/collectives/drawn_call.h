/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file drawn_call.h
 * A legal call that was drawn at random, its execution, and its check against what each process computes by
 * itself from ranks and indices.
 *
 * The front end draws the call (src/offbeat/measurement/legal_calls/drawn_calls.py) and describes it in text:
 * the datatypes may differ between ranks and between the two sides of the call, with equal type signatures.
 */
#ifndef OFFBEAT_DRAWN_CALL_H
#define OFFBEAT_DRAWN_CALL_H

#include <mpi.h>
#include <stddef.h>
#include <stdint.h>

typedef struct offbeat_drawn_call offbeat_drawn_call;

typedef struct offbeat_drawn_request {
    const char *collective; /**< name in the table */
    const char *send;    /**< datatypes (type_text.h) separated by '/': rank r sends the item r modulo their
                              number; of alltoallw r plus the other rank. The only datatype of reductions; of
                              bcast the root's */
    const char *receive; /**< the same of what ranks receive; NULL: as they send */
    const char *op;      /**< operation (operand.h) of reductions */
    const int64_t
        *elements; /**< basic elements of a block, by rank as the datatypes. Of alltoallv and alltoallw the
                        item (sender + slope * receiver) modulo the length is the block between two ranks */
    int elements_length;
    int slope;
    int gap; /**< extents (of alltoallw: 16 bytes) between blocks, where the call has displacements */
    int is_descending; /**< blocks are in descending order, where the call has displacements */
    int root;
    int in_place;  /**< MPI_IN_PLACE wherever the standard allows it: at the root of rooted collectives */
    int has_nulls; /**< arguments that MPI ignores on a process are NULL, 0 and MPI_DATATYPE_NULL; otherwise
                        they are those of a buffer that MPI must not touch */
    MPI_Comm comm;
} offbeat_drawn_request;

/** What a call got wrong on this process. */
typedef struct offbeat_drawn_outcome {
    size_t elements; /**< wrong basic elements of the result */
    size_t guards;   /**< bytes that were changed although MPI must not write them */
    int wrong_types; /**< datatypes that MPI_Pack or MPI_Unpack get wrong, if anything is wrong */
} offbeat_drawn_outcome;

/** Creates datatypes, operation and buffers; texts and lists of the request must live as long as the call.
 * Local. @param[out] call free it, also after an error
 * @return NULL, or an error message (static storage) */
const char *offbeat_drawn_call_create(const offbeat_drawn_request *request, offbeat_drawn_call **call);

/** Calls the collective once. @return the return code of the MPI function */
int offbeat_drawn_call_run(offbeat_drawn_call *call);

/** Compares the buffers with what they must hold after the call. Local. */
offbeat_drawn_outcome offbeat_drawn_call_check(offbeat_drawn_call *call);

/** Frees everything, and sets *call to NULL. Local. */
void offbeat_drawn_call_free(offbeat_drawn_call **call);

#endif
