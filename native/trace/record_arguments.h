/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file record_arguments.h
 * Writes the arguments of a collective into its record: bytes, datatype, operation, root. Arguments that MPI
 * defines as not significant at this process are not read, as they may be invalid.
 *
 * All of it is inlined where the signature is constant, so that a record goes from registers into the file.
 */
#ifndef OFFBEAT_TRACE_RECORD_ARGUMENTS_H
#define OFFBEAT_TRACE_RECORD_ARGUMENTS_H

#include "trace/traced_call.h"

/** Values of `root` in the file at the roots of an inter-communicator. */
enum { OFFBEAT_TRACER_ROOT_PROC_NULL = -2, OFFBEAT_TRACER_ROOT_SELF = -3 };

/** The element types of the arrays among the arguments. */
typedef struct offbeat_tracer_array_format {
    int count_bytes; /**< sizeof(int) or sizeof(MPI_Count) */
    int is_fortran;  /**< datatypes are Fortran handles */
} offbeat_tracer_array_format;

/** The arguments of a collective in any language. Those that its signature does not have are 0, NULL or MPI's
 * null handle. */
typedef struct offbeat_tracer_arguments {
    offbeat_tracer_array_format arrays;
    int is_send_in_place, is_recv_in_place; /**< the buffer is MPI_IN_PLACE */
    MPI_Count send_count, recv_count;
    const void *send_counts, *recv_counts;
    MPI_Datatype send_type, recv_type;
    const void *send_types, *recv_types;
    MPI_Op op;
    int root;
} offbeat_tracer_arguments;

/** PMPI_Type_size_x is deprecated since MPI 4.1; before MPI 4.0 it was the only one with MPI_Count. */
static inline int offbeat_tracer_type_size(MPI_Datatype type, MPI_Count *size_bytes) {
#if MPI_VERSION >= 4
    return PMPI_Type_size_c(type, size_bytes);
#else
    return PMPI_Type_size_x(type, size_bytes);
#endif
}

/** Size and id of a datatype, which is defined if it is new. MPI_DATATYPE_NULL: id 0, size 0. */
offbeat_tracer_cached_handle offbeat_tracer_datatype_find(offbeat_tracer_thread *thread, MPI_Datatype type);

/** Id of an operation, which is defined if it is new. MPI_OP_NULL: id 0. */
offbeat_tracer_cached_handle offbeat_tracer_operation_find(offbeat_tracer_thread *thread, MPI_Op op);

/** The count at an index; 0 if the array is NULL. */
int64_t offbeat_tracer_count_at(const void *counts, offbeat_tracer_array_format arrays, int i);

/** The sum of @p number counts. */
int64_t offbeat_tracer_sum_counts(const void *counts, offbeat_tracer_array_format arrays, int number);

/** The sum of @p number counts, each times the size of its datatype. */
int64_t offbeat_tracer_sum_bytes(const void *counts, const void *types, offbeat_tracer_array_format arrays,
                                 int number);

OFFBEAT_TRACER_INLINE offbeat_tracer_cached_handle
offbeat_tracer_datatype_cached(offbeat_tracer_thread *thread, MPI_Datatype type) {
    const offbeat_tracer_cached_handle *cached =
        &thread->types[offbeat_tracer_hash_slot((uintptr_t)type, OFFBEAT_TRACER_CACHED_TYPES)];
    const int is_hit = cached->id != 0 && cached->handle == (uintptr_t)type;
    return is_hit ? *cached : offbeat_tracer_datatype_find(thread, type);
}

OFFBEAT_TRACER_INLINE offbeat_tracer_cached_handle
offbeat_tracer_operation_cached(offbeat_tracer_thread *thread, MPI_Op op) {
    const offbeat_tracer_cached_handle *cached =
        &thread->operations[offbeat_tracer_hash_slot((uintptr_t)op, OFFBEAT_TRACER_CACHED_OPERATIONS)];
    const int is_hit = cached->id != 0 && cached->handle == (uintptr_t)op;
    return is_hit ? *cached : offbeat_tracer_operation_find(thread, op);
}

OFFBEAT_TRACER_INLINE void offbeat_tracer_set_bytes(offbeat_tracer_call *call, MPI_Datatype type,
                                                    int64_t count) {
    offbeat_tracer_cached_handle cached = offbeat_tracer_datatype_cached(call->thread, type);
    call->record.datatype = cached.id;
    call->record.bytes = count > 0 ? (uint64_t)count * cached.size_bytes : 0;
}

