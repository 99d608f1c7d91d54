/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file matching.h
 * Which send belongs to which receive. The setups of all communicators that share private communicators
 * travel on one of these; each setup names the communicator and the tag of its send. The n-th setup matches
 * the n-th receive of equal peer, tag and communicator, in order of initialisation: MPI keeps the order of
 * the setups of a sender, and a list keeps the order of the receives.
 */
#ifndef OFFBEAT_PARTITIONED_MATCHING_H
#define OFFBEAT_PARTITIONED_MATCHING_H

#include "partitioned/entry_table.h"

#include <mpi.h>
#include <pthread.h>
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

struct offbeat_partitioned_source;

/** The setups that travel on one communicator. */
typedef struct offbeat_partitioned_matching {
    MPI_Comm comm;                              /**< from sender to receiver: one message a request */
    pthread_mutex_t lock;                       /**< guards the following */
    struct offbeat_partitioned_source *sources; /**< of receives */
} offbeat_partitioned_matching;

/** The setup that a receive expects. */
typedef struct offbeat_partitioned_expectation {
    offbeat_partitioned_entry entry;           /**< among the receives without a setup */
    struct offbeat_partitioned_source *source; /**< NULL: it was never added */
    atomic_int has_setup;
    int64_t setup[OFFBEAT_PARTITIONED_SETUP_LENGTH]; /**< valid when has_setup is set */
} offbeat_partitioned_expectation;

/** Prepares the matching, without a communicator yet. */
void offbeat_partitioned_matching_init(offbeat_partitioned_matching *matching);

/** Lists the setup that a new receive expects, which may have arrived before. Local. @param rank of the
 * sender @return an MPI error code */
int offbeat_partitioned_matching_add(offbeat_partitioned_matching *matching, int rank, int64_t tag,
                                     int64_t identity, offbeat_partitioned_expectation *expectation);

/** Takes the setups that arrived, up to the expected one. Afterwards, has_setup says whether it arrived; if
 * another thread is taking setups, it may not say so yet. @return an MPI error code */
int offbeat_partitioned_matching_test(offbeat_partitioned_matching *matching,
                                      offbeat_partitioned_expectation *expectation);

/** Gives up a setup that did not arrive. */
void offbeat_partitioned_matching_remove(offbeat_partitioned_matching *matching,
                                         offbeat_partitioned_expectation *expectation);

/** Ends the receives of the next setups, and frees the setups that no receive matched, but not the
 * communicator. */
void offbeat_partitioned_matching_end(offbeat_partitioned_matching *matching);

#endif
