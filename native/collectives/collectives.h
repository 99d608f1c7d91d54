/* SPDX-License-Identifier: BSD-3-Clause */
/* clang-format off */
/**
 * @file collectives.h
 * The table of collectives: how to size, fill, call and check each.
 *
 * The message size is bytes per process as the MPI call states it: count times extent, where count is
 *
 * | collective                   | count                      | elements per process, sent + received |
 * | ---------------------------- | -------------------------- | ------------------------------------- |
 * | allreduce reduce scan exscan | of the whole vector        | count + count                         |
 * | bcast                        | of the whole vector        | count                                 |
 * | reduce_scatter(_block)       | that each process receives | p * count + count                     |
 * | alltoall alltoallv           | from each process to each  | p * count + p * count                 |
 * | allgather allgatherv gather  | that each process sends    | count + p * count                     |
 * | scatter                      | that each process receives | p * count + count                     |
 * | barrier                      | 0                          | 0                                     |
 *
 * A process whose buffer is not significant (the receive buffer of reduce and gather and the send buffer of
 * scatter, outside the root) allocates none and passes NULL. alltoallv, allgatherv and reduce_scatter have equal
 * counts for all processes and adjoining blocks, as in common benchmarks: libraries select algorithms by averages,
 * and the message size has the same meaning for the regular and the irregular form. An offbeat_variant describes
 * other legal calls, such as those with MPI_IN_PLACE. Buffers begin at multiples of 4096 bytes.
 */
/* clang-format on */
#ifndef OFFBEAT_COLLECTIVES_H
#define OFFBEAT_COLLECTIVES_H

#include <mpi.h>
#include <stddef.h>
#include <stdint.h>

/** A prepared call: created once per case, then executed many times. */
typedef struct offbeat_call offbeat_call;

/** The description of a call. */
typedef struct offbeat_request {
    const char *collective; /**< name in the table */
    size_t bytes;           /**< message size, see above: a multiple of the extent, not 0; for barrier 0 */
    const char *datatype;   /**< byte (MPI_UNSIGNED_CHAR) int long float double; "affine" (a pair of long) for
                               the non-commutative check; the derived "odd" (3 bytes), "wide" (129 long) and
                               "gapped" (a pair of long with gaps); barrier ignores it */
    const char *op; /**< sum prod max min, for integer types band bor bxor, or "affine": composition of affine
                         maps mod a prime, associative and not commutative, only with the datatype "affine";
                       "user_sum": a user-defined sum of double or gapped; ignored unless the       collective
                       reduces */
    int root;       /**< ignored unless the collective has a root */
    MPI_Comm comm;  /**< an intra-communicator; not duplicated: it must live as long as the call uses it */
} offbeat_request;

/** The counts of a call, with their names. */
typedef enum offbeat_counts {
    OFFBEAT_COUNTS_EVEN,     /**< "even": the same for all */
    OFFBEAT_COUNTS_UNEVEN,   /**< "uneven": 0, 1 or 2 times the message size; of irregular collectives */
    OFFBEAT_COUNTS_REVERSED, /**< "reversed": even; blocks in descending order with gaps between them; of
                                  collectives with displacements */
    OFFBEAT_COUNTS_NONE,     /**< "none": 0 for all, whatever the message size */
    OFFBEAT_COUNTS
} offbeat_counts;

/** The difference between a legal call and that of a benchmark; zero-initialised: none. */
typedef struct offbeat_variant {
    int in_place;     /**< MPI_IN_PLACE wherever the standard allows it: at the root of rooted collectives */
    int null_ignored; /**< arguments that MPI ignores on this process are NULL, 0 and MPI_DATATYPE_NULL */
    offbeat_counts counts;
} offbeat_variant;

/** @return the counts of that name, or OFFBEAT_COUNTS if there are none */
offbeat_counts offbeat_counts_find(const char *name);

/** The number of collectives that are measured, and the i-th name; NULL if i is not below their number. */
int offbeat_collective_count(void);
const char *offbeat_collective_name(int i);

/**
 * Allocates and fills the buffers of a call. Local.
 *
 * Refused as MPI_ERR_ARG: unknown names, an operation that the datatype does not have, a root outside the
 * communicator, bytes that are not a multiple of the extent, and buffers of more than INT_MAX elements.
 * Refused as MPI_ERR_NO_MEM: buffers larger than the machine's physical memory (this process's alone: what
 * others need on the same machine is unknown), and what the system does not allocate. Whether a request is
 * refused as MPI_ERR_ARG is the same on all processes.
 * @param[out] call free it with offbeat_call_free; NULL if the result is not MPI_SUCCESS
 * @param[out] why  an error message if the result is not MPI_SUCCESS (static storage, until the next create)
 * @return MPI_SUCCESS, MPI_ERR_ARG or MPI_ERR_NO_MEM
 */
int offbeat_call_create(const offbeat_request *request, offbeat_call **call, const char **why);

/**
 * Creates another legal call of the collective, as offbeat_call_create() does. A call in place must be wiped
 * before each run, as its receive buffer is its input. A variant that the collective does not have is refused
 * as MPI_ERR_ARG, too.
 */
int offbeat_call_create_variant(const offbeat_request *request, const offbeat_variant *variant,
                                offbeat_call **call, const char **why);

/** Calls the collective once. @return the return code of the MPI function */
int offbeat_call_run(offbeat_call *call);

/**
 * Overwrites the receive buffer with the bitwise inverse of the expected result, so that the result of an
 * earlier call cannot pass the check. Restores the input of calls in place and of the root of bcast, whose
 * buffer is the source. Local.
 */
void offbeat_call_wipe(offbeat_call *call);

/**
 * Compares this process's receive buffer with the expected result, which is computed locally. Local.
 * Floating-point results are exact in any order of operations. Buffers that MPI leaves undefined are not
 * checked: reduce and gather outside the root, exscan on rank 0, barrier. The root of bcast checks that its
 * buffer is unchanged.
 * @return the number of wrong elements
 */
size_t offbeat_call_check(const offbeat_call *call);

/**
 * Fills the send buffer of a reduction of doubles with numbers whose sum depends on the order of its
 * additions. The result is then unknown: compare its digest instead of checking it. Local.
 * @return NULL, or an error message for any other call (static storage)
 */
const char *offbeat_call_randomise(offbeat_call *call);

/** @return a number of 63 bits that depends on every bit of the result on this process; the same number on
 * all processes that have no result. Local. */
int64_t offbeat_call_digest(const offbeat_call *call);

/** Frees buffers, datatype and operation, and sets *call to NULL. Local. Call it before MPI_Finalize. */
void offbeat_call_free(offbeat_call **call);

#endif
