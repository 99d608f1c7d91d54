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
static const uintptr_t UNUSED_KEY = 0, REMOVED_KEY = 1;

typedef struct slot {
    _Atomic uintptr_t key;
    _Atomic(offbeat_prequest) prequest;
} slot;

typedef struct table {
    size_t capacity, used_slots; /**< a power of two; slots that are not UNUSED_KEY */
    struct table *smaller_table;
    slot slots[];
} table;

atomic_int offbeat_preload_handle_count;
static _Atomic(table *) current;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static size_t first_slot(const table *handles, uintptr_t key) {
    return (size_t)(((uint64_t)key * UINT64_C(0x9E3779B97F4A7C15)) >> 32) & (handles->capacity - 1);
}

static size_t next_slot(const table *handles, size_t slot) {
    return (slot + 1) & (handles->capacity - 1);
}

static uintptr_t key_at(const table *handles, size_t slot) {
    return atomic_load_explicit(&handles->slots[slot].key, memory_order_acquire);
}

offbeat_prequest offbeat_preload_handle_find(MPI_Request handle) {
    const uintptr_t key = (uintptr_t)handle;
    table *handles = atomic_load_explicit(&current, memory_order_acquire);
    if (handles == NULL || key == UNUSED_KEY || key == REMOVED_KEY) /* no handle of this library */
        return OFFBEAT_PREQUEST_NULL;
    for (size_t i = first_slot(handles, key);; i = next_slot(handles, i)) {
        const uintptr_t slot_key = key_at(handles, i);
        if (slot_key == key)
            return atomic_load_explicit(&handles->slots[i].prequest, memory_order_relaxed);
        if (slot_key == UNUSED_KEY)
            return OFFBEAT_PREQUEST_NULL;
    }
}

/* --- changes, while lock is held --- */

static void insert(table *handles, uintptr_t key, offbeat_prequest prequest) {
    size_t i = first_slot(handles, key);
    while (key_at(handles, i) != UNUSED_KEY && key_at(handles, i) != REMOVED_KEY)
        i = next_slot(handles, i);
    handles->used_slots += key_at(handles, i) == UNUSED_KEY;
    atomic_store_explicit(&handles->slots[i].prequest, prequest, memory_order_relaxed);
    atomic_store_explicit(&handles->slots[i].key, key, memory_order_release);
}

/* Replaces the table by one of twice the capacity. */
static int grow(void) {
    table *full = atomic_load(&current);
    const size_t capacity = full == NULL ? FIRST_CAPACITY : 2 * full->capacity;
    table *larger = calloc(1, sizeof *larger + capacity * sizeof(slot));
    if (larger == NULL)
        return 0;
    larger->capacity = capacity;
    larger->smaller_table = full;
    for (size_t i = 0; full != NULL && i < full->capacity; i++)
        if (key_at(full, i) != UNUSED_KEY && key_at(full, i) != REMOVED_KEY)
            insert(larger, key_at(full, i), atomic_load(&full->slots[i].prequest));
    atomic_store_explicit(&current, larger, memory_order_release);
    return 1;
}

static int add(uintptr_t key, offbeat_prequest prequest) {
    table *handles = atomic_load(&current);
    if ((handles == NULL || 2 * handles->used_slots >= handles->capacity) && !grow())
        return 0;
    insert(atomic_load(&current), key, prequest);
    atomic_fetch_add(&offbeat_preload_handle_count, 1);
    return 1;
}

/* Removed slots at the end of a chain of probes become unused again, so that few of them remain. */
static void drop(uintptr_t key) {
    table *handles = atomic_load(&current);
    size_t i = first_slot(handles, key);
    while (key_at(handles, i) != key)
        i = next_slot(handles, i);
    atomic_store_explicit(&handles->slots[i].key, REMOVED_KEY, memory_order_release);
    while (key_at(handles, i) == REMOVED_KEY && key_at(handles, next_slot(handles, i)) == UNUSED_KEY) {
        atomic_store_explicit(&handles->slots[i].key, UNUSED_KEY, memory_order_release);
        handles->used_slots--;
        i = (i + handles->capacity - 1) & (handles->capacity - 1);
    }
    atomic_fetch_sub(&offbeat_preload_handle_count, 1);
}

/* --- handles --- */

int offbeat_preload_handle_create(offbeat_prequest prequest, MPI_Request *handle) {
    static char empty_buffer;
    int rc = PMPI_Recv_init(&empty_buffer, 0, MPI_BYTE, MPI_PROC_NULL, 0, MPI_COMM_SELF, handle);
    if (rc != MPI_SUCCESS)
        return rc;
    pthread_mutex_lock(&lock);
    int is_added = add((uintptr_t)*handle, prequest);
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
