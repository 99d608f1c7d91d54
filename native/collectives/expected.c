/* SPDX-License-Identifier: BSD-3-Clause */
#include "call.h"

/** Where, in the senders' buffers, that begins which this process receives of each. */
static size_t own_index(const offbeat_call *call) {
    return call->collective->takes_own_block ? (size_t)call->rank * (size_t)call->count : 0;
}

void offbeat_expected_send(const offbeat_call *call) {
    offbeat_tile tile;
    size_t elements = call->send_blocks * (size_t)call->count;
    if (elements == 0)
        return;
    if (offbeat_collective_folds(call->collective))
        offbeat_tile_folded(&tile, call->datatype, call->op, call->p, call->rank, call->rank + 1, 0,
                            elements);
    else
        offbeat_tile_moved(&tile, call->datatype, call->rank, 0, elements);
    offbeat_tile_lay(&tile, call->send, elements);
}

/** The ranks 0 to this number - 1 are folded into this process's result. */
static int folded_ranks(const offbeat_call *call) {
    switch (call->collective->content) {
    case OFFBEAT_FOLD_ALL:
        return call->p;
    case OFFBEAT_FOLD_UPTO:
        return call->rank + 1;
    case OFFBEAT_FOLD_BEFORE:
        return call->rank;
    default:
        return 0;
    }
}

void offbeat_expected_prepare(offbeat_call *call) {
    int ranks = folded_ranks(call);
    if (ranks > 0 && call->receive_blocks > 0)
        offbeat_tile_folded(&call->result, call->datatype, call->op, call->p, 0, ranks, own_index(call),
                            (size_t)call->count);
}

size_t offbeat_expected_blocks(const offbeat_call *call) {
    int undefined = offbeat_collective_folds(call->collective) && folded_ranks(call) == 0;
    return undefined ? 0 : call->receive_blocks;
}

void offbeat_expected_block(const offbeat_call *call, size_t block, offbeat_tile *tile) {
    if (offbeat_collective_folds(call->collective)) {
        *tile = call->result;
        return;
    }
    int sender = call->collective->content == OFFBEAT_FROM_ROOT ? call->root : (int)block;
    offbeat_tile_moved(tile, call->datatype, sender, own_index(call), (size_t)call->count);
}

int offbeat_expected_is_source(const offbeat_call *call) {
    const offbeat_collective *row = call->collective;
    return row->content == OFFBEAT_FROM_ROOT && row->send == OFFBEAT_NO_BLOCK && call->rank == call->root;
}
