/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file request.h
 * A partitioned send or receive, and what the two sides tell each other about it.
 *
 * docs/explanation/partitioned.md explains the protocol and who may access which field when.
 */
#ifndef OFFBEAT_PARTITIONED_REQUEST_H
#define OFFBEAT_PARTITIONED_REQUEST_H

#include "partitioned/communicator.h"
#include "partitioned/layout.h"
#include "partitioned/owner.h"
#include "partitioned/pending.h"
#include "partitioned/updates.h"

#include <mpi.h>
#include <offbeat/partitioned.h>
#include <stdatomic.h>
#include <stdint.h>

/** From sender to receiver, once: the numbers of MPI_INT64_T of a setup message. */
enum {
    OFFBEAT_PARTITIONED_PARTITIONS,
    OFFBEAT_PARTITIONED_PARTITION_BYTES,
    OFFBEAT_PARTITIONED_FIRST_TAG,
    OFFBEAT_PARTITIONED_MESSAGES,
    OFFBEAT_PARTITIONED_IS_LEARNED,
    OFFBEAT_PARTITIONED_FIRST_LANE,
    OFFBEAT_PARTITIONED_LANE_STEP,
    OFFBEAT_PARTITIONED_TAG,
    OFFBEAT_PARTITIONED_IDENTITY, /**< of the communicator */
    OFFBEAT_PARTITIONED_SETUP_LENGTH
};

/** From receiver to sender: whether it accepted the setup; later, when the trials of a learned number of
 * messages ended, the times at which their data had arrived. */
enum {
    OFFBEAT_PARTITIONED_IS_ACCEPTED,
    OFFBEAT_PARTITIONED_TIMES,
    OFFBEAT_PARTITIONED_REPLY_LENGTH = OFFBEAT_PARTITIONED_TIMES + OFFBEAT_PARTITIONED_TRIALS
};

/** From sender to receiver, in iterations that carry an announcement. */
enum {
    OFFBEAT_PARTITIONED_NEXT_MESSAGES,
    OFFBEAT_PARTITIONED_IS_DECIDED,
    OFFBEAT_PARTITIONED_ANNOUNCEMENT_LENGTH
};

/** A message of the current iteration. The stamp is the iteration + 1 in which it was sent or arrived. */
typedef struct offbeat_partitioned_message {
    _Alignas(64) atomic_int missing; /**< words in which not all of its partitions are ready yet */
    atomic_uint stamp;
    int first, end; /**< the sender's partitions that it carries: first to end - 1 */
    int lane;
    uint64_t bits; /**< of these partitions in their word of ready bits; 0: they are in several words */
    _Atomic(const void *) thread; /**< of a trial: the thread that sent it, */
    int64_t spent_ns;             /**< and how long that took */
} offbeat_partitioned_message;

struct offbeat_partitioned_request {
    int is_send, is_null; /**< is_send: its partitions can be ready; is_null: the peer is MPI_PROC_NULL */
    int is_threaded;      /**< calls may overlap; see updates.h */
    struct offbeat_partitioned_collective *collective; /**< see collective.h; NULL: a send or a receive */
    offbeat_partitioned_comm *comm;
    int user_peer, tag; /**< as the caller gave them */
    int peer;           /**< its rank in the private communicators */

    /* The buffer as the caller described it. */
    char *buffer;
    int partitions;
    int64_t count; /**< elements in a partition */
    MPI_Datatype datatype;
    int owns_datatype;
    int64_t element_bytes, extent;

    /* The sender's description, on both sides; of a receive, valid when is_matched is set. */
    offbeat_partitioned_tag_block tags; /**< not taken by a receive */
    int first_tag, first_lane, lane_step;
    int sender_partitions;
    int64_t sender_partition_bytes;
    offbeat_partitioned_plan plan;
    int most_messages;

    /* The current iteration: set by start, or when a receive is matched. */
    atomic_int is_active;
    atomic_uint stamp;    /**< number of starts */
    int messages;         /**< of this iteration */
    int has_announcement; /**< one more message */
    int mapped_messages;  /**< the number of messages that first_of and last_of are valid for */
    int capacity;         /**< messages that the following arrays have room for */
    void *block;          /**< the memory of the following arrays; but a collective has statuses of its own */
    int *first_of, *last_of; /**< messages that hold data of each own partition; a send has one for each */
    offbeat_partitioned_message *message;
    MPI_Request *requests; /**< one a message, and one for the announcement */
    MPI_Status *statuses;  /**< of as many; only the errors in them are used */
    int64_t announcement[OFFBEAT_PARTITIONED_ANNOUNCEMENT_LENGTH];
    atomic_int failure;   /**< an error to be returned when the iteration completes */
    atomic_uint complete; /**< stamp of the last iteration whose data is complete */

    /* Sends. */
    offbeat_partitioned_owner owner; /**< of the ready bits */
    _Atomic uint64_t *ready;         /**< bits: the partitions that were marked in this iteration */
    _Atomic uint64_t *claimed; /**< bits: those that a call for several partitions marks or has marked */
    atomic_int handed_over;    /**< messages given to MPI or about to be */
    atomic_int sent;           /**< messages given to MPI */
    offbeat_partitioned_trial trials[OFFBEAT_PARTITIONED_TRIALS]; /**< of learned aggregation */

