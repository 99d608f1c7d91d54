/* SPDX-License-Identifier: BSD-3-Clause */
/** @file handles.h  Datatypes and operations: their numbers in the file, sizes, and whether they commute. */
#ifndef OFFBEAT_TRACE_HANDLES_H
#define OFFBEAT_TRACE_HANDLES_H

#include "trace/lane.h"

#include <mpi.h>

/** The bytes of a datatype, by the name that the library's MPI has for it: MPI 4.1 deprecates the other. */
static inline int offbeat_type_size(MPI_Datatype type, MPI_Count *size_bytes) {
#if MPI_VERSION >= 4
    return PMPI_Type_size_c(type, size_bytes);
#else
    return PMPI_Type_size_x(type, size_bytes);
#endif
}

/** A datatype as it is now: defines it where it is new. MPI_DATATYPE_NULL: id 0, size 0. */
offbeat_seen_handle offbeat_type_find(offbeat_lane *lane, MPI_Datatype type);

/** An operation as it is now: defines it where it is new. MPI_OP_NULL: id 0. */
offbeat_seen_handle offbeat_operation_find(offbeat_lane *lane, MPI_Op operation);

/** The same, quick where the thread saw it lately. */
static inline offbeat_seen_handle offbeat_type_of(offbeat_lane *lane, MPI_Datatype type) {
    const offbeat_seen_handle *seen = &lane->types[offbeat_lane_place((uintptr_t)type, OFFBEAT_SEEN_TYPES)];
    return seen->id != 0 && seen->handle == (uintptr_t)type ? *seen : offbeat_type_find(lane, type);
}

static inline offbeat_seen_handle offbeat_operation_of(offbeat_lane *lane, MPI_Op operation) {
    const offbeat_seen_handle *seen =
        &lane->operations[offbeat_lane_place((uintptr_t)operation, OFFBEAT_SEEN_OPERATIONS)];
    return seen->id != 0 && seen->handle == (uintptr_t)operation ? *seen
                                                                 : offbeat_operation_find(lane, operation);
}

#endif
