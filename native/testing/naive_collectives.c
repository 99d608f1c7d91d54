/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file naive_collectives.c
 * A library to preload: collectives made of point-to-point messages in the simplest way, which are right for
 * every legal call, or wrong in the way that the variable NAIVE_FAULT names.
 *
 *   raw-bcast       the root's data are received as bytes without gaps, whatever the datatype
 *   reversed        reductions evaluate the ranks in descending order
 *   next-block       scatter takes the block of the next rank, if the root is not 0
 *   gaps            received blocks include one byte behind their end
 *   crash           null for the arguments that MPI ignores is dereferenced
 *   in-place        allgather ignores what is in the receive buffer in place
 *   first-type      alltoallw sends every block with the datatype of the first
 */
#include <mpi.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

enum { TAG = 31999 };

static int has_fault(const char *name) {
    const char *fault = getenv("NAIVE_FAULT");
    return fault && strcmp(fault, name) == 0;
}

static int size_of(MPI_Comm comm) {
    int size;
    PMPI_Comm_size(comm, &size);
    return size;
}

static int rank_in(MPI_Comm comm) {
    int rank;
    PMPI_Comm_rank(comm, &rank);
    return rank;
}

static MPI_Aint extent_of(MPI_Datatype type) {
    MPI_Aint lower_bound, extent;
    PMPI_Type_get_extent(type, &lower_bound, &extent);
    return extent;
}

static const void *element_at(const void *buffer, MPI_Aint elements, MPI_Datatype type) {
    return (const char *)buffer + elements * extent_of(type);
}

/* --- messages --- */

/** Messages on their way; packed, so that a buffer may be received into while it is sent. */
typedef struct outbox {
    MPI_Request *requests;
    void **packed_data;
    int count;
} outbox;

static outbox open_outbox(MPI_Comm comm) {
    size_t size = (size_t)size_of(comm);
    return (outbox){calloc(size, sizeof(MPI_Request)), calloc(size, sizeof(void *)), 0};
}

static void post(outbox *messages, const void *buffer, int count, MPI_Datatype type, int destination,
                 MPI_Comm comm) {
    int bytes, position = 0;
    PMPI_Pack_size(count, type, comm, &bytes);
    void *packed_data = messages->packed_data[messages->count] = malloc((size_t)bytes + 1);
    PMPI_Pack(buffer, count, type, packed_data, bytes, &position, comm);
    PMPI_Isend(packed_data, position, MPI_PACKED, destination, TAG, comm,
               &messages->requests[messages->count++]);
}

static void receive(void *buffer, int count, MPI_Datatype type, int source, MPI_Comm comm) {
    PMPI_Recv(buffer, count, type, source, TAG, comm, MPI_STATUS_IGNORE);
    if (has_fault("gaps") && count > 0 && buffer != MPI_BOTTOM)
        ((char *)buffer)[count * extent_of(type)] = 0;
}

static void close_outbox(outbox *messages) {
    PMPI_Waitall(messages->count, messages->requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < messages->count; i++)
        free(messages->packed_data[i]);
    free(messages->requests);
    free(messages->packed_data);
}

/* --- reductions --- */

/** A buffer for elements of a datatype. */
typedef struct scratch {
    char *memory, *address;
} scratch;

static scratch create_scratch(int count, MPI_Datatype type) {
    MPI_Aint true_lower_bound, true_extent;
    PMPI_Type_get_true_extent(type, &true_lower_bound, &true_extent);
    size_t bytes = (size_t)(true_extent + (count > 0 ? count - 1 : 0) * extent_of(type));
    char *memory = malloc(bytes + 1);
    return (scratch){memory, memory - true_lower_bound};
}

static void copy(const void *source, void *target, int count, MPI_Datatype type) {
    PMPI_Sendrecv(source, count, type, 0, TAG, target, count, type, 0, TAG, MPI_COMM_SELF, MPI_STATUS_IGNORE);
}

