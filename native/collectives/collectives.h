/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file collectives.h
 * One table of collectives: how to size, fill, call and check each.
 *
 * The message size is bytes per process as the MPI call states it: count times extent, where count is
 *
 * | collective                        | count                             | a process holds, sent + received
 * | | --------------------------------- | --------------------------------- |
 * -------------------------------- | | allreduce reduce scan exscan      | of the whole vector | count +
 * count                    | | bcast                             | of the whole vector               | count
 * | | reduce_scatter(_block)            | that each process receives        | p * count + count | | alltoall
 * alltoallv                | from each process to each         | p * count + p * count            | |
 * allgather allgatherv gather       | that each process sends           | count + p * count                |
 * | scatter                           | that each process receives        | p * count + count | | barrier | 0
 * | nothing                          |
 *
 * Processes whose buffer is not significant (the receive buffer of reduce and gather, the send buffer of
 * scatter, both outside the root) allocate none and pass NULL. alltoallv, allgatherv and reduce_scatter get
 * equal counts for all processes and adjoining blocks, as the usual benchmarks do: libraries decide by
 * averages, and the size then means the same for the regular and the irregular form. MPI_IN_PLACE is not
 * used. An offbeat_variant asks for other legal calls. Buffers begin at multiples of 4096 bytes.
 */
#ifndef OFFBEAT_COLLECTIVES_H
#define OFFBEAT_COLLECTIVES_H

#include <mpi.h>
#include <stddef.h>

/** What is called: set up once per case by offbeat_call_create, then called many times. */
typedef struct offbeat_call offbeat_call;

/** What a call shall be. */
typedef struct offbeat_request {
    const char *collective; /**< name in the table */
    size_t bytes;           /**< message size, see above: a multiple of the extent, not 0; for barrier 0 */
    const char *datatype;   /**< byte (MPI_UNSIGNED_CHAR) int long float double; "affine" (a pair of long) for
                               the non-commutative check; the derived "odd" (3 bytes), "wide" (129 long) and
                               "gapped" (a pair of long with gaps); barrier ignores it */
    const char *op; /**< sum prod max min, for integer types band bor bxor, or "affine": composition of affine
                         maps mod a prime, associative and not commutative, which goes with the datatype
                         "affine" only; "user_sum": a user-defined sum of double or gapped; ignored unless the
                         collective reduces */
    int root;       /**< ignored unless the collective has a root */
    MPI_Comm comm;  /**< an intra-communicator; not duplicated: it must live as long as the call uses it */
} offbeat_request;

/** The counts of a call, by the word that asks for them. */
typedef enum offbeat_counts {
    OFFBEAT_COUNTS_EVEN,     /**< "even": the same for all */
    OFFBEAT_COUNTS_UNEVEN,   /**< "uneven": 0, 1 or 2 times the message size; of irregular collectives */
    OFFBEAT_COUNTS_REVERSED, /**< "reversed": even, and blocks lie in descending order with gaps between them;
                                  of collectives that take displacements */
    OFFBEAT_COUNTS_NONE,     /**< "none": 0 for all, whatever the message size */
    OFFBEAT_COUNTS
} offbeat_counts;

/** In what a legal call differs from the one that a benchmark makes; all zero: in nothing. */
typedef struct offbeat_variant {
    int in_place;     /**< MPI_IN_PLACE wherever the standard allows it: at the root of rooted collectives */
    int null_ignored; /**< arguments that MPI ignores on this process are NULL, 0 and MPI_DATATYPE_NULL */
    offbeat_counts counts;
} offbeat_variant;

/** @return the counts of that name, or OFFBEAT_COUNTS when there are none */
offbeat_counts offbeat_counts_find(const char *name);

/** Number of collectives in the table, and the i-th name; NULL when i is outside the table. */
int offbeat_collective_count(void);
const char *offbeat_collective_name(int i);

/** Whether the collective takes an operation; 0 for a name that isn't in the table. */
int offbeat_collective_reduces(const char *name);

/**
 * Allocates and fills the buffers of a call. Local.
 *
 * Refused as MPI_ERR_ARG: unknown names, an operation that the datatype doesn't have, a root outside the
 * communicator, bytes that are no multiple of the extent, and buffers of more than INT_MAX elements. Refused
 * as MPI_ERR_NO_MEM: buffers larger than the machine's physical memory (this process's alone: what others
 * take on the same machine isn't known here), and what the system won't allocate. Whether a request is
 * refused as MPI_ERR_ARG is the same on all processes.
 * @param[out] call free it with offbeat_call_free; NULL when the result is not MPI_SUCCESS
 * @param[out] why  a sentence when the result is not MPI_SUCCESS (static storage, until the next create)
 * @return MPI_SUCCESS, or MPI_ERR_ARG for a request that cannot be met, or MPI_ERR_NO_MEM
 */
int offbeat_call_create(const offbeat_request *request, offbeat_call **call, const char **why);

/**
 * The same for another legal call of the collective. A call in place must be wiped before each run: its
 * receive buffer is its input. Refused as MPI_ERR_ARG, too: a variant that the collective does not have.
 */
int offbeat_call_create_variant(const offbeat_request *request, const offbeat_variant *variant,
                                offbeat_call **call, const char **why);

/**
 * Makes the call use another communicator with the same processes in the same order, such as a duplicate for
 * which the library has chosen another algorithm: all algorithms then share the same buffers. Local.
 * @return MPI_SUCCESS, or MPI_ERR_COMM when size or rank differ (the call keeps its communicator)
 */
int offbeat_call_set_comm(offbeat_call *call, MPI_Comm comm);

/** Calls the collective once. @return the MPI call's own return code */
int offbeat_call_run(offbeat_call *call);

/**
 * Overwrites the receive buffer so that a result left over from an earlier call cannot pass as right: each
 * byte becomes the inverse of the right one. The root of bcast, whose buffer is the source, has it filled
 * anew, and so have calls in place. Local.
 */
void offbeat_call_wipe(offbeat_call *call);

/**
 * Compares this process's receive buffer with the result computed locally, without any message. Local.
 * Values are chosen so that floating-point results are exact whatever the order of operations.
 * Nothing is checked, and 0 returned, where MPI leaves the buffer undefined: reduce and gather outside the
 * root, exscan on rank 0, barrier. The root of bcast checks that its buffer is as it was.
 * @return number of wrong elements
 */
size_t offbeat_call_check(const offbeat_call *call);

/** Frees buffers, datatype and operation, and sets *call to NULL. Local. Call it before MPI_Finalize. */
void offbeat_call_free(offbeat_call **call);

#endif
