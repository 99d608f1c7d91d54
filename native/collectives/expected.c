/* SPDX-License-Identifier: BSD-3-Clause */
#include "call.h"

/** The number by which the values of a sender's block begin. Blocks may be of any length and lie anywhere. */
static size_t index_of(const offbeat_call *call, size_t block) {
    return block * (size_t)call->count;
}

/** The number by which the values begin that this process receives of each sender. */
static size_t own_index(const offbeat_call *call) {
    return call->collective->takes_own_block ? index_of(call, (size_t)call->rank) : 0;
}

/** Lays a block of this process's input to where it belongs in @p buffer. */
static void lay_input(const offbeat_call *call, size_t block, offbeat_span span, void *buffer) {
    size_t extent = offbeat_datatype_extent(call->datatype);
    unsigned char *there = (unsigned char *)buffer + span.first * extent;
    offbeat_tile tile;
    if (offbeat_collective_folds(call->collective))
        offbeat_tile_folded(&tile, call->datatype, call->op, call->p, call->rank, call->rank + 1,
                            index_of(call, block), span.elements);
    else
        offbeat_tile_moved(&tile, call->datatype, call->rank, index_of(call, block), span.elements);
    offbeat_tile_lay(&tile, there, span.elements);
    if (!call->is_in_place)
        offbeat_fill_gaps(call->datatype, OFFBEAT_GAP_SENT, there, span.elements);
}

void offbeat_expected_send(const offbeat_call *call) {
    for (size_t block = 0; block < call->send_blocks; block++)
        if (call->is_in_place)
            lay_input(call, block, offbeat_input_span(call, block), call->receive);
        else
            lay_input(call, block, offbeat_send_span(call, block), call->send);
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
                            offbeat_receive_span(call, 0).elements);
}

size_t offbeat_expected_blocks(const offbeat_call *call) {
    int undefined = offbeat_collective_folds(call->collective) && folded_ranks(call) == 0;
    return undefined || call->keeps_own_block ? 0 : call->receive_blocks;
}

void offbeat_expected_block(const offbeat_call *call, size_t block, offbeat_tile *tile) {
    if (offbeat_collective_folds(call->collective)) {
        offbeat_tile_copy(&call->result, tile);
        return;
    }
    int sender = call->collective->content == OFFBEAT_FROM_ROOT ? call->root : (int)block;
    offbeat_tile_moved(tile, call->datatype, sender, own_index(call),
                       offbeat_receive_span(call, block).elements);
}

int offbeat_expected_is_source(const offbeat_call *call) {
    const offbeat_collective *row = call->collective;
    return row->content == OFFBEAT_FROM_ROOT && row->send == OFFBEAT_NO_BLOCK && call->rank == call->root;
}
