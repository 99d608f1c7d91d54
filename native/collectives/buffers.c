/* SPDX-License-Identifier: BSD-3-Clause */
/** @file buffers.c  The buffers of a call: their layout in blocks, their contents, and the check of the
 * result. */
#include <stdlib.h>
#include <string.h>

#include "call.h"

offbeat_counts offbeat_counts_find(const char *name) {
    static const char *const names[OFFBEAT_COUNTS] = {
        [OFFBEAT_COUNTS_EVEN] = "even",
        [OFFBEAT_COUNTS_UNEVEN] = "uneven",
        [OFFBEAT_COUNTS_REVERSED] = "reversed",
        [OFFBEAT_COUNTS_NONE] = "none",
    };
    int i = 0;
    while (i < OFFBEAT_COUNTS && (name == NULL || strcmp(name, names[i]) != 0))
        i++;
    return (offbeat_counts)i;
}

/**
 * The length of the block of rank @p i in message sizes. In alltoallv, rank i must send as much to rank j as
 * j sends to i: MPI_IN_PLACE requires it.
 */
static int block_factor(const offbeat_call *call, int i) {
    const offbeat_collective *row = call->collective;
    int is_exchange = row->send == OFFBEAT_BLOCK_PER_RANK && row->receive == OFFBEAT_BLOCK_PER_RANK;
    if (call->variant.counts == OFFBEAT_COUNTS_UNEVEN)
        return (i + (is_exchange ? call->rank : 0) + 1) % 3;
    return 1;
}

/** Allocates and fills the counts and displacements of an irregular collective. */
static int create_layout(offbeat_call *call) {
    call->counts = calloc((size_t)call->p, sizeof *call->counts);
    call->displacements = calloc((size_t)call->p, sizeof *call->displacements);
    if (call->counts == NULL || call->displacements == NULL)
        return MPI_ERR_NO_MEM;
    int is_reversed = call->variant.counts == OFFBEAT_COUNTS_REVERSED;
    int end = is_reversed; /* a gap of one element before each block */
    for (int i = 0; i < call->p; i++) {
        int rank = is_reversed ? call->p - 1 - i : i;
        call->counts[rank] = block_factor(call, rank) * call->count;
        call->displacements[rank] = end;
        end += call->counts[rank] + is_reversed;
    }
    return MPI_SUCCESS;
}

static offbeat_span span(const offbeat_call *call, offbeat_blocks length, size_t block) {
    if (call->collective->counts == OFFBEAT_EVEN_COUNTS)
        return (offbeat_span){block * (size_t)call->count, (size_t)call->count};
    if (length == OFFBEAT_ONE_BLOCK)
        return (offbeat_span){0, (size_t)call->counts[call->rank]};
    return (offbeat_span){(size_t)call->displacements[block], (size_t)call->counts[block]};
}

static offbeat_span send_span(const offbeat_call *call, size_t block) {
    return span(call, call->collective->send, block);
}

static offbeat_span receive_span(const offbeat_call *call, size_t block) {
    return span(call, call->collective->receive, block);
}

/** In place, the position of the input in the receive buffer. */
static offbeat_span input_span(const offbeat_call *call, size_t block) {
    const offbeat_collective *row = call->collective;
    int is_own_block_of_many = row->send == OFFBEAT_ONE_BLOCK && row->receive == OFFBEAT_BLOCK_PER_RANK;
    return is_own_block_of_many ? receive_span(call, (size_t)call->rank) : send_span(call, block);
}

/** The length of a buffer of so many blocks, in elements. */
static size_t buffer_length(const offbeat_call *call, size_t blocks,
                            offbeat_span (*span_of)(const offbeat_call *call, size_t block)) {
    size_t end = 0;
    for (size_t block = 0; block < blocks; block++) {
        offbeat_span next = span_of(call, block);
        end = next.first + next.elements > end ? next.first + next.elements : end;
    }
    return end;
}

static size_t send_elements(const offbeat_call *call) {
    return call->is_in_place ? 0 : buffer_length(call, call->send_blocks, send_span);
}

static size_t receive_elements(const offbeat_call *call) {
    size_t output = buffer_length(call, call->receive_blocks, receive_span);
    size_t input = call->is_in_place ? buffer_length(call, call->send_blocks, input_span) : 0;
    return input > output ? input : output;
}

/** The index of the first value of a sender's block, whatever the length and position of the block. */
static size_t first_index(const offbeat_call *call, size_t block) {
    return block * (size_t)call->count;
}

/** The index of the first value that this process receives from each sender. */
static size_t first_received_index(const offbeat_call *call) {
    return call->collective->send == OFFBEAT_BLOCK_PER_RANK ? first_index(call, (size_t)call->rank) : 0;
}

/** Writes a block of this process's input to @p buffer. */
static void write_block(const offbeat_call *call, size_t block, offbeat_span span, void *buffer) {
    size_t extent = offbeat_datatype_extent(call->datatype);
    unsigned char *address = (unsigned char *)buffer + span.first * extent;
    offbeat_content content;
    if (offbeat_collective_is_reduction(call->collective))
        offbeat_content_of_reduction(&content, call->datatype, call->op, call->p, call->rank, call->rank + 1,
                                     first_index(call, block), span.elements);
    else
        offbeat_content_of_rank(&content, call->datatype, call->rank, first_index(call, block),
                                span.elements);
    offbeat_content_write(&content, address, span.elements);
    if (!call->is_in_place)
        offbeat_fill_gaps(call->datatype, OFFBEAT_GAP_SENT, address, span.elements);
}

