/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file request.h
 * What sends, receives and collectives have in common, and the operations in which they differ.
 *
 * docs/explanation/partitioned.md explains the protocol and who may access which field when.
 */
#ifndef OFFBEAT_PARTITIONED_REQUEST_H
#define OFFBEAT_PARTITIONED_REQUEST_H

#include "partitioned/communicator.h"
#include "partitioned/updates.h"

#include <mpi.h>
#include <offbeat/partitioned.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

typedef struct offbeat_partitioned_request offbeat_partitioned_request;

/** What a status says about a message. */
typedef struct offbeat_partitioned_envelope {
    int source, tag;
    int64_t bytes;
} offbeat_partitioned_envelope;

/** The operations of a kind of request. */
typedef struct offbeat_partitioned_operations {
    size_t size_bytes; /**< of the kind's structure, whose first member is an offbeat_partitioned_request */

    /** Why no partition can be marked as ready, or can arrive, for an error; NULL: partitions can. */
    const char *ready_refusal, *arrival_refusal;

    /** Begins an iteration. The caller entered the request. */
    void (*start)(offbeat_partitioned_request *request);

    /** Sends a message whose partitions are all ready. NULL if no partition can be ready. */
    void (*send)(offbeat_partitioned_request *request, int message);

    /** Tests the messages of the current iteration, unless another thread does. @param partition of a
     * receive: the partition of which the caller must know whether it arrived; -1: none */
    void (*progress)(offbeat_partitioned_request *request, int partition);

    /** Whether the data of a partition is here, in an iteration that is not complete. Local, without
     * progress. NULL if no partition can arrive. */
    int (*has_arrived)(const offbeat_partitioned_request *request, int partition);

    /** Whether the request can do without progress by other calls than its own (progress.h). */
    int (*is_settled)(const offbeat_partitioned_request *request);

    /** Whether MPI is done with a freed request. The caller entered it. */
    int (*is_idle)(offbeat_partitioned_request *request);

    /** Ends the receives of a request that no message will match any more. @return whether the request can be
     * destroyed: MPI does not send from its memory */
    int (*abandon)(offbeat_partitioned_request *request);

    /** What a status of an active request says. NULL: its statuses are empty. */
    offbeat_partitioned_envelope (*envelope)(const offbeat_partitioned_request *request);

    /** Raises OFFBEAT_PARTITIONED_MISMATCH. NULL if this failure cannot occur. @return the error code */
    int (*raise_mismatch)(const offbeat_partitioned_request *request);

    /** Frees the structure and the memory that only this kind has. */
    void (*free)(offbeat_partitioned_request *request);
} offbeat_partitioned_operations;

/** The first member of each kind of request. */
struct offbeat_partitioned_request {
    const offbeat_partitioned_operations *operations;
    int can_be_ready; /**< its partitions can be marked: a send, or a collective to which this process gives
                         data; then the request begins with an offbeat_partitioned_marked_request */
    int is_threaded;  /**< calls may overlap; see updates.h */

    /* The buffer as the caller described it. */
    int partitions;
    char *buffer;
    int64_t count; /**< elements in a partition */
    MPI_Datatype datatype;
    int owns_datatype;
    int64_t element_bytes, extent;

    offbeat_partitioned_comm *comm;
    offbeat_partitioned_tag_block tags; /**< of its messages; a receive takes none */

    /* The current iteration. */
    atomic_int is_active;
    atomic_uint stamp;          /**< number of starts */
    atomic_int failure;         /**< an error to be returned when the iteration completes */
    atomic_uint complete_stamp; /**< of the last iteration whose data is complete */

    atomic_int busy;      /**< held while MPI's requests are tested */
    atomic_int is_listed; /**< it is in the list of waiting requests */
    struct offbeat_partitioned_request *previous_listed, *next_listed; /**< see progress.h */
};

/** Takes or leaves the right to test a request's messages. */
static inline int offbeat_partitioned_try_enter(offbeat_partitioned_request *request) {
    return !offbeat_partitioned_exchange(&request->busy, 1, request->is_threaded);
}

static inline void offbeat_partitioned_leave(offbeat_partitioned_request *request) {
    atomic_store_explicit(&request->busy, 0, memory_order_release);
}

/** The number of starts, which identifies the current iteration. */
static inline unsigned offbeat_partitioned_stamp(const offbeat_partitioned_request *request) {
    return atomic_load_explicit(&request->stamp, memory_order_relaxed);
}

/** Whether a request was started and is not completed; 0 for OFFBEAT_PREQUEST_NULL. */
static inline int offbeat_partitioned_is_active(const offbeat_partitioned_request *request) {
    return request != OFFBEAT_PREQUEST_NULL &&
           atomic_load_explicit(&request->is_active, memory_order_acquire);
}

/** Whether all data of the current iteration was sent or received. */
static inline int offbeat_partitioned_is_complete(const offbeat_partitioned_request *request) {
    return atomic_load_explicit(&request->complete_stamp, memory_order_acquire) ==
           offbeat_partitioned_stamp(request);
}

static inline void offbeat_partitioned_set_complete(offbeat_partitioned_request *request) {
    atomic_store_explicit(&request->complete_stamp, offbeat_partitioned_stamp(request), memory_order_release);
}

/** Bytes of the data in a partition. */
static inline int64_t offbeat_partitioned_partition_bytes(const offbeat_partitioned_request *request) {
    return request->count * request->element_bytes;
}

/** CLOCK_MONOTONIC in nanoseconds. */
int64_t offbeat_partitioned_now_ns(void);

/** The failure of a pair whose sides describe different amounts of data. */
enum { OFFBEAT_PARTITIONED_MISMATCH = -1 };

/** Records the first error of an iteration: an MPI error code or OFFBEAT_PARTITIONED_MISMATCH. */
void offbeat_partitioned_note_failure(offbeat_partitioned_request *request, int failure);

/** Records an error of MPI_Testsome or MPI_Testall. If MPI reports it in the statuses, the first
 * error in them is recorded. @param count of the statuses that MPI set @return whether MPI completed the
 * requests anyway */
int offbeat_partitioned_note_failures(offbeat_partitioned_request *request, int code,
                                      const MPI_Status *statuses, int count);

/** Frees an idle request and all that it owns. */
void offbeat_partitioned_destroy(offbeat_partitioned_request *request);

/** Cancels the receives of a request that no message will match any more, and frees it. If MPI still sends
 * from its memory, that memory remains. */
void offbeat_partitioned_discard(offbeat_partitioned_request *request);

#endif
