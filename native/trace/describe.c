/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the arguments of a collective say: bytes, datatype, operation, root. Arguments that MPI calls not
 * significant at a process aren't looked at, as they may be anything there.
 */
#include "trace/call.h"
#include "trace/handles.h"

/* Roots as they are written to the file. */
enum { BESIDE_ROOT = -2, OTHER_GROUPS_ROOT = -3 };

static int64_t count_at(const void *counts, const offbeat_arrays *arrays, int i) {
    if (counts == NULL)
        return 0;
    return arrays->count_bytes == (int)sizeof(int) ? ((const int *)counts)[i]
                                                   : ((const MPI_Count *)counts)[i];
}

static int64_t sum_of(const void *counts, const offbeat_arrays *arrays, int number) {
    int64_t sum = 0;
    for (int i = 0; i < number; i++)
        sum += count_at(counts, arrays, i);
    return sum;
}

static int64_t size_at(const void *types, const offbeat_arrays *arrays, int i) {
    MPI_Count size = 0;
    MPI_Datatype type =
        arrays->are_fortrans ? PMPI_Type_f2c(((const MPI_Fint *)types)[i]) : ((const MPI_Datatype *)types)[i];
    return type != MPI_DATATYPE_NULL && PMPI_Type_size_x(type, &size) == MPI_SUCCESS ? size : 0;
}

/* Bytes of vectors that each have a type of their own. */
static int64_t bytes_of_types(const void *counts, const void *types, const offbeat_arrays *arrays,
                              int number) {
    int64_t sum = 0;
    for (int i = 0; i < number; i++) {
        int64_t count = count_at(counts, arrays, i);
        if (count > 0)
            sum += count * size_at(types, arrays, i);
    }
    return sum;
}

static void set(offbeat_call *call, MPI_Datatype type, int64_t count) {
    offbeat_seen_handle seen = offbeat_type_of(call->lane, type);
    call->record.datatype = seen.id;
    call->record.bytes = count > 0 ? (uint64_t)count * seen.size_bytes : 0;
}

static void set_sent(offbeat_call *call, const offbeat_arguments *given, int64_t count) {
    set(call, given->sent_type, count);
}

static void set_got(offbeat_call *call, const offbeat_arguments *given, int64_t count) {
    set(call, given->got_type, count);
}

/* Of how many processes counts are given. */
static int peers_of(const offbeat_communicator *comm) {
    return comm->remote_size > 0 ? comm->remote_size : comm->size;
}

static void set_root(offbeat_call *call, int root) {
    call->record.root = root;
    if (call->comm->remote_size > 0 && root == MPI_ROOT)
        call->record.root = OTHER_GROUPS_ROOT;
    else if (call->comm->remote_size > 0 && root == MPI_PROC_NULL)
        call->record.root = BESIDE_ROOT;
}

static int is_at_root(const offbeat_call *call) {
    return call->comm->remote_size > 0 ? call->record.root == OTHER_GROUPS_ROOT
                                       : call->record.root == call->comm->rank;
}

/* Gatherings to a root: what this process sends, or in its place would send. */
static void gathered(offbeat_call *call, const offbeat_arguments *given) {
    set_root(call, given->root);
    if (call->record.root == BESIDE_ROOT)
        return;
    if (!given->is_sent_in_place && call->record.root != OTHER_GROUPS_ROOT)
        set_sent(call, given, given->sent_count);
    else if (given->got_counts == NULL)
        set_got(call, given, given->got_count);
    else if (given->is_sent_in_place)
        set_got(call, given, count_at(given->got_counts, &given->arrays, call->comm->rank));
    else
        set_got(call, given, 0);
}

/* Scatterings from a root: what this process gets, or in its place would get. */
static void scattered(offbeat_call *call, const offbeat_arguments *given) {
    set_root(call, given->root);
    if (call->record.root == BESIDE_ROOT)
        return;
    if (!is_at_root(call))
        set_got(call, given, given->got_count);
    else if (given->sent_counts == NULL)
        set_sent(call, given, given->sent_count);
    else if (call->record.root == OTHER_GROUPS_ROOT)
        set_sent(call, given, 0);
    else
        set_sent(call, given, count_at(given->sent_counts, &given->arrays, call->comm->rank));
}

