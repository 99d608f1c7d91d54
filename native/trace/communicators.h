/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file communicators.h
 * The communicators of a traced program: told apart on all ranks without any communication.
 *
 * What is known of one is an attribute of it, as a handle may be another communicator's later.
 */
#ifndef OFFBEAT_TRACE_COMMUNICATORS_H
#define OFFBEAT_TRACE_COMMUNICATORS_H

#include "trace/lane.h"

#include <mpi.h>

typedef struct offbeat_communicator {
    uint32_t id;
    _Atomic uint32_t sequence; /**< of the next call */
    int is_wanted;             /**< its size is */
    int rank, size, remote_size;
    int destinations; /**< of a neighbourhood collective: to how many this process sends */
    int sources;      /**< from how many it receives */
    MPI_Comm handle;
    struct offbeat_communicator *next; /**< of all that live */
} offbeat_communicator;

/** Grows when a communicator was freed. */
extern _Atomic unsigned offbeat_communicators_generation;

/**
 * What is known of a communicator; defines it when it is seen for the first time.
 * @param comm not MPI_COMM_NULL
 * @return NULL where the memory is full
 */
offbeat_communicator *offbeat_communicator_find(MPI_Comm comm);

/** The same, quick where the thread saw it lately. */
static inline offbeat_communicator *offbeat_communicator_of(offbeat_lane *lane, MPI_Comm comm) {
    const uintptr_t handle = (uintptr_t)comm;
    unsigned generation = atomic_load_explicit(&offbeat_communicators_generation, memory_order_acquire);
    offbeat_seen_communicator *seen =
        &lane->communicators[offbeat_lane_place(handle, OFFBEAT_SEEN_COMMUNICATORS)];
    if (seen->known != NULL && seen->handle == handle && seen->generation == generation)
        return seen->known;
    *seen = (offbeat_seen_communicator){handle, generation, offbeat_communicator_find(comm)};
    return seen->known;
}

/** The sequence number of a call that begins. MPI forbids threads to call collectives of one communicator at
 * the same time, so that counting needs no lock. */
static inline uint32_t offbeat_communicator_next(offbeat_communicator *known) {
    uint32_t sequence = atomic_load_explicit(&known->sequence, memory_order_relaxed);
    atomic_store_explicit(&known->sequence, sequence + 1, memory_order_relaxed);
    return sequence;
}

/**
 * Defines a communicator that was just made; nothing for MPI_COMM_NULL and one that is known.
 * @param parent id of that it was made from, or 0
 * @param maker  id of the function that made it
 */
void offbeat_communicator_made(MPI_Comm made, uint32_t parent, uint16_t maker);

/** Writes the name that a communicator has now, if any. */
void offbeat_communicator_define_name(const offbeat_communicator *known);

/** Defines MPI_COMM_WORLD and MPI_COMM_SELF, in this order. Before all else here. @return 0, or -1 */
int offbeat_communicators_begin(void);

/** Writes the names that communicators have now; only one thread is left. */
void offbeat_communicators_end(void);

#endif
