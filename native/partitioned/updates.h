/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file updates.h
 * Updates of values that several threads may change at the same time. Each returns the value before it.
 *
 * An atomic update takes several times as long as a load and a store. These suffice if is_threaded is 0: no
 * two calls of a process overlap then, and the program orders their memory accesses.
 */
#ifndef OFFBEAT_PARTITIONED_UPDATES_H
#define OFFBEAT_PARTITIONED_UPDATES_H

#include <stdatomic.h>
#include <stdint.h>

static inline int offbeat_partitioned_add(atomic_int *counter, int amount, int is_threaded) {
    if (is_threaded)
        return atomic_fetch_add_explicit(counter, amount, memory_order_acq_rel);
    const int value_before = atomic_load_explicit(counter, memory_order_relaxed);
    atomic_store_explicit(counter, value_before + amount, memory_order_relaxed);
    return value_before;
}

static inline int offbeat_partitioned_exchange(atomic_int *value, int next, int is_threaded) {
    if (is_threaded)
        return atomic_exchange_explicit(value, next, memory_order_acq_rel);
    const int value_before = atomic_load_explicit(value, memory_order_relaxed);
    atomic_store_explicit(value, next, memory_order_relaxed);
    return value_before;
}

static inline uint64_t offbeat_partitioned_set_bits(_Atomic uint64_t *word, uint64_t bits, int is_threaded) {
    if (is_threaded)
        return atomic_fetch_or_explicit(word, bits, memory_order_acq_rel);
    const uint64_t value_before = atomic_load_explicit(word, memory_order_relaxed);
    atomic_store_explicit(word, value_before | bits, memory_order_relaxed);
    return value_before;
}

#endif