/* One block for each other process. */
static void exchanged(offbeat_call *call, const offbeat_arguments *given) {
    if (given->is_sent_in_place)
        set_got(call, given, given->got_count);
    else
        set_sent(call, given, given->sent_count);
}

static void gathered_by_all(offbeat_call *call, const offbeat_arguments *given) {
    if (given->is_sent_in_place)
        set_got(call, given, count_at(given->got_counts, &given->arrays, call->comm->rank));
    else
        set_sent(call, given, given->sent_count);
}

static void exchanged_by_counts(offbeat_call *call, const offbeat_arguments *given, int peers) {
    if (given->is_sent_in_place)
        set_got(call, given, sum_of(given->got_counts, &given->arrays, peers));
    else
        set_sent(call, given, sum_of(given->sent_counts, &given->arrays, peers));
}

static void exchanged_by_types(offbeat_call *call, const offbeat_arguments *given, int peers) {
    int64_t bytes = given->is_sent_in_place
                        ? bytes_of_types(given->got_counts, given->got_types, &given->arrays, peers)
                        : bytes_of_types(given->sent_counts, given->sent_types, &given->arrays, peers);
    call->record.bytes = (uint64_t)bytes;
}

static void reduced(offbeat_call *call, const offbeat_arguments *given, int64_t count) {
    set_sent(call, given, count);
    offbeat_seen_handle seen = offbeat_operation_of(call->lane, given->operation);
    call->record.operation = seen.id;
    if (seen.size_bytes)
        call->record.flags |= OFFBEAT_TRACE_COMMUTES;
}

static void reduced_to_root(offbeat_call *call, const offbeat_arguments *given) {
    set_root(call, given->root);
    if (call->record.root != BESIDE_ROOT)
        reduced(call, given, given->sent_count);
}

void offbeat_call_describe(offbeat_call *call, int shape, const offbeat_arguments *given) {
    if (given->is_sent_in_place || given->is_got_in_place)
        call->record.flags |= OFFBEAT_TRACE_IN_PLACE;
    switch (shape) {
    case OFFBEAT_IS_BCAST:
        set_root(call, given->root);
        if (call->record.root != BESIDE_ROOT)
            set_sent(call, given, given->sent_count);
        break;
    case OFFBEAT_IS_GATHER:
    case OFFBEAT_IS_GATHERV:
        gathered(call, given);
        break;
    case OFFBEAT_IS_SCATTER:
    case OFFBEAT_IS_SCATTERV:
        scattered(call, given);
        break;
    case OFFBEAT_IS_EXCHANGE:
        exchanged(call, given);
        break;
    case OFFBEAT_IS_ALLGATHERV:
        gathered_by_all(call, given);
        break;
    case OFFBEAT_IS_ALLTOALLV:
        exchanged_by_counts(call, given, peers_of(call->comm));
        break;
    case OFFBEAT_IS_NEIGHBOR_ALLTOALLV:
        exchanged_by_counts(call, given, call->comm->destinations);
        break;
    case OFFBEAT_IS_ALLTOALLW:
        exchanged_by_types(call, given, peers_of(call->comm));
        break;
    case OFFBEAT_IS_NEIGHBOR_ALLTOALLW:
        exchanged_by_types(call, given, call->comm->destinations);
        break;
    case OFFBEAT_IS_REDUCE:
        reduced_to_root(call, given);
        break;
    case OFFBEAT_IS_ALLREDUCE:
        reduced(call, given, given->sent_count);
        break;
    case OFFBEAT_IS_REDUCE_SCATTER:
        reduced(call, given, sum_of(given->sent_counts, &given->arrays, call->comm->size));
        break;
    default:
        break;
    }
}
