/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Open addressing with linear probing. A reader takes no lock, and may still read a table that has been
 * replaced. It finds its handle there, too, because a handle is added before the program gets it. Replaced
 * tables are therefore never freed. Each is at least twice as large as the one before: together, they are no
 * larger than the current one.
 */
#include "partitioned_preload/handles.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>

enum { FIRST_CAPACITY = 64 };

/* Keys of slots without a handle. The chain of probes ends at an unused slot, and goes on after a removed
 * one. */
static const uintptr_t UNUSED = 0, REMOVED = 1;

typedef struct slot {
    _Atomic uintptr_t key;
    _Atomic(offbeat_prequest) own;
} slot;

typedef struct table {
    size_t capacity, used; /**< a power of two; slots that are not UNUSED */
    struct table *replaced;
    slot slots[];
} table;

atomic_int offbeat_preload_handle_count;
static _Atomic(table *) current;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static size_t first_slot(const table *searched, uintptr_t key) {
    return (size_t)(((uint64_t)key * UINT64_C(0x9E3779B97F4A7C15)) >> 32) & (searched->capacity - 1);
}

static size_t next_slot(const table *searched, size_t place) {
    return (place + 1) & (searched->capacity - 1);
}

static uintptr_t key_at(const table *searched, size_t place) {
    return atomic_load_explicit(&searched->slots[place].key, memory_order_acquire);
}

offbeat_prequest offbeat_preload_handle_find(MPI_Request handle) {
    const uintptr_t key = (uintptr_t)handle;
    table *searched = atomic_load_explicit(&current, memory_order_acquire);
    if (searched == NULL || key == UNUSED || key == REMOVED) /* no handle of this library */
        return OFFBEAT_PREQUEST_NULL;
    for (size_t i = first_slot(searched, key);; i = next_slot(searched, i)) {
        const uintptr_t found = key_at(searched, i);
        if (found == key)
            return atomic_load_explicit(&searched->slots[i].own, memory_order_relaxed);
        if (found == UNUSED)
            return OFFBEAT_PREQUEST_NULL;
    }
}

/* --- changes, while lock is held --- */

static void insert(table *changed, uintptr_t key, offbeat_prequest own) {
    size_t i = first_slot(changed, key);
    while (key_at(changed, i) != UNUSED && key_at(changed, i) != REMOVED)
        i = next_slot(changed, i);
    changed->used += key_at(changed, i) == UNUSED;
    atomic_store_explicit(&changed->slots[i].own, own, memory_order_relaxed);
    atomic_store_explicit(&changed->slots[i].key, key, memory_order_release);
}

/* Replaces the table by one of twice the capacity. */
static int grow(void) {
    table *full = atomic_load(&current);
    const size_t capacity = full == NULL ? FIRST_CAPACITY : 2 * full->capacity;
    table *larger = calloc(1, sizeof *larger + capacity * sizeof(slot));
    if (larger == NULL)
        return 0;
    larger->capacity = capacity;
    larger->replaced = full;
    for (size_t i = 0; full != NULL && i < full->capacity; i++)
        if (key_at(full, i) != UNUSED && key_at(full, i) != REMOVED)
            insert(larger, key_at(full, i), atomic_load(&full->slots[i].own));
    atomic_store_explicit(&current, larger, memory_order_release);
    return 1;
}

static int add(uintptr_t key, offbeat_prequest own) {
    table *changed = atomic_load(&current);
    if ((changed == NULL || 2 * changed->used >= changed->capacity) && !grow())
        return 0;
    insert(atomic_load(&current), key, own);
    atomic_fetch_add(&offbeat_preload_handle_count, 1);
    return 1;
}

/* Removed slots at the end of a chain of probes become unused again, so that few of them remain. */
static void drop(uintptr_t key) {
    table *changed = atomic_load(&current);
    size_t i = first_slot(changed, key);
    while (key_at(changed, i) != key)
        i = next_slot(changed, i);
    atomic_store_explicit(&changed->slots[i].key, REMOVED, memory_order_release);
    while (key_at(changed, i) == REMOVED && key_at(changed, next_slot(changed, i)) == UNUSED) {
        atomic_store_explicit(&changed->slots[i].key, UNUSED, memory_order_release);
        changed->used--;
        i = (i + changed->capacity - 1) & (changed->capacity - 1);
    }
    atomic_fetch_sub(&offbeat_preload_handle_count, 1);
}

/* --- handles --- */

int offbeat_preload_handle_create(offbeat_prequest own, MPI_Request *handle) {
    static char nothing;
    int rc = PMPI_Recv_init(&nothing, 0, MPI_BYTE, MPI_PROC_NULL, 0, MPI_COMM_SELF, handle);
    if (rc != MPI_SUCCESS)
        return rc;
    pthread_mutex_lock(&lock);
    int is_added = add((uintptr_t)*handle, own);
    pthread_mutex_unlock(&lock);
    if (is_added)
        return MPI_SUCCESS;
    PMPI_Request_free(handle);
    return MPI_ERR_NO_MEM;
}

void offbeat_preload_handle_forget(MPI_Request handle) {
    pthread_mutex_lock(&lock);
    drop((uintptr_t)handle);
    pthread_mutex_unlock(&lock);
}

int offbeat_preload_handle_free(MPI_Request *handle) {
    offbeat_preload_handle_forget(*handle);
    return PMPI_Request_free(handle);
}