/** Writes this process's input to its send buffer; in place, to its receive buffer. */
static void write_input(const offbeat_call *call) {
    for (size_t block = 0; block < call->send_blocks; block++)
        if (call->is_in_place)
            write_block(call, block, input_span(call, block), call->receive);
        else
            write_block(call, block, send_span(call, block), call->send);
}

/** This process's result is the reduction over ranks 0 to this number - 1. */
static int reduced_ranks(const offbeat_call *call) {
    switch (call->collective->result) {
    case OFFBEAT_REDUCE_ALL:
        return call->p;
    case OFFBEAT_REDUCE_UPTO:
        return call->rank + 1;
    case OFFBEAT_REDUCE_BEFORE:
        return call->rank;
    default:
        return 0;
    }
}

/** Computes the expected result of a reduction, once per call. */
static void compute_expected(offbeat_call *call) {
    int ranks = reduced_ranks(call);
    if (ranks > 0 && call->receive_blocks > 0)
        offbeat_content_of_reduction(&call->expected_content, call->datatype, call->op, call->p, 0, ranks,
                                     first_received_index(call), receive_span(call, 0).elements);
}

size_t offbeat_expected_blocks(const offbeat_call *call) {
    int is_undefined = offbeat_collective_is_reduction(call->collective) && reduced_ranks(call) == 0;
    return is_undefined || call->keeps_own_block ? 0 : call->receive_blocks;
}

/** The expected content of block @p block of the receive buffer. */
static void expected_block(const offbeat_call *call, size_t block, offbeat_content *content) {
    if (offbeat_collective_is_reduction(call->collective)) {
        offbeat_content_copy(&call->expected_content, content);
        return;
    }
    int sender = call->collective->result == OFFBEAT_FROM_ROOT ? call->root : (int)block;
    offbeat_content_of_rank(content, call->datatype, sender, first_received_index(call),
                            receive_span(call, block).elements);
}

int offbeat_receive_is_source(const offbeat_call *call) {
    const offbeat_collective *row = call->collective;
    return row->result == OFFBEAT_FROM_ROOT && row->send == OFFBEAT_NO_BLOCK && call->rank == call->root;
}

/** The alignment of buffers, so that no two share a cache line or a small page. */
enum { PAGE_BYTES = 4096 };

/**
 * Allocates a buffer and writes it once, so that no page fault occurs in a measurement. Memory is allocated
 * for 0 elements, too, as MPI refuses equal addresses.
 * @param[out] buffer NULL if this process has no block
 */
static int allocate(const offbeat_call *call, size_t blocks, size_t elements, void **buffer) {
    *buffer = NULL;
    if (blocks == 0)
        return MPI_SUCCESS;
    size_t bytes = (elements ? elements : 1) * offbeat_datatype_extent(call->datatype);
    *buffer = aligned_alloc(PAGE_BYTES, (bytes + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES);
    if (*buffer == NULL)
        return MPI_ERR_NO_MEM;
    memset(*buffer, 0, bytes);
    return MPI_SUCCESS;
}

int offbeat_buffers_create(offbeat_call *call) {
    int code = call->collective->counts == OFFBEAT_UNEVEN_COUNTS ? create_layout(call) : MPI_SUCCESS;
    if (code == MPI_SUCCESS && !call->is_in_place)
        code = allocate(call, call->send_blocks, send_elements(call), &call->send);
    if (code == MPI_SUCCESS && !call->keeps_own_block)
        code = allocate(call, call->receive_blocks, receive_elements(call), &call->receive);
    if (code != MPI_SUCCESS)
        return code;
    write_input(call);
    compute_expected(call);
    offbeat_call_wipe(call);
    return MPI_SUCCESS;
}

/** The address of block @p block of the receive buffer. */
static void *block_address(const offbeat_call *call, size_t block) {
    size_t first = receive_span(call, block).first;
    return (unsigned char *)call->receive + first * offbeat_datatype_extent(call->datatype);
}

void offbeat_call_wipe(offbeat_call *call) {
    for (size_t block = 0; block < offbeat_expected_blocks(call); block++) {
        offbeat_content content;
        expected_block(call, block, &content);
        if (!offbeat_receive_is_source(call))
            offbeat_content_invert(&content);
        offbeat_content_write(&content, block_address(call, block), receive_span(call, block).elements);
    }
    if (call->is_in_place)
        write_input(call);
}

size_t offbeat_call_check(const offbeat_call *call) {
    size_t wrong = 0;
    for (size_t block = 0; block < offbeat_expected_blocks(call); block++) {
        offbeat_content content;
        expected_block(call, block, &content);
        wrong += offbeat_content_count_wrong(&content, block_address(call, block),
                                             receive_span(call, block).elements);
    }
    return wrong;
}

void offbeat_buffers_free(offbeat_call *call) {
    free(call->send);
    free(call->receive);
    free(call->counts);
    free(call->displacements);
}
