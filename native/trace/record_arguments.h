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

/** Signatures of collectives: signatures.h. */
enum {
    OFFBEAT_SIGNATURE_BARRIER,
    OFFBEAT_SIGNATURE_BCAST,
    OFFBEAT_SIGNATURE_GATHER,
    OFFBEAT_SIGNATURE_GATHERV,
    OFFBEAT_SIGNATURE_SCATTER,
    OFFBEAT_SIGNATURE_SCATTERV,
    OFFBEAT_SIGNATURE_EXCHANGE,
    OFFBEAT_SIGNATURE_ALLGATHERV,
    OFFBEAT_SIGNATURE_ALLTOALLV,
    OFFBEAT_SIGNATURE_NEIGHBOR_ALLTOALLV,
    OFFBEAT_SIGNATURE_ALLTOALLW,
    OFFBEAT_SIGNATURE_NEIGHBOR_ALLTOALLW,
    OFFBEAT_SIGNATURE_REDUCE,
    OFFBEAT_SIGNATURE_ALLREDUCE,
    OFFBEAT_SIGNATURE_REDUCE_SCATTER
};

/** The arguments of a collective in any language, by their names in signatures.h. Those that its signature
 * does not have are 0, NULL or MPI's null handle. */
typedef struct offbeat_tracer_arguments {
    offbeat_tracer_array_format arrays;
    int is_sendbuf_in_place, is_recvbuf_in_place; /**< the buffer is MPI_IN_PLACE */
    MPI_Count sendcount, recvcount;
    const void *sendcounts, *recvcounts;
    const void *sdispls, *rdispls; /**< not recorded */
    MPI_Datatype sendtype, recvtype;
    const void *sendtypes, *recvtypes;
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

/**
 * Counts @p number blocks of different sizes in a record: how many they are, how many have no bytes, and the
 * largest one.
 * @param types      of the blocks; NULL: all have the type of @p type_bytes
 * @return the sum of their bytes
 */
int64_t offbeat_tracer_record_blocks(offbeat_trace_record *record, const void *counts, const void *types,
                                     uint64_t type_bytes, offbeat_tracer_array_format arrays, int number);

OFFBEAT_TRACER_INLINE offbeat_tracer_cached_handle
offbeat_tracer_datatype_cached(offbeat_tracer_thread *thread, MPI_Datatype type) {
    const offbeat_tracer_cached_handle *cache_entry =
        &thread->types[offbeat_tracer_hash_slot((uintptr_t)type, OFFBEAT_TRACER_CACHED_TYPES)];
    const int is_hit = cache_entry->id != 0 && cache_entry->handle == (uintptr_t)type;
    return is_hit ? *cache_entry : offbeat_tracer_datatype_find(thread, type);
}

OFFBEAT_TRACER_INLINE offbeat_tracer_cached_handle
offbeat_tracer_operation_cached(offbeat_tracer_thread *thread, MPI_Op op) {
    const offbeat_tracer_cached_handle *cache_entry =
        &thread->operations[offbeat_tracer_hash_slot((uintptr_t)op, OFFBEAT_TRACER_CACHED_OPERATIONS)];
    const int is_hit = cache_entry->id != 0 && cache_entry->handle == (uintptr_t)op;
    return is_hit ? *cache_entry : offbeat_tracer_operation_find(thread, op);
}

OFFBEAT_TRACER_INLINE void offbeat_tracer_set_bytes(offbeat_tracer_call *call, MPI_Datatype type,
                                                    int64_t count) {
    offbeat_tracer_cached_handle cache_entry = offbeat_tracer_datatype_cached(call->thread, type);
    call->record.datatype = cache_entry.id;
    call->record.bytes = count > 0 ? (uint64_t)count * cache_entry.size_bytes : 0;
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

/* The length of this process's block; in an inter-communicator it has none among its own counts. */
OFFBEAT_TRACER_INLINE int64_t offbeat_tracer_own_count(const offbeat_tracer_call *call,
                                                       const offbeat_tracer_arguments *arguments,
                                                       MPI_Count count, const void *counts) {
    if (counts == NULL)
        return count;
    return call->comm->remote_size > 0 ? 0
                                       : offbeat_tracer_count_at(counts, arguments->arrays, call->comm->rank);
}

/* One block that this process sends. */
OFFBEAT_TRACER_INLINE void offbeat_tracer_record_sent(offbeat_tracer_call *call,
                                                      const offbeat_tracer_arguments *arguments) {
    offbeat_tracer_set_bytes(
        call, arguments->sendtype,
        offbeat_tracer_own_count(call, arguments, arguments->sendcount, arguments->sendcounts));
}

/* One block that this process receives. */
OFFBEAT_TRACER_INLINE void offbeat_tracer_record_received(offbeat_tracer_call *call,
                                                          const offbeat_tracer_arguments *arguments) {
    offbeat_tracer_set_bytes(
        call, arguments->recvtype,
        offbeat_tracer_own_count(call, arguments, arguments->recvcount, arguments->recvcounts));
}

/* Blocks of one datatype. @return the sum of their bytes */
OFFBEAT_TRACER_INLINE int64_t offbeat_tracer_record_typed_blocks(offbeat_tracer_call *call,
                                                                 const offbeat_tracer_arguments *arguments,
                                                                 const void *counts, MPI_Datatype type,
                                                                 int number) {
    const uint64_t type_bytes = offbeat_tracer_datatype_cached(call->thread, type).size_bytes;
    return offbeat_tracer_record_blocks(&call->record, counts, NULL, type_bytes, arguments->arrays, number);
}

/* MPI_Alltoallv and MPI_Alltoallw: what this process sends to all. */
OFFBEAT_TRACER_INLINE void offbeat_tracer_record_sent_to_all(offbeat_tracer_call *call,
                                                             const offbeat_tracer_arguments *arguments,
                                                             int peers) {
    const int is_in_place = arguments->is_sendbuf_in_place;
    const void *counts = is_in_place ? arguments->recvcounts : arguments->sendcounts;
    const void *types = is_in_place ? arguments->recvtypes : arguments->sendtypes;
    const MPI_Datatype type = is_in_place ? arguments->recvtype : arguments->sendtype;
    if (types == NULL)
        offbeat_tracer_set_bytes(call, type, 0);
    call->record.bytes =
        (uint64_t)(types != NULL ? offbeat_tracer_record_blocks(&call->record, counts, types, 0,
                                                                arguments->arrays, peers)
                                 : offbeat_tracer_record_typed_blocks(call, arguments, counts, type, peers));
}

/* MPI_Allgatherv: the blocks of all processes, or of the neighbours that this process receives from. */
OFFBEAT_TRACER_INLINE void offbeat_tracer_record_received_blocks(offbeat_tracer_call *call,
                                                                 const offbeat_tracer_arguments *arguments) {
    const int is_of_neighbours =
        offbeat_tracer_functions[call->record.function].collective == OFFBEAT_Neighbor_allgatherv;
    if (arguments->recvcounts != NULL)
        offbeat_tracer_record_typed_blocks(call, arguments, arguments->recvcounts, arguments->recvtype,
                                           is_of_neighbours ? call->comm->sources
                                                            : offbeat_tracer_peer_count(call->comm));
}

OFFBEAT_TRACER_INLINE void offbeat_tracer_record_reduction(offbeat_tracer_call *call,
                                                           const offbeat_tracer_arguments *arguments,
                                                           int64_t count) {
    offbeat_tracer_set_bytes(call, arguments->sendtype, count);
    offbeat_tracer_cached_handle cache_entry = offbeat_tracer_operation_cached(call->thread, arguments->op);
    call->record.operation = cache_entry.id;
    if (cache_entry.size_bytes)
        call->record.flags |= OFFBEAT_TRACE_COMMUTES;
}

/** Fills in the record after the call. @param signature OFFBEAT_SIGNATURE_... */
OFFBEAT_TRACER_INLINE void offbeat_tracer_record_arguments(offbeat_tracer_call *call, int signature,
                                                           const offbeat_tracer_arguments *arguments) {
    const int is_in_place = arguments->is_sendbuf_in_place;
    /* Not ||: gcc 12 would merge both into one load, which then stalls on the two stores before it. */
    if (arguments->is_sendbuf_in_place | arguments->is_recvbuf_in_place)
        call->record.flags |= OFFBEAT_TRACE_IN_PLACE;
    if (signature == OFFBEAT_SIGNATURE_BCAST || signature == OFFBEAT_SIGNATURE_GATHER ||
        signature == OFFBEAT_SIGNATURE_GATHERV || signature == OFFBEAT_SIGNATURE_SCATTER ||
        signature == OFFBEAT_SIGNATURE_SCATTERV || signature == OFFBEAT_SIGNATURE_REDUCE)
        offbeat_tracer_set_root(call, arguments->root);
    if (call->record.root == OFFBEAT_TRACER_ROOT_PROC_NULL)
        return;
    switch (signature) {
    case OFFBEAT_SIGNATURE_BCAST:
        offbeat_tracer_record_sent(call, arguments);
        break;
    case OFFBEAT_SIGNATURE_GATHER:
    case OFFBEAT_SIGNATURE_GATHERV:
        if (is_in_place || call->record.root == OFFBEAT_TRACER_ROOT_SELF)
            offbeat_tracer_record_received(call, arguments);
        else
            offbeat_tracer_record_sent(call, arguments);
        if (signature == OFFBEAT_SIGNATURE_GATHERV && offbeat_tracer_is_root(call))
            offbeat_tracer_record_typed_blocks(call, arguments, arguments->recvcounts, arguments->recvtype,
                                               offbeat_tracer_peer_count(call->comm));
        break;
    case OFFBEAT_SIGNATURE_SCATTER:
    case OFFBEAT_SIGNATURE_SCATTERV:
        if (offbeat_tracer_is_root(call))
            offbeat_tracer_record_sent(call, arguments);
        else
            offbeat_tracer_record_received(call, arguments);
        if (signature == OFFBEAT_SIGNATURE_SCATTERV && offbeat_tracer_is_root(call))
            offbeat_tracer_record_typed_blocks(call, arguments, arguments->sendcounts, arguments->sendtype,
                                               offbeat_tracer_peer_count(call->comm));
        break;
    case OFFBEAT_SIGNATURE_EXCHANGE:
    case OFFBEAT_SIGNATURE_ALLGATHERV:
        if (is_in_place)
            offbeat_tracer_record_received(call, arguments);
        else
            offbeat_tracer_record_sent(call, arguments);
        if (signature == OFFBEAT_SIGNATURE_ALLGATHERV)
            offbeat_tracer_record_received_blocks(call, arguments);
        break;
    case OFFBEAT_SIGNATURE_ALLTOALLV:
    case OFFBEAT_SIGNATURE_ALLTOALLW:
        offbeat_tracer_record_sent_to_all(call, arguments, offbeat_tracer_peer_count(call->comm));
        break;
    case OFFBEAT_SIGNATURE_NEIGHBOR_ALLTOALLV:
    case OFFBEAT_SIGNATURE_NEIGHBOR_ALLTOALLW:
        offbeat_tracer_record_sent_to_all(call, arguments, call->comm->destinations);
        break;
    case OFFBEAT_SIGNATURE_REDUCE:
    case OFFBEAT_SIGNATURE_ALLREDUCE:
        offbeat_tracer_record_reduction(call, arguments, arguments->sendcount);
        break;
    case OFFBEAT_SIGNATURE_REDUCE_SCATTER:
        offbeat_tracer_record_reduction(call, arguments, 0);
        call->record.bytes = (uint64_t)offbeat_tracer_record_typed_blocks(
            call, arguments, arguments->sendcounts, arguments->sendtype, call->comm->size);
        break;
    default:
        break;
    }
}

#endif