/* The length of arrays of counts. */
OFFBEAT_TRACER_INLINE int offbeat_tracer_peer_count(const offbeat_tracer_communicator *comm) {
    return comm->remote_size > 0 ? comm->remote_size : comm->size;
}

OFFBEAT_TRACER_INLINE void offbeat_tracer_set_root(offbeat_tracer_call *call, int root) {
    call->record.root = root;
    if (call->comm->remote_size > 0 && root == MPI_ROOT)
        call->record.root = OFFBEAT_TRACER_ROOT_SELF;
    else if (call->comm->remote_size > 0 && root == MPI_PROC_NULL)
        call->record.root = OFFBEAT_TRACER_ROOT_PROC_NULL;
}

OFFBEAT_TRACER_INLINE int offbeat_tracer_is_root(const offbeat_tracer_call *call) {
    return call->comm->remote_size > 0 ? call->record.root == OFFBEAT_TRACER_ROOT_SELF
                                       : call->record.root == call->comm->rank;
}

/* MPI_Gather and MPI_Gatherv: what this process sends, or would send without MPI_IN_PLACE. */
OFFBEAT_TRACER_INLINE void offbeat_tracer_record_gather(offbeat_tracer_call *call,
                                                        const offbeat_tracer_arguments *arguments) {
    offbeat_tracer_set_root(call, arguments->root);
    if (call->record.root == OFFBEAT_TRACER_ROOT_PROC_NULL)
        return;
    if (!arguments->is_send_in_place && call->record.root != OFFBEAT_TRACER_ROOT_SELF)
        offbeat_tracer_set_bytes(call, arguments->send_type, arguments->send_count);
    else if (arguments->recv_counts == NULL)
        offbeat_tracer_set_bytes(call, arguments->recv_type, arguments->recv_count);
    else if (arguments->is_send_in_place)
        offbeat_tracer_set_bytes(
            call, arguments->recv_type,
            offbeat_tracer_count_at(arguments->recv_counts, arguments->arrays, call->comm->rank));
    else
        offbeat_tracer_set_bytes(call, arguments->recv_type, 0);
}

/* MPI_Scatter and MPI_Scatterv: what this process receives, or would receive without MPI_IN_PLACE. */
OFFBEAT_TRACER_INLINE void offbeat_tracer_record_scatter(offbeat_tracer_call *call,
                                                         const offbeat_tracer_arguments *arguments) {
    offbeat_tracer_set_root(call, arguments->root);
    if (call->record.root == OFFBEAT_TRACER_ROOT_PROC_NULL)
        return;
    if (!offbeat_tracer_is_root(call))
        offbeat_tracer_set_bytes(call, arguments->recv_type, arguments->recv_count);
    else if (arguments->send_counts == NULL)
        offbeat_tracer_set_bytes(call, arguments->send_type, arguments->send_count);
    else if (call->record.root == OFFBEAT_TRACER_ROOT_SELF)
        offbeat_tracer_set_bytes(call, arguments->send_type, 0);
    else
        offbeat_tracer_set_bytes(
            call, arguments->send_type,
            offbeat_tracer_count_at(arguments->send_counts, arguments->arrays, call->comm->rank));
}

/* One block for each other process. */
OFFBEAT_TRACER_INLINE void offbeat_tracer_record_exchange(offbeat_tracer_call *call,
                                                          const offbeat_tracer_arguments *arguments) {
    if (arguments->is_send_in_place)
        offbeat_tracer_set_bytes(call, arguments->recv_type, arguments->recv_count);
    else
        offbeat_tracer_set_bytes(call, arguments->send_type, arguments->send_count);
}

OFFBEAT_TRACER_INLINE void offbeat_tracer_record_allgatherv(offbeat_tracer_call *call,
                                                            const offbeat_tracer_arguments *arguments) {
    if (arguments->is_send_in_place)
        offbeat_tracer_set_bytes(
            call, arguments->recv_type,
            offbeat_tracer_count_at(arguments->recv_counts, arguments->arrays, call->comm->rank));
    else
        offbeat_tracer_set_bytes(call, arguments->send_type, arguments->send_count);
}