    /* Receives. */
    struct offbeat_partitioned_source *source; /**< of the setup, see matching.h */
    offbeat_partitioned_pending pending;       /**< among the receives without a setup */
    atomic_int has_setup;
    int is_matched;        /**< the sender's setup is known and was read */
    atomic_int owes_reply; /**< it is matched, and the reply to the setup was not sent */
    int match_failure;     /**< MPI error code: the iterations of this request fail */
    atomic_uint posted;    /**< stamp of the iteration whose messages can be received */
    int arrived;           /**< messages of this iteration, with the announcement */
    int ended;             /**< the messages before this one arrived, or ended with an error */
    int64_t times_ns[OFFBEAT_PARTITIONED_TRIALS]; /**< when the data of each trial had arrived */
    char *staging; /**< receives the messages if they end inside elements of the receiver */
    char *drain;   /**< receives the messages of a refused sender */

    /* Negotiation. Requests of MPI outlive the user's request: it is destroyed when they are complete. */
    int64_t setup[OFFBEAT_PARTITIONED_SETUP_LENGTH];
    int64_t reply[OFFBEAT_PARTITIONED_REPLY_LENGTH];
    MPI_Request setup_request, reply_request;
    int has_reply;  /**< of a send: which replies arrived */
    int is_refused; /**< of a send: the receiver describes another number of bytes */

    atomic_int busy;       /**< held while MPI's requests above are tested */
    atomic_int is_waiting; /**< it is in the list of waiting requests */
    struct offbeat_partitioned_request *previous_listed, *next_listed; /**< see progress.h */
};

typedef struct offbeat_partitioned_request offbeat_partitioned_request;

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

/** A word holds the bits of 64 partitions. */
enum { OFFBEAT_PARTITIONED_WORD_BITS = 64 };

/** The words of a send's ready bits; at least 1. */
static inline int offbeat_partitioned_words(const offbeat_partitioned_request *send) {
    return send->partitions / OFFBEAT_PARTITIONED_WORD_BITS + 1;
}

/** The bit of a partition in its word. */
static inline uint64_t offbeat_partitioned_bit(int partition) {
    return (uint64_t)1 << partition % OFFBEAT_PARTITIONED_WORD_BITS;
}

/** The bits of a message's partitions in one of its words. */
uint64_t offbeat_partitioned_bits_of(const offbeat_partitioned_message *message, int word);

/** Whether all data of the current iteration was sent or received. */
static inline int offbeat_partitioned_is_complete(const offbeat_partitioned_request *request) {
    return atomic_load_explicit(&request->complete, memory_order_acquire) ==
           offbeat_partitioned_stamp(request);
}

/** The tag of the replies to a request, in a range of its own on lane 0. */
static inline int offbeat_partitioned_reply_tag(const offbeat_partitioned_request *request) {
    return request->first_tag + request->comm->root->tags.largest + 1;
}

/** CLOCK_MONOTONIC in nanoseconds. */
int64_t offbeat_partitioned_now_ns(void);

/** The failure of a pair whose sides describe different amounts of data. */
enum { OFFBEAT_PARTITIONED_MISMATCH = -1 };

/** Records the first error of an iteration: an MPI error code or OFFBEAT_PARTITIONED_MISMATCH. */
void offbeat_partitioned_note_failure(offbeat_partitioned_request *request, int failure);

/** Records an error of MPI_Testsome or MPI_Testall. If MPI reports it in the statuses, the first
 * error in them is recorded. @param statuses number of statuses that MPI set @return whether MPI completed
 * the requests anyway */
int offbeat_partitioned_note_failures(offbeat_partitioned_request *request, int code, int statuses);

/** Ends a receive: cancels it, or waits for it if it is matched. Does nothing for MPI_REQUEST_NULL. */
void offbeat_partitioned_cancel(MPI_Request *receive);

/** Allocates the bits of the partitions of a send. @return an MPI error code */
int offbeat_partitioned_allocate_bits(offbeat_partitioned_request *send);

/** Allocates what depends on the largest number of messages, unless there is room; prepares the first
 * iteration. @return an MPI error code */
int offbeat_partitioned_allocate_messages(offbeat_partitioned_request *request);

/** All tags are in use. */
enum { OFFBEAT_PARTITIONED_NO_TAGS = -2 };

/** Takes a block of tags of this process. @return an MPI error code or OFFBEAT_PARTITIONED_NO_TAGS */
int offbeat_partitioned_take_tags(offbeat_partitioned_request *request, int count);

/** Sets the number of messages of the iteration that begins, and which messages hold which own partitions. */
void offbeat_partitioned_begin_iteration(offbeat_partitioned_request *request);

/** Frees an idle request and all that it owns. */
void offbeat_partitioned_destroy(offbeat_partitioned_request *request);

/** Cancels the receives of a request that no message will match any more, and frees it. If MPI still sends
 * from its memory, that memory remains. */
void offbeat_partitioned_discard(offbeat_partitioned_request *request);

#endif
