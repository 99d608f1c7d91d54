/* SPDX-License-Identifier: BSD-3-Clause */
#include "call.h"

#include <stdlib.h>
#include <string.h>

/** Buffers begin at multiples of this, so that none shares a cache line or a small page with another. */
enum { PAGE_BYTES = 4096 };

/**
 * Allocates a buffer of so many blocks and touches all its pages, so that none is first touched while time is
 * taken.
 * @param[out] buffer NULL when there is no block
 */
static int allocate(const offbeat_call *call, size_t blocks, void **buffer) {
    size_t bytes = blocks * (size_t)call->count * offbeat_datatype_extent(call->datatype);
    *buffer = NULL;
    if (bytes == 0)
        return MPI_SUCCESS;
    *buffer = aligned_alloc(PAGE_BYTES, (bytes + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES);
    if (*buffer == NULL)
        return MPI_ERR_NO_MEM;
    memset(*buffer, 0, bytes);
    return MPI_SUCCESS;
}

static int create_counts(offbeat_call *call) {
    call->counts = malloc((size_t)call->p * sizeof *call->counts);
    call->displacements = malloc((size_t)call->p * sizeof *call->displacements);
    if (call->counts == NULL || call->displacements == NULL)
        return MPI_ERR_NO_MEM;
    for (int i = 0; i < call->p; i++) {
        call->counts[i] = call->count;
        call->displacements[i] = i * call->count;
    }
    return MPI_SUCCESS;
}

static int create_buffers(offbeat_call *call) {
    int code = allocate(call, call->send_blocks, &call->send);
    if (code == MPI_SUCCESS)
        code = allocate(call, call->receive_blocks, &call->receive);
    if (code == MPI_SUCCESS && call->collective->is_irregular)
        code = create_counts(call);
    if (code != MPI_SUCCESS)
        return code;
    offbeat_expected_send(call);
    offbeat_expected_prepare(call);
    offbeat_call_wipe(call);
    return MPI_SUCCESS;
}

int offbeat_call_create(const offbeat_request *request, offbeat_call **call, const char **why) {
    *call = NULL;
    offbeat_call *made = calloc(1, sizeof *made);
    if (made == NULL)
        return offbeat_refuse(MPI_ERR_NO_MEM, why, "no memory for a call");
    made->type = MPI_DATATYPE_NULL;
    made->operation = MPI_OP_NULL;
    int code = offbeat_request_resolve(request, made, why);
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
    if (code == MPI_SUCCESS)
        *call = made;
    else
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
    size_t bytes = (size_t)call->count * offbeat_datatype_extent(call->datatype);
    return (unsigned char *)call->receive + block * bytes;
}

void offbeat_call_wipe(offbeat_call *call) {
    for (size_t block = 0; block < offbeat_expected_blocks(call); block++) {
        offbeat_tile tile;
        offbeat_expected_block(call, block, &tile);
        if (!offbeat_expected_is_source(call))
            offbeat_tile_invert(&tile);
        offbeat_tile_lay(&tile, block_at(call, block), (size_t)call->count);
    }
}

size_t offbeat_call_check(const offbeat_call *call) {
    size_t wrong = 0;
    for (size_t block = 0; block < offbeat_expected_blocks(call); block++) {
        offbeat_tile tile;
        offbeat_expected_block(call, block, &tile);
        wrong += offbeat_tile_compare(&tile, block_at(call, block), (size_t)call->count);
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
