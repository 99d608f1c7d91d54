/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file describe.h
 * What the arguments of a collective say: bytes, datatype, operation, root. Arguments that MPI calls not
 * significant at a process aren't looked at, as they may be anything there.
 *
 * All of it is inlined where the shape is known: a record goes from registers into the file.
 */
#ifndef OFFBEAT_TRACE_DESCRIBE_H
#define OFFBEAT_TRACE_DESCRIBE_H

#include "trace/call.h"
#include "trace/handles.h"

/* Roots as they are written to the file. */
enum { OFFBEAT_BESIDE_ROOT = -2, OFFBEAT_OTHER_GROUPS_ROOT = -3 };

/** A count of an array that may be NULL: 0 then. */
int64_t offbeat_count_at(const void *counts, offbeat_arrays arrays, int i);

/** The sum of an array of counts. */
int64_t offbeat_sum_of(const void *counts, offbeat_arrays arrays, int number);

/** Bytes of vectors that each have a type of their own. */
int64_t offbeat_bytes_of_types(const void *counts, const void *types, offbeat_arrays arrays, int number);

OFFBEAT_INLINE void offbeat_set(offbeat_call *call, MPI_Datatype type, int64_t count) {
    offbeat_seen_handle seen = offbeat_type_of(call->lane, type);
    call->record.datatype = seen.id;
    call->record.bytes = count > 0 ? (uint64_t)count * seen.size_bytes : 0;
}

OFFBEAT_INLINE void offbeat_set_sent(offbeat_call *call, const offbeat_arguments *given, int64_t count) {
    offbeat_set(call, given->sent_type, count);
}

OFFBEAT_INLINE void offbeat_set_got(offbeat_call *call, const offbeat_arguments *given, int64_t count) {
    offbeat_set(call, given->got_type, count);
}

/* Of how many processes counts are given. */
OFFBEAT_INLINE int offbeat_peers_of(const offbeat_communicator *comm) {
    return comm->remote_size > 0 ? comm->remote_size : comm->size;
}

OFFBEAT_INLINE void offbeat_set_root(offbeat_call *call, int root) {
    call->record.root = root;
    if (call->comm->remote_size > 0 && root == MPI_ROOT)
        call->record.root = OFFBEAT_OTHER_GROUPS_ROOT;
    else if (call->comm->remote_size > 0 && root == MPI_PROC_NULL)
        call->record.root = OFFBEAT_BESIDE_ROOT;
}

OFFBEAT_INLINE int offbeat_is_at_root(const offbeat_call *call) {
    return call->comm->remote_size > 0 ? call->record.root == OFFBEAT_OTHER_GROUPS_ROOT
                                       : call->record.root == call->comm->rank;
}

/* Gatherings to a root: what this process sends, or in its place would send. */
OFFBEAT_INLINE void offbeat_gathered(offbeat_call *call, const offbeat_arguments *given) {
    offbeat_set_root(call, given->root);
    if (call->record.root == OFFBEAT_BESIDE_ROOT)
        return;
    if (!given->is_sent_in_place && call->record.root != OFFBEAT_OTHER_GROUPS_ROOT)
        offbeat_set_sent(call, given, given->sent_count);
    else if (given->got_counts == NULL)
        offbeat_set_got(call, given, given->got_count);
    else if (given->is_sent_in_place)
        offbeat_set_got(call, given, offbeat_count_at(given->got_counts, given->arrays, call->comm->rank));
    else
        offbeat_set_got(call, given, 0);
}

/* Scatterings from a root: what this process gets, or in its place would get. */
OFFBEAT_INLINE void offbeat_scattered(offbeat_call *call, const offbeat_arguments *given) {
    offbeat_set_root(call, given->root);
    if (call->record.root == OFFBEAT_BESIDE_ROOT)
        return;
    if (!offbeat_is_at_root(call))
        offbeat_set_got(call, given, given->got_count);
    else if (given->sent_counts == NULL)
        offbeat_set_sent(call, given, given->sent_count);
    else if (call->record.root == OFFBEAT_OTHER_GROUPS_ROOT)
        offbeat_set_sent(call, given, 0);
    else
        offbeat_set_sent(call, given, offbeat_count_at(given->sent_counts, given->arrays, call->comm->rank));
}