/* The reduction over the ranks 0 to end - 1 on every process. @return it in a buffer that the caller frees */
static scratch reduction(const void *input, int count, MPI_Datatype type, MPI_Op op, int end, MPI_Comm comm) {
    int size = size_of(comm), is_reversed = has_fault("reversed"), terms = 0;
    scratch total = create_scratch(count, type);
    outbox messages = open_outbox(comm);
    for (int i = 0; i < size; i++)
        post(&messages, input, count, type, i, comm);
    for (int i = size - 1; i >= 0; i--) {
        int rank = is_reversed ? size - 1 - i : i;
        scratch term = create_scratch(count, type);
        PMPI_Recv(term.address, count, type, rank, TAG, comm, MPI_STATUS_IGNORE);
        if (rank < end && terms++ == 0)
            copy(term.address, total.address, count, type);
        else if (rank < end)
            PMPI_Reduce_local(term.address, total.address, count, type, op);
        free(term.memory);
    }
    close_outbox(&messages);
    return total;
}

static int reduce(const void *send, void *receive_buffer, int count, MPI_Datatype type, MPI_Op op, int end,
                  int is_receiver, MPI_Comm comm) {
    scratch total = reduction(send == MPI_IN_PLACE ? receive_buffer : send, count, type, op, end, comm);
    if (is_receiver && end > 0)
        copy(total.address, receive_buffer, count, type);
    free(total.memory);
    return MPI_SUCCESS;
}

int MPI_Allreduce(const void *send, void *receive_buffer, int count, MPI_Datatype type, MPI_Op op,
                  MPI_Comm comm) {
    return reduce(send, receive_buffer, count, type, op, size_of(comm), 1, comm);
}

int MPI_Reduce(const void *send, void *receive_buffer, int count, MPI_Datatype type, MPI_Op op, int root,
               MPI_Comm comm) {
    int is_root = rank_in(comm) == root;
    return reduce(send, receive_buffer, count, type, op, size_of(comm), is_root && receive_buffer, comm);
}

int MPI_Scan(const void *send, void *receive_buffer, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
    return reduce(send, receive_buffer, count, type, op, rank_in(comm) + 1, 1, comm);
}

int MPI_Exscan(const void *send, void *receive_buffer, int count, MPI_Datatype type, MPI_Op op,
               MPI_Comm comm) {
    return reduce(send, receive_buffer, count, type, op, rank_in(comm), 1, comm);
}

int MPI_Reduce_scatter(const void *send, void *receive_buffer, const int counts[], MPI_Datatype type,
                       MPI_Op op, MPI_Comm comm) {
    int total_count = 0, first = 0, size = size_of(comm), rank = rank_in(comm);
    for (int i = 0; i < size; i++) {
        first += i < rank ? counts[i] : 0;
        total_count += counts[i];
    }
    const void *input = send == MPI_IN_PLACE ? receive_buffer : send;
    scratch total = reduction(input, total_count, type, op, size, comm);
    if (send == MPI_IN_PLACE) /* what follows the result in the buffer is undefined */
        copy(total.address, receive_buffer, total_count, type);
    copy(element_at(total.address, first, type), receive_buffer, counts[rank], type);
    free(total.memory);
    return MPI_SUCCESS;
}

int MPI_Reduce_scatter_block(const void *send, void *receive_buffer, int count, MPI_Datatype type, MPI_Op op,
                             MPI_Comm comm) {
    int size = size_of(comm), *counts = calloc((size_t)size, sizeof *counts);
    for (int i = 0; i < size; i++)
        counts[i] = count;
    MPI_Reduce_scatter(send, receive_buffer, counts, type, op, comm);
    free(counts);
    return MPI_SUCCESS;
}

/* --- collectives that move data --- */

int MPI_Bcast(void *buffer, int count, MPI_Datatype type, int root, MPI_Comm comm) {
    outbox messages = open_outbox(comm);
    int bytes;
    for (int i = 0; rank_in(comm) == root && i < size_of(comm); i++)
        if (i != root)
            post(&messages, buffer, count, type, i, comm);
    PMPI_Type_size(type, &bytes);
    if (rank_in(comm) != root && has_fault("raw-bcast"))
        PMPI_Recv(buffer, count * bytes, buffer == MPI_BOTTOM ? type : MPI_BYTE, root, TAG, comm,
                  MPI_STATUS_IGNORE);
    else if (rank_in(comm) != root)
        receive(buffer, count, type, root, comm);
    close_outbox(&messages);
    return MPI_SUCCESS;
}

