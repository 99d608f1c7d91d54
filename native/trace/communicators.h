/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file communicators.h
 * The communicators of a traced program: identified across ranks without communication.
 *
 * The state of a communicator is an MPI attribute of it, as a handle may belong to another communicator
 * later.
 */
#ifndef OFFBEAT_TRACE_COMMUNICATORS_H
#define OFFBEAT_TRACE_COMMUNICATORS_H

#include "trace/thread_state.h"

#include <mpi.h>

typedef struct offbeat_tracer_communicator {
    uint32_t id;
    _Atomic uint32_t sequence; /**< of the next call */
    int is_sampled;            /**< OFFBEAT_TRACE_COMM_SIZES includes its size */
    int rank, size, remote_size;
    int destinations; /**< of a topology: the number of neighbours that this process sends to */
    int sources;      /**< the number of neighbours that it receives from */
    MPI_Comm handle;
    struct offbeat_tracer_communicator *next;
} offbeat_tracer_communicator;

/** Incremented when a communicator is freed. */
extern _Atomic unsigned offbeat_tracer_communicators_generation;

/**
 * The state of a communicator, which is defined if it is new.
 * @param comm not MPI_COMM_NULL
 * @return NULL if memory is exhausted
 */
offbeat_tracer_communicator *offbeat_tracer_communicator_find(MPI_Comm comm);

/** The state of a communicator, from the thread's cache if it is there; see
 * offbeat_tracer_communicator_find(). */
static inline offbeat_tracer_communicator *offbeat_tracer_communicator_cached(offbeat_tracer_thread *thread,
                                                                              MPI_Comm comm) {
    const uintptr_t handle = (uintptr_t)comm;
    unsigned generation =
        atomic_load_explicit(&offbeat_tracer_communicators_generation, memory_order_acquire);
    offbeat_tracer_cached_communicator *cache_entry =
        &thread->communicators[offbeat_tracer_hash_slot(handle, OFFBEAT_TRACER_CACHED_COMMUNICATORS)];
    if (cache_entry->communicator != NULL && cache_entry->handle == handle &&
        cache_entry->generation == generation)
        return cache_entry->communicator;
    *cache_entry =
        (offbeat_tracer_cached_communicator){handle, generation, offbeat_tracer_communicator_find(comm)};
    return cache_entry->communicator;
}

/** The sequence number of a call that begins. MPI forbids concurrent collectives on one communicator, so that
 * the counter needs no lock. */
static inline uint32_t offbeat_tracer_next_sequence(offbeat_tracer_communicator *communicator) {
    uint32_t sequence = atomic_load_explicit(&communicator->sequence, memory_order_relaxed);
    atomic_store_explicit(&communicator->sequence, sequence + 1, memory_order_relaxed);
    return sequence;
}

/**
 * Defines a communicator that was just created; nothing for MPI_COMM_NULL and one that is defined.
 * @param parent  id of the communicator that it was created from, or 0
 * @param creator id of the function that created it
 */
void offbeat_tracer_communicator_created(MPI_Comm newcomm, uint32_t parent, uint16_t creator);

/** Writes the present name of a communicator, if it has one. */
void offbeat_tracer_communicator_define_name(const offbeat_tracer_communicator *communicator);

/** Defines MPI_COMM_WORLD and MPI_COMM_SELF, in this order, if the program has them. Call it before every
 * other function of this header.
 * @return 0, or -1 if MPI cannot create an attribute */
int offbeat_tracer_communicators_init(void);

/** Writes the present names of all communicators. No other thread may call MPI any more. */
void offbeat_tracer_communicators_finalize(void);

#endif
