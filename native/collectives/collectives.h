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
 * used. Buffers begin at multiples of 4096 bytes.
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
    const char *datatype;   /**< byte (MPI_UNSIGNED_CHAR) int long float double, or "affine" (a pair of long)
                               for the   non-commutative check; barrier ignores it */
    const char *op; /**< sum prod max min, for integer types band bor bxor, or "affine": composition of affine
                         maps mod a prime, associative and not commutative, which goes with the datatype
                         "affine" only; ignored unless the collective reduces */
    int root;       /**< ignored unless the collective has a root */
    MPI_Comm comm;  /**< an intra-communicator; not duplicated: it must live as long as the call uses it */
} offbeat_request;

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
 * anew. Local.
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
