/* SPDX-License-Identifier: BSD-3-Clause */
#include "call.h"

#include <stdlib.h>
#include <string.h>

/** Buffers begin at multiples of this, so that none shares a cache line or a small page with another. */
enum { PAGE_BYTES = 4096 };

/**
 * Allocates a buffer of so many elements and touches all its pages, so that none is first touched while time
 * is taken. A buffer of no element has a place, too: MPI refuses equal addresses.
 * @param[out] buffer NULL where this process has none: when there is no block
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

static int create_buffers(offbeat_call *call) {
    int code = call->collective->is_irregular ? offbeat_layout_create(call) : MPI_SUCCESS;
    if (code == MPI_SUCCESS && !call->is_in_place)
        code = allocate(call, call->send_blocks, offbeat_send_elements(call), &call->send);
    if (code == MPI_SUCCESS && !call->keeps_own_block)
        code = allocate(call, call->receive_blocks, offbeat_receive_elements(call), &call->receive);
    if (code != MPI_SUCCESS)
        return code;
    offbeat_expected_send(call);
    offbeat_expected_prepare(call);
    offbeat_call_wipe(call);
    return MPI_SUCCESS;
}

/** Elements that this process sends, or receives, as one count: of a block, or of the whole of bcast. */
static int own_count(const offbeat_call *call) {
    return call->collective->is_irregular ? call->counts[call->rank] : call->count;
}

/** What MPI is given: arguments that it ignores on this process are kept from it where the variant wants
 * that. */
static void set_arguments(offbeat_call *call) {
    offbeat_arguments *with = &call->with;
    int hides = call->variant.null_ignored;
    int has_no_send = call->send_blocks == 0, has_no_receive = call->receive_blocks == 0;
    *with = (offbeat_arguments){call->send, call->receive, own_count(call), call->count,
                                call->type, call->type,    call->counts,    call->displacements};
    if (call->is_in_place)
        with->send = MPI_IN_PLACE;
    if (call->keeps_own_block)
        with->receive = MPI_IN_PLACE;
    if (hides && (has_no_send || call->is_in_place)) {
        with->send_count = 0;
        with->send_type = MPI_DATATYPE_NULL;
        with->send_counts = with->send_displacements = NULL;
    }
    if (hides && (has_no_receive || call->keeps_own_block)) {
        with->receive_count = 0;
        with->receive_type = MPI_DATATYPE_NULL;
    }
}

int offbeat_call_create(const offbeat_request *request, offbeat_call **call, const char **why) {
    const offbeat_variant usual = {0};
    return offbeat_call_create_variant(request, &usual, call, why);
}

int offbeat_call_create_variant(const offbeat_request *request, const offbeat_variant *variant,
                                offbeat_call **call, const char **why) {
    *call = NULL;
    offbeat_call *made = calloc(1, sizeof *made);
    if (made == NULL)
        return offbeat_refuse(MPI_ERR_NO_MEM, why, "no memory for a call");
    made->type = MPI_DATATYPE_NULL;
    made->operation = MPI_OP_NULL;
    int code = offbeat_request_resolve(request, variant, made, why);
    if (code == MPI_SUCCESS) {
        code = offbeat_handles_create(made);
        if (code != MPI_SUCCESS)
            offbeat_refuse(code, why, "%s: MPI could not create the datatype or operation",
                           request->collective);
    }
    if (code == MPI_SUCCESS) {
        code = create_buffers(made);
        if (code != MPI_SUCCESS)
            offbeat_refuse(code, why, "%s: the system has no memory for buffers of %zu bytes per process",
                           request->collective, request->bytes);
    }
    if (code == MPI_SUCCESS) {
        set_arguments(made);
        *call = made;
    } else
        offbeat_call_free(&made);
    return code;
}

int offbeat_call_set_comm(offbeat_call *call, MPI_Comm comm) {
    int p = 0;
    int rank = -1;
    if (MPI_Comm_size(comm, &p) != MPI_SUCCESS || MPI_Comm_rank(comm, &rank) != MPI_SUCCESS || p != call->p ||
        rank != call->rank)
        return MPI_ERR_COMM;
    call->comm = comm;
    return MPI_SUCCESS;
}

int offbeat_call_run(offbeat_call *call) {
    return call->run(call);
}

/** Where block @p block of the receive buffer begins. */
static void *block_at(const offbeat_call *call, size_t block) {
    size_t first = offbeat_receive_span(call, block).first;
    return (unsigned char *)call->receive + first * offbeat_datatype_extent(call->datatype);
}

void offbeat_call_wipe(offbeat_call *call) {
    for (size_t block = 0; block < offbeat_expected_blocks(call); block++) {
        offbeat_tile tile;
        offbeat_expected_block(call, block, &tile);
        if (!offbeat_expected_is_source(call))
            offbeat_tile_invert(&tile);
        offbeat_tile_lay(&tile, block_at(call, block), offbeat_receive_span(call, block).elements);
    }
    if (call->is_in_place)
        offbeat_expected_send(call);
}

size_t offbeat_call_check(const offbeat_call *call) {
    size_t wrong = 0;
    for (size_t block = 0; block < offbeat_expected_blocks(call); block++) {
        offbeat_tile tile;
        offbeat_expected_block(call, block, &tile);
        wrong +=
            offbeat_tile_compare(&tile, block_at(call, block), offbeat_receive_span(call, block).elements);
    }
    return wrong;
}

void offbeat_call_free(offbeat_call **call) {
    if (*call == NULL)
        return;
    offbeat_handles_free(*call);
    free((*call)->send);
    free((*call)->receive);
    free((*call)->counts);
    free((*call)->displacements);
    free(*call);
    *call = NULL;
}
