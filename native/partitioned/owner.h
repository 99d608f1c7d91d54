/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file owner.h
 * The thread that owns the ready bits of a send, and updates them without atomic operations.
 *
 * At MPI_THREAD_MULTIPLE any thread may mark a partition, but often one thread marks all partitions of a
 * send. The first thread that marks a partition becomes the owner of the ready bits. When another thread
 * marks a partition, the ownership ends, and all threads use atomic operations from then on.
 *
 * The owner and the thread that ends the ownership each store one variable and then load the other's, which
 * requires a memory barrier between store and load in both threads. Barriers in the owner would take as long
 * as atomic operations. The other thread therefore calls membarrier(2), which makes the owner execute one.
 */
#ifndef OFFBEAT_PARTITIONED_OWNER_H
#define OFFBEAT_PARTITIONED_OWNER_H

#include <stdatomic.h>
#include <stddef.h>

typedef struct offbeat_partitioned_owner {
    _Atomic(const void *) thread; /**< NULL: there is no owner; see owner.c */
    atomic_int is_updating;       /**< the owner is inside an update */
    atomic_int *are_allowed;      /**< whether the ready bits of new sends can have an owner */
} offbeat_partitioned_owner;

/** Its address identifies a thread. With this model, a shared library reads the address without a call of the
 * dynamic linker; one byte fits in the space that the C library reserves for libraries loaded at run time. */
extern _Thread_local char offbeat_partitioned_this_thread __attribute__((tls_model("initial-exec")));

/** Whether membarrier works here. Takes up to milliseconds the first time. */
int offbeat_partitioned_owners_work(void);

/** @param are_allowed shared by sends. Set to 0 when an ownership ends: several threads mark partitions of a
 * send, and would probably end the ownership of each new send. */
void offbeat_partitioned_owner_init(offbeat_partitioned_owner *owner, atomic_int *are_allowed);

/** Begins an update of the ready bits if the calling thread is their owner. @return whether it is */
static inline int offbeat_partitioned_owner_enter(offbeat_partitioned_owner *owner) {
    const void *this_thread = &offbeat_partitioned_this_thread;
    if (atomic_load_explicit(&owner->thread, memory_order_relaxed) != this_thread)
        return 0;
    atomic_store_explicit(&owner->is_updating, 1, memory_order_relaxed);
    atomic_signal_fence(memory_order_seq_cst); /* keeps the order in the program; membarrier does the rest */
    if (atomic_load_explicit(&owner->thread, memory_order_relaxed) == this_thread)
        return 1;
    atomic_store_explicit(&owner->is_updating, 0, memory_order_release);
    return 0;
}

/** Ends the owner's update. */
static inline void offbeat_partitioned_owner_leave(offbeat_partitioned_owner *owner) {
    atomic_store_explicit(&owner->is_updating, 0, memory_order_release);
}

/** Makes the calling thread the owner if no thread has marked a partition yet, or ends the ownership of
 * another thread. @return whether the calling thread is the owner and has begun an update */
int offbeat_partitioned_owner_enter_or_end(offbeat_partitioned_owner *owner);

/** Begins an update of the ready bits. @return whether the calling thread is their owner: 1: it ends the
 * update by offbeat_partitioned_owner_leave; 0: the update must be atomic */
static inline int offbeat_partitioned_owner_begin(offbeat_partitioned_owner *owner) {
    return atomic_load_explicit(&owner->thread, memory_order_acquire) != NULL &&
           offbeat_partitioned_owner_enter_or_end(owner);
}

#endif
