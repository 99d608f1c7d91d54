/* SPDX-License-Identifier: BSD-3-Clause */
/** @file layout.c  Where blocks lie in the buffers of a call, and how long each is. */
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
 * How many message sizes the block of rank @p i has. In alltoallv, what rank i sends to rank j must be as
 * long as what j sends to i: MPI_IN_PLACE demands it.
 */
static int share(const offbeat_call *call, int i) {
    const offbeat_collective *row = call->collective;
    int is_exchange = row->takes_own_block && row->receive == OFFBEAT_BLOCK_PER_RANK;
    if (call->variant.counts == OFFBEAT_COUNTS_UNEVEN)
        return (i + (is_exchange ? call->rank : 0) + 1) % 3;
    return 1;
}

int offbeat_layout_create(offbeat_call *call) {
    call->counts = malloc((size_t)call->p * sizeof *call->counts);
    call->displacements = malloc((size_t)call->p * sizeof *call->displacements);
    if (call->counts == NULL || call->displacements == NULL)
        return MPI_ERR_NO_MEM;
    int is_reversed = call->variant.counts == OFFBEAT_COUNTS_REVERSED;
    int end = is_reversed; /* a gap of one element before each block */
    for (int i = 0; i < call->p; i++) {
        int rank = is_reversed ? call->p - 1 - i : i;
        call->counts[rank] = share(call, rank) * call->count;
        call->displacements[rank] = end;
        end += call->counts[rank] + is_reversed;
    }
    return MPI_SUCCESS;
}

static offbeat_span span(const offbeat_call *call, offbeat_blocks length, size_t block) {
    if (!call->collective->is_irregular)
        return (offbeat_span){block * (size_t)call->count, (size_t)call->count};
    if (length == OFFBEAT_ONE_BLOCK)
        return (offbeat_span){0, (size_t)call->counts[call->rank]};
    return (offbeat_span){(size_t)call->displacements[block], (size_t)call->counts[block]};
}

offbeat_span offbeat_send_span(const offbeat_call *call, size_t block) {
    return span(call, call->collective->send, block);
}

offbeat_span offbeat_receive_span(const offbeat_call *call, size_t block) {
    return span(call, call->collective->receive, block);
}

offbeat_span offbeat_input_span(const offbeat_call *call, size_t block) {
    const offbeat_collective *row = call->collective;
    int own_of_many = row->send == OFFBEAT_ONE_BLOCK && row->receive == OFFBEAT_BLOCK_PER_RANK;
    return own_of_many ? offbeat_receive_span(call, (size_t)call->rank) : offbeat_send_span(call, block);
}

/** Where the last of so many blocks ends, in elements. */
static size_t end_of(const offbeat_call *call, size_t blocks,
                     offbeat_span (*span_of)(const offbeat_call *call, size_t block)) {
    size_t end = 0;
    for (size_t block = 0; block < blocks; block++) {
        offbeat_span found = span_of(call, block);
        end = found.first + found.elements > end ? found.first + found.elements : end;
    }
    return end;
}

size_t offbeat_send_elements(const offbeat_call *call) {
    return call->is_in_place ? 0 : end_of(call, call->send_blocks, offbeat_send_span);
}

size_t offbeat_receive_elements(const offbeat_call *call) {
    size_t output = end_of(call, call->receive_blocks, offbeat_receive_span);
    size_t input = call->is_in_place ? end_of(call, call->send_blocks, offbeat_input_span) : 0;
    return input > output ? input : output;
}
