/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file handles.h
 * The handles by which a program knows its partitioned requests. Each is the handle of a persistent receive
 * that is never started, so that it differs from all other handles, also in Fortran. A hash table finds the
 * partitioned request. Lookups take no lock.
 */
#ifndef OFFBEAT_PARTITIONED_PRELOAD_HANDLES_H
#define OFFBEAT_PARTITIONED_PRELOAD_HANDLES_H

#include <mpi.h>
#include <offbeat/partitioned.h>
#include <stdatomic.h>

/** Number of handles. */
extern atomic_int offbeat_preload_handle_count;

/** Creates the handle of a request. @return an MPI error code */
int offbeat_preload_handle_create(offbeat_prequest prequest, MPI_Request *handle);

/** Forgets the request of a handle, which exists. */
void offbeat_preload_handle_forget(MPI_Request handle);

/** Forgets the request of a handle, frees the handle and sets it to MPI_REQUEST_NULL. */
int offbeat_preload_handle_free(MPI_Request *handle);

offbeat_prequest offbeat_preload_handle_find(MPI_Request handle);

/** The partitioned request of a handle; OFFBEAT_PREQUEST_NULL for all other handles. */
static inline offbeat_prequest offbeat_preload_partitioned_request(MPI_Request handle) {
    if (atomic_load_explicit(&offbeat_preload_handle_count, memory_order_relaxed) == 0)
        return OFFBEAT_PREQUEST_NULL;
    return offbeat_preload_handle_find(handle);
}

#endif