int MPI_Gather(const void *send, int send_count, MPI_Datatype send_type, void *receive_buffer, int count,
               MPI_Datatype type, int root, MPI_Comm comm) {
    outbox messages = open_outbox(comm);
    if (has_fault("crash") && type == MPI_DATATYPE_NULL)
        raise(SIGSEGV);
    if (send != MPI_IN_PLACE)
        post(&messages, send, send_count, send_type, root, comm);
    for (int i = 0; rank_in(comm) == root && i < size_of(comm); i++)
        if (i != root || send != MPI_IN_PLACE)
            receive((void *)element_at(receive_buffer, (MPI_Aint)i * count, type), count, type, i, comm);
    close_outbox(&messages);
    return MPI_SUCCESS;
}

int MPI_Scatter(const void *send, int send_count, MPI_Datatype send_type, void *receive_buffer, int count,
                MPI_Datatype type, int root, MPI_Comm comm) {
    outbox messages = open_outbox(comm);
    int shift = has_fault("next-block") && root != 0;
    for (int i = 0; rank_in(comm) == root && i < size_of(comm); i++)
        if (i != root || receive_buffer != MPI_IN_PLACE)
            post(&messages, element_at(send, (MPI_Aint)((i + shift) % size_of(comm)) * send_count, send_type),
                 send_count, send_type, i, comm);
    if (receive_buffer != MPI_IN_PLACE)
        receive(receive_buffer, count, type, root, comm);
    close_outbox(&messages);
    return MPI_SUCCESS;
}

int MPI_Gatherv(const void *send, int send_count, MPI_Datatype send_type, void *receive_buffer,
                const int counts[], const int displacements[], MPI_Datatype type, int root, MPI_Comm comm) {
    outbox messages = open_outbox(comm);
    if (send != MPI_IN_PLACE)
        post(&messages, send, send_count, send_type, root, comm);
    for (int i = 0; rank_in(comm) == root && i < size_of(comm); i++)
        if (i != root || send != MPI_IN_PLACE)
            receive((void *)element_at(receive_buffer, displacements[i], type), counts[i], type, i, comm);
    close_outbox(&messages);
    return MPI_SUCCESS;
}

int MPI_Scatterv(const void *send, const int counts[], const int displacements[], MPI_Datatype send_type,
                 void *receive_buffer, int count, MPI_Datatype type, int root, MPI_Comm comm) {
    outbox messages = open_outbox(comm);
    for (int i = 0; rank_in(comm) == root && i < size_of(comm); i++)
        if (i != root || receive_buffer != MPI_IN_PLACE)
            post(&messages, element_at(send, displacements[i], send_type), counts[i], send_type, i, comm);
    if (receive_buffer != MPI_IN_PLACE)
        receive(receive_buffer, count, type, root, comm);
    close_outbox(&messages);
    return MPI_SUCCESS;
}

int MPI_Alltoallw(const void *send, const int send_counts[], const int send_displacements[],
                  const MPI_Datatype send_types[], void *receive_buffer, const int counts[],
                  const int displacements[], const MPI_Datatype types[], MPI_Comm comm) {
    outbox messages = open_outbox(comm);
    int is_in_place = send == MPI_IN_PLACE, first = has_fault("first-type");
    for (int i = 0; i < size_of(comm); i++)
        if (is_in_place)
            post(&messages, (char *)receive_buffer + displacements[i], counts[i], types[first ? 0 : i], i,
                 comm);
        else
            post(&messages, (const char *)send + send_displacements[i], send_counts[i],
                 send_types[first ? 0 : i], i, comm);
    for (int i = 0; i < size_of(comm); i++)
        receive((char *)receive_buffer + displacements[i], counts[i], types[i], i, comm);
    close_outbox(&messages);
    return MPI_SUCCESS;
}