OFFBEAT_TRACER_INLINE void offbeat_tracer_record_alltoallv(offbeat_tracer_call *call,
                                                           const offbeat_tracer_arguments *arguments,
                                                           int peers) {
    if (arguments->is_send_in_place)
        offbeat_tracer_set_bytes(call, arguments->recv_type,
                                 offbeat_tracer_sum_counts(arguments->recv_counts, arguments->arrays, peers));
    else
        offbeat_tracer_set_bytes(call, arguments->send_type,
                                 offbeat_tracer_sum_counts(arguments->send_counts, arguments->arrays, peers));
}

OFFBEAT_TRACER_INLINE void offbeat_tracer_record_alltoallw(offbeat_tracer_call *call,
                                                           const offbeat_tracer_arguments *arguments,
                                                           int peers) {
    const int is_in_place = arguments->is_send_in_place;
    const void *counts = is_in_place ? arguments->recv_counts : arguments->send_counts;
    const void *types = is_in_place ? arguments->recv_types : arguments->send_types;
    call->record.bytes = (uint64_t)offbeat_tracer_sum_bytes(counts, types, arguments->arrays, peers);
}

OFFBEAT_TRACER_INLINE void offbeat_tracer_record_reduction(offbeat_tracer_call *call,
                                                           const offbeat_tracer_arguments *arguments,
                                                           int64_t count) {
    offbeat_tracer_set_bytes(call, arguments->send_type, count);
    offbeat_tracer_cached_handle cached = offbeat_tracer_operation_cached(call->thread, arguments->op);
    call->record.operation = cached.id;
    if (cached.size_bytes)
        call->record.flags |= OFFBEAT_TRACE_COMMUTES;
}

/** Fills in the record after the call. @param signature OFFBEAT_SIGNATURE_... */
OFFBEAT_TRACER_INLINE void offbeat_tracer_record_arguments(offbeat_tracer_call *call, int signature,
                                                           const offbeat_tracer_arguments *arguments) {
    /* Not ||: gcc 12 would merge both into one load, which then stalls on the two stores before it. */
    if (arguments->is_send_in_place | arguments->is_recv_in_place)
        call->record.flags |= OFFBEAT_TRACE_IN_PLACE;
    switch (signature) {
    case OFFBEAT_SIGNATURE_BCAST:
        offbeat_tracer_set_root(call, arguments->root);
        if (call->record.root != OFFBEAT_TRACER_ROOT_PROC_NULL)
            offbeat_tracer_set_bytes(call, arguments->send_type, arguments->send_count);
        break;
    case OFFBEAT_SIGNATURE_GATHER:
    case OFFBEAT_SIGNATURE_GATHERV:
        offbeat_tracer_record_gather(call, arguments);
        break;
    case OFFBEAT_SIGNATURE_SCATTER:
    case OFFBEAT_SIGNATURE_SCATTERV:
        offbeat_tracer_record_scatter(call, arguments);
        break;
    case OFFBEAT_SIGNATURE_EXCHANGE:
        offbeat_tracer_record_exchange(call, arguments);
        break;
    case OFFBEAT_SIGNATURE_ALLGATHERV:
        offbeat_tracer_record_allgatherv(call, arguments);
        break;
    case OFFBEAT_SIGNATURE_ALLTOALLV:
        offbeat_tracer_record_alltoallv(call, arguments, offbeat_tracer_peer_count(call->comm));
        break;
    case OFFBEAT_SIGNATURE_NEIGHBOR_ALLTOALLV:
        offbeat_tracer_record_alltoallv(call, arguments, call->comm->destinations);
        break;
    case OFFBEAT_SIGNATURE_ALLTOALLW:
        offbeat_tracer_record_alltoallw(call, arguments, offbeat_tracer_peer_count(call->comm));
        break;
    case OFFBEAT_SIGNATURE_NEIGHBOR_ALLTOALLW:
        offbeat_tracer_record_alltoallw(call, arguments, call->comm->destinations);
        break;
    case OFFBEAT_SIGNATURE_REDUCE:
        offbeat_tracer_set_root(call, arguments->root);
        if (call->record.root != OFFBEAT_TRACER_ROOT_PROC_NULL)
            offbeat_tracer_record_reduction(call, arguments, arguments->send_count);
        break;
    case OFFBEAT_SIGNATURE_ALLREDUCE:
        offbeat_tracer_record_reduction(call, arguments, arguments->send_count);
        break;
    case OFFBEAT_SIGNATURE_REDUCE_SCATTER:
        offbeat_tracer_record_reduction(
            call, arguments,
            offbeat_tracer_sum_counts(arguments->send_counts, arguments->arrays, call->comm->size));
        break;
    default:
        break;
    }
}

#endif