/* One block for each other process. */
OFFBEAT_INLINE void offbeat_exchanged(offbeat_call *call, const offbeat_arguments *given) {
    if (given->is_sent_in_place)
        offbeat_set_got(call, given, given->got_count);
    else
        offbeat_set_sent(call, given, given->sent_count);
}

OFFBEAT_INLINE void offbeat_gathered_by_all(offbeat_call *call, const offbeat_arguments *given) {
    if (given->is_sent_in_place)
        offbeat_set_got(call, given, offbeat_count_at(given->got_counts, given->arrays, call->comm->rank));
    else
        offbeat_set_sent(call, given, given->sent_count);
}

OFFBEAT_INLINE void offbeat_exchanged_by_counts(offbeat_call *call, const offbeat_arguments *given,
                                                int peers) {
    if (given->is_sent_in_place)
        offbeat_set_got(call, given, offbeat_sum_of(given->got_counts, given->arrays, peers));
    else
        offbeat_set_sent(call, given, offbeat_sum_of(given->sent_counts, given->arrays, peers));
}

OFFBEAT_INLINE void offbeat_exchanged_by_types(offbeat_call *call, const offbeat_arguments *given,
                                               int peers) {
    int64_t bytes = given->is_sent_in_place
                        ? offbeat_bytes_of_types(given->got_counts, given->got_types, given->arrays, peers)
                        : offbeat_bytes_of_types(given->sent_counts, given->sent_types, given->arrays, peers);
    call->record.bytes = (uint64_t)bytes;
}

OFFBEAT_INLINE void offbeat_reduced(offbeat_call *call, const offbeat_arguments *given, int64_t count) {
    offbeat_set_sent(call, given, count);
    offbeat_seen_handle seen = offbeat_operation_of(call->lane, given->operation);
    call->record.operation = seen.id;
    if (seen.size_bytes)
        call->record.flags |= OFFBEAT_TRACE_COMMUTES;
}

OFFBEAT_INLINE void offbeat_reduced_to_root(offbeat_call *call, const offbeat_arguments *given) {
    offbeat_set_root(call, given->root);
    if (call->record.root != OFFBEAT_BESIDE_ROOT)
        offbeat_reduced(call, given, given->sent_count);
}

/** Fills in what the arguments of a shape (OFFBEAT_IS_...) say, after the call. */
OFFBEAT_INLINE void offbeat_call_describe(offbeat_call *call, int shape, const offbeat_arguments *given) {
    /* Not ||: for that, gcc 12 reads both as one from memory before they are there. */
    if (given->is_sent_in_place | given->is_got_in_place)
        call->record.flags |= OFFBEAT_TRACE_IN_PLACE;
    switch (shape) {
    case OFFBEAT_IS_BCAST:
        offbeat_set_root(call, given->root);
        if (call->record.root != OFFBEAT_BESIDE_ROOT)
            offbeat_set_sent(call, given, given->sent_count);
        break;
    case OFFBEAT_IS_GATHER:
    case OFFBEAT_IS_GATHERV:
        offbeat_gathered(call, given);
        break;
    case OFFBEAT_IS_SCATTER:
    case OFFBEAT_IS_SCATTERV:
        offbeat_scattered(call, given);
        break;
    case OFFBEAT_IS_EXCHANGE:
        offbeat_exchanged(call, given);
        break;
    case OFFBEAT_IS_ALLGATHERV:
        offbeat_gathered_by_all(call, given);
        break;
    case OFFBEAT_IS_ALLTOALLV:
        offbeat_exchanged_by_counts(call, given, offbeat_peers_of(call->comm));
        break;
    case OFFBEAT_IS_NEIGHBOR_ALLTOALLV:
        offbeat_exchanged_by_counts(call, given, call->comm->destinations);
        break;
    case OFFBEAT_IS_ALLTOALLW:
        offbeat_exchanged_by_types(call, given, offbeat_peers_of(call->comm));
        break;
    case OFFBEAT_IS_NEIGHBOR_ALLTOALLW:
        offbeat_exchanged_by_types(call, given, call->comm->destinations);
        break;
    case OFFBEAT_IS_REDUCE:
        offbeat_reduced_to_root(call, given);
        break;
    case OFFBEAT_IS_ALLREDUCE:
        offbeat_reduced(call, given, given->sent_count);
        break;
    case OFFBEAT_IS_REDUCE_SCATTER:
        offbeat_reduced(call, given, offbeat_sum_of(given->sent_counts, given->arrays, call->comm->size));
        break;
    default:
        break;
    }
}

#endif