/** One block for each rank, with a count and a displacement each. */
typedef struct blocks {
    const int *counts, *displacements;
    MPI_Datatype type;
} blocks;

/* Sends a block to each rank from the buffer, or, if it is the same for all, the whole buffer. */
static int exchange(const void *send, blocks sent_blocks, void *receive_buffer, blocks received_blocks,
                    MPI_Comm comm) {
    outbox messages = open_outbox(comm);
    int size = size_of(comm);
    for (int i = 0; i < size; i++)
        post(&messages, element_at(send, sent_blocks.displacements[i], sent_blocks.type),
             sent_blocks.counts[i], sent_blocks.type, i, comm);
    for (int i = 0; i < size; i++)
        receive((void *)element_at(receive_buffer, received_blocks.displacements[i], received_blocks.type),
                received_blocks.counts[i], received_blocks.type, i, comm);
    close_outbox(&messages);
    return MPI_SUCCESS;
}

int MPI_Alltoallv(const void *send, const int send_counts[], const int send_displacements[],
                  MPI_Datatype send_type, void *receive_buffer, const int counts[], const int displacements[],
                  MPI_Datatype type, MPI_Comm comm) {
    blocks received_blocks = {counts, displacements, type},
           sent_blocks = {send_counts, send_displacements, send_type};
    return send == MPI_IN_PLACE
               ? exchange(receive_buffer, received_blocks, receive_buffer, received_blocks, comm)
               : exchange(send, sent_blocks, receive_buffer, received_blocks, comm);
}

/* A number for each rank: i * step. */
static int *multiples(int step, int start, int size) {
    int *numbers = calloc((size_t)size, sizeof *numbers);
    for (int i = 0; i < size; i++)
        numbers[i] = start + i * step;
    return numbers;
}

int MPI_Alltoall(const void *send, int send_count, MPI_Datatype send_type, void *receive_buffer, int count,
                 MPI_Datatype type, MPI_Comm comm) {
    int size = size_of(comm);
    int *lists[] = {multiples(0, send_count, size), multiples(send_count, 0, size), multiples(0, count, size),
                    multiples(count, 0, size)};
    MPI_Alltoallv(send, lists[0], lists[1], send_type, receive_buffer, lists[2], lists[3], type, comm);
    for (int i = 0; i < 4; i++)
        free(lists[i]);
    return MPI_SUCCESS;
}

int MPI_Allgatherv(const void *send, int send_count, MPI_Datatype send_type, void *receive_buffer,
                   const int counts[], const int displacements[], MPI_Datatype type, MPI_Comm comm) {
    int size = size_of(comm), rank = rank_in(comm);
    if (send == MPI_IN_PLACE) {
        send = has_fault("in-place") ? receive_buffer : element_at(receive_buffer, displacements[rank], type);
        send_count = counts[rank];
        send_type = type;
    }
    int *all_counts = multiples(0, send_count, size), *starts = multiples(0, 0, size);
    exchange(send, (blocks){all_counts, starts, send_type}, receive_buffer,
             (blocks){counts, displacements, type}, comm);
    free(all_counts);
    free(starts);
    return MPI_SUCCESS;
}

int MPI_Allgather(const void *send, int send_count, MPI_Datatype send_type, void *receive_buffer, int count,
                  MPI_Datatype type, MPI_Comm comm) {
    int *counts = multiples(0, count, size_of(comm)), *starts = multiples(count, 0, size_of(comm));
    MPI_Allgatherv(send, send_count, send_type, receive_buffer, counts, starts, type, comm);
    free(counts);
    free(starts);
    return MPI_SUCCESS;
}

int MPI_Barrier(MPI_Comm comm) {
    outbox messages = open_outbox(comm);
    char byte = 0;
    for (int i = 0; i < size_of(comm); i++)
        post(&messages, &byte, 1, MPI_CHAR, i, comm);
    for (int i = 0; i < size_of(comm); i++)
        PMPI_Recv(&byte, 1, MPI_CHAR, i, TAG, comm, MPI_STATUS_IGNORE);
    close_outbox(&messages);
    return MPI_SUCCESS;
}
