/* SPDX-License-Identifier: BSD-3-Clause */
#define _POSIX_C_SOURCE 200112L
#include "drawn_buffer.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* Guard bytes on each side of a buffer; also the alignment of its memory. */
enum { MARGIN_BYTES = 4096 };

/* Datatypes of size 0 have elements all the same. */
enum { EMPTY_ELEMENTS = 2 };

static const char *const no_memory = "no memory for the buffers of a drawn call";

int offbeat_drawn_count(const offbeat_typed_text *type, size_t elements) {
    return type->count ? (int)(elements / type->count) : EMPTY_ELEMENTS;
}

const char *offbeat_drawn_blocks_create(const offbeat_typed_text *type, const size_t *elements, int blocks,
                                        offbeat_drawn_buffer *buffer) {
    size_t next = 0;
    *buffer = (offbeat_drawn_buffer){.type = type, .block_count = blocks};
    buffer->blocks = calloc((size_t)blocks + 1, sizeof *buffer->blocks);
    if (!buffer->blocks)
        return no_memory;
    for (int i = 0; i < blocks; i++) {
        if (type->count ? elements[i] % type->count : elements[i])
            return "a block is not a whole number of elements of its datatype";
        if (elements[i] > INT_MAX || next > INT_MAX - elements[i] - EMPTY_ELEMENTS)
            return "a buffer has too many elements";
        buffer->blocks[i] =
            (offbeat_drawn_block){(int)next, offbeat_drawn_count(type, elements[i]), elements[i]};
        next += (size_t)buffer->blocks[i].count;
    }
    return NULL;
}

void offbeat_drawn_blocks_spread(offbeat_drawn_buffer *buffer, int gap, int is_descending) {
    int next = 0;
    for (int i = 0; i < buffer->block_count; i++) {
        offbeat_drawn_block *block = &buffer->blocks[is_descending ? buffer->block_count - 1 - i : i];
        block->displacement = next += gap;
        next += block->count;
    }
}

/** A range of bytes. */
typedef struct range {
    MPI_Aint low, high;
} range;

/* The bytes of an element of the datatype, with its bounds and its address. */
static range range_of_type(const offbeat_typed_text *type) {
    MPI_Aint upper_bound = type->lower_bound + type->extent;
    range bytes = {type->lower_bound < 0 ? type->lower_bound : 0, upper_bound > 0 ? upper_bound : 0};
    for (size_t i = 0; i < type->count; i++) {
        MPI_Aint begin = type->entries[i].displacement;
        MPI_Aint end = begin + (MPI_Aint)type->entries[i].basic->extent;
        bytes.low = begin < bytes.low ? begin : bytes.low;
        bytes.high = end > bytes.high ? end : bytes.high;
    }
    return bytes;
}

static range range_of_blocks(const offbeat_drawn_buffer *buffer) {
    range element = range_of_type(buffer->type), bytes = {0, 0};
    for (int i = 0; i < buffer->block_count; i++) {
        const offbeat_drawn_block *block = &buffer->blocks[i];
        MPI_Aint first = block->displacement * buffer->type->extent;
        MPI_Aint last = first + (block->count ? block->count - 1 : 0) * buffer->type->extent;
        bytes.low = first + element.low < bytes.low ? first + element.low : bytes.low;
        bytes.high = last + element.high > bytes.high ? last + element.high : bytes.high;
    }
    return bytes;
}

const char *offbeat_drawn_buffer_create(offbeat_drawn_buffer *buffer, unsigned char guard) {
    range bytes = range_of_blocks(buffer);
    size_t below = (size_t)-bytes.low;
    void *memory, *expected;
    buffer->base = MARGIN_BYTES + (below + MARGIN_BYTES - 1) / MARGIN_BYTES * MARGIN_BYTES;
    buffer->bytes = buffer->base + (size_t)bytes.high + MARGIN_BYTES;
    if (posix_memalign(&memory, MARGIN_BYTES, buffer->bytes) != 0)
        return no_memory;
    buffer->memory = memory;
    if (posix_memalign(&expected, MARGIN_BYTES, buffer->bytes) != 0)
        return no_memory;
    buffer->expected = expected;
    memset(memory, guard, buffer->bytes);
    memset(expected, guard, buffer->bytes);
    return NULL;
}

void offbeat_drawn_buffer_free(offbeat_drawn_buffer *buffer) {
    free(buffer->blocks);
    free(buffer->memory);
    free(buffer->expected);
    *buffer = (offbeat_drawn_buffer){0};
}

void *offbeat_drawn_buffer_address(const offbeat_drawn_buffer *buffer) {
    return buffer->memory + buffer->base;
}

static const offbeat_type_entry *entry_of(const offbeat_drawn_buffer *buffer, size_t index) {
    return &buffer->type->entries[index % buffer->type->count];
}

const offbeat_basic_type *offbeat_drawn_element_type(const offbeat_drawn_buffer *buffer, size_t index) {
    return entry_of(buffer, index)->basic;
}

unsigned char *offbeat_drawn_element(const offbeat_drawn_buffer *buffer, unsigned char *image, int block,
                                     size_t index) {
    const offbeat_typed_text *type = buffer->type;
    MPI_Aint element = buffer->blocks[block].displacement + (MPI_Aint)(index / type->count);
    return image + buffer->base + element * type->extent + entry_of(buffer, index)->displacement;
}

void offbeat_drawn_element_accept(offbeat_drawn_buffer *buffer, int block, size_t index, int with_padding) {
    const offbeat_basic_type *basic = offbeat_drawn_element_type(buffer, index);
    unsigned char *actual = offbeat_drawn_element(buffer, buffer->memory, block, index);
    unsigned char *expected = offbeat_drawn_element(buffer, buffer->expected, block, index);
    if (with_padding)
        memcpy(expected, actual, basic->extent);
    for (int i = 0; i < basic->parts; i++)
        memcpy(expected + basic->part[i].offset, actual + basic->part[i].offset, basic->part[i].bytes);
}

static int is_equal(const offbeat_basic_type *basic, const unsigned char *a, const unsigned char *b,
                    int is_logical) {
    for (int i = 0; i < basic->parts; i++) {
        const offbeat_part *part = &basic->part[i];
        if (is_logical ? !offbeat_part_load(part, a) != !offbeat_part_load(part, b)
                       : !offbeat_part_equals(part, a, b))
            return 0;
    }
    return 1;
}

static size_t count_differing_bytes(const offbeat_drawn_buffer *buffer) {
    size_t count = 0;
    for (size_t i = 0; i < buffer->bytes; i++)
        count += buffer->memory[i] != buffer->expected[i];
    return count;
}

offbeat_difference offbeat_drawn_buffer_compare(offbeat_drawn_buffer *buffer, int is_logical,
                                                int is_reduced) {
    offbeat_difference difference = {0, 0};
    if (!buffer->bytes || memcmp(buffer->memory, buffer->expected, buffer->bytes) == 0)
        return difference;
    for (int block = 0; block < buffer->block_count; block++)
        for (size_t i = 0; i < buffer->blocks[block].elements; i++) {
            const unsigned char *actual = offbeat_drawn_element(buffer, buffer->memory, block, i);
            const unsigned char *expected = offbeat_drawn_element(buffer, buffer->expected, block, i);
            difference.elements +=
                !is_equal(offbeat_drawn_element_type(buffer, i), actual, expected, is_logical);
            offbeat_drawn_element_accept(buffer, block, i, is_reduced);
        }
    difference.guards = count_differing_bytes(buffer);
    return difference;
}
