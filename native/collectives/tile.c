/* SPDX-License-Identifier: BSD-3-Clause */
#include "tile.h"

#include <string.h>

static void begin(offbeat_tile *tile, offbeat_datatype datatype, size_t count) {
    tile->datatype = datatype;
    tile->elements = count < OFFBEAT_PERIOD ? count : OFFBEAT_PERIOD;
}

void offbeat_tile_moved(offbeat_tile *tile, offbeat_datatype datatype, int rank, size_t first, size_t count) {
    size_t extent = offbeat_datatype_extent(datatype);
    begin(tile, datatype, count);
    for (size_t i = 0; i < tile->elements; i++)
        offbeat_store(datatype, offbeat_label(datatype, rank, first + i), tile->bytes + i * extent);
}

void offbeat_tile_folded(offbeat_tile *tile, offbeat_datatype datatype, offbeat_op op, int p, int low,
                         int high, size_t first, size_t count) {
    size_t extent = offbeat_datatype_extent(datatype);
    begin(tile, datatype, count);
    for (size_t i = 0; i < tile->elements; i++) {
        offbeat_value result = offbeat_term(datatype, op, p, low, first + i);
        for (int rank = low + 1; rank < high; rank++)
            result = offbeat_fold(op, result, offbeat_term(datatype, op, p, rank, first + i));
        offbeat_store(datatype, result, tile->bytes + i * extent);
    }
}

void offbeat_tile_copy(const offbeat_tile *from, offbeat_tile *to) {
    begin(to, from->datatype, from->elements);
    memcpy(to->bytes, from->bytes, from->elements * offbeat_datatype_extent(from->datatype));
}

void offbeat_tile_invert(offbeat_tile *tile) {
    size_t bytes = tile->elements * offbeat_datatype_extent(tile->datatype);
    for (size_t i = 0; i < bytes; i++)
        tile->bytes[i] = (unsigned char)~tile->bytes[i];
    offbeat_fill_gaps(tile->datatype, OFFBEAT_GAP_RECEIVED, tile->bytes, tile->elements);
}

/** Elements of the tile that fit into what is left of a buffer. */
static size_t piece(const offbeat_tile *tile, size_t left) {
    return left < tile->elements ? left : tile->elements;
}

void offbeat_tile_lay(const offbeat_tile *tile, void *buffer, size_t count) {
    size_t extent = offbeat_datatype_extent(tile->datatype);
    for (size_t done = 0; done < count; done += tile->elements)
        memcpy((unsigned char *)buffer + done * extent, tile->bytes, piece(tile, count - done) * extent);
}

size_t offbeat_tile_compare(const offbeat_tile *tile, const void *buffer, size_t count) {
    size_t extent = offbeat_datatype_extent(tile->datatype);
    size_t wrong = 0;
    for (size_t done = 0; done < count; done += tile->elements) {
        const unsigned char *seen = (const unsigned char *)buffer + done * extent;
        size_t elements = piece(tile, count - done);
        if (memcmp(seen, tile->bytes, elements * extent) == 0)
            continue;
        for (size_t i = 0; i < elements; i++)
            wrong += memcmp(seen + i * extent, tile->bytes + i * extent, extent) != 0;
    }
    return wrong;
}
