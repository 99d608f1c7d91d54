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

/* Blocks with displacements in bytes begin at multiples of this number: the largest alignment of a basic
 * type. */
enum { BLOCK_ALIGNMENT = 16 };

static const char *const no_memory = "no memory for the buffers of a drawn call";

int offbeat_drawn_count(const offbeat_typed_text *type, size_t elements) {
    return type->count ? (int)(elements / type->count) : EMPTY_ELEMENTS;
}

const char *offbeat_drawn_blocks_create(const offbeat_typed_text *types, int has_types,
                                        const size_t *elements, int blocks, offbeat_drawn_buffer *buffer) {
    size_t next = 0;
    *buffer = (offbeat_drawn_buffer){
        .block_count = blocks, .is_in_bytes = has_types, .is_absolute = types->is_absolute};
    buffer->blocks = calloc((size_t)blocks + 1, sizeof *buffer->blocks);
    if (!buffer->blocks)
        return no_memory;
    for (int i = 0; i < blocks; i++) {
        const offbeat_typed_text *type = &types[has_types ? i : 0];
        if (type->is_absolute != buffer->is_absolute)
            return "absolute and other datatypes are mixed in a buffer";
        if (type->count ? elements[i] % type->count : elements[i])
            return "a block is not a whole number of elements of its datatype";
        if (elements[i] > INT_MAX || next > INT_MAX - elements[i] - EMPTY_ELEMENTS)
            return "a buffer has too many elements";
        buffer->blocks[i] =
            (offbeat_drawn_block){type, (int)next, offbeat_drawn_count(type, elements[i]), elements[i]};
        next += (size_t)buffer->blocks[i].count;
    }
    return NULL;
}

/** A range of bytes. */
typedef struct range {
    MPI_Aint low, high;
} range;

/* A range that also includes the data of an element of the datatype. */
static range with_data(range bytes, const offbeat_typed_text *type) {
    for (size_t i = 0; i < type->count; i++) {
        MPI_Aint begin = type->entries[i].displacement;
        MPI_Aint end = begin + (MPI_Aint)type->entries[i].basic->extent;
        bytes.low = begin < bytes.low ? begin : bytes.low;
        bytes.high = end > bytes.high ? end : bytes.high;
    }
    return bytes;
}

/* The bytes of an element of the datatype, with its bounds and its address. */
static range range_of_type(const offbeat_typed_text *type) {
    MPI_Aint upper_bound = type->lower_bound + type->extent;
    const range bounds = {type->lower_bound < 0 ? type->lower_bound : 0, upper_bound > 0 ? upper_bound : 0};
    return with_data(bounds, type);
}

/* The first byte of a block, from the buffer's address. */
static MPI_Aint start_of(const offbeat_drawn_buffer *buffer, const offbeat_drawn_block *block) {
    return block->displacement * (buffer->is_in_bytes ? 1 : block->type->extent);
}

/* The bytes of all elements of a block, given those of one element. */
static range repeat_range(range element, const offbeat_drawn_block *block) {
    MPI_Aint shift = (block->count ? block->count - 1 : 0) * block->type->extent;
    return (range){element.low + (shift < 0 ? shift : 0), element.high + (shift > 0 ? shift : 0)};
}

/* Places a block behind the bytes that are occupied, at a displacement in bytes that is not negative. */
static MPI_Aint place_in_bytes(offbeat_drawn_block *block, MPI_Aint occupied_bytes) {
    if (block->count == 0 || block->type->count == 0) {
        block->displacement = (int)occupied_bytes;
        return occupied_bytes;
    }
    const offbeat_type_entry *first = block->type->entries;
    const range begin = {first->displacement, first->displacement};
    range data = repeat_range(with_data(begin, block->type), block);
    MPI_Aint start = occupied_bytes > data.low ? occupied_bytes - data.low : 0;
    start = (start + BLOCK_ALIGNMENT - 1) / BLOCK_ALIGNMENT * BLOCK_ALIGNMENT;
    block->displacement = (int)start;
    return start + data.high;
}

void offbeat_drawn_blocks_spread(offbeat_drawn_buffer *buffer, int gap, int is_descending) {
    MPI_Aint next = 0;
    for (int i = 0; i < buffer->block_count; i++) {
        offbeat_drawn_block *block = &buffer->blocks[is_descending ? buffer->block_count - 1 - i : i];
        if (buffer->is_in_bytes) {
            next = place_in_bytes(block, next + (MPI_Aint)gap * BLOCK_ALIGNMENT);
            continue;
        }
        next += gap;
        block->displacement = (int)next;
        next += block->count;
    }
}

static range range_of_blocks(const offbeat_drawn_buffer *buffer) {
    range bytes = {0, 0};
    for (int i = 0; i < buffer->block_count; i++) {
        const offbeat_drawn_block *block = &buffer->blocks[i];
        MPI_Aint start = start_of(buffer, block);
        range element_range = repeat_range(range_of_type(block->type), block);
        bytes.low = start + element_range.low < bytes.low ? start + element_range.low : bytes.low;
        bytes.high = start + element_range.high > bytes.high ? start + element_range.high : bytes.high;
    }
    return bytes;
}

const char *offbeat_drawn_buffer_create(offbeat_drawn_buffer *buffer, unsigned char guard) {
    range bytes = range_of_blocks(buffer);
    size_t bytes_below = (size_t)-bytes.low;
    void *memory, *image_memory;
    buffer->base = MARGIN_BYTES + (bytes_below + MARGIN_BYTES - 1) / MARGIN_BYTES * MARGIN_BYTES;
    buffer->bytes = buffer->base + (size_t)bytes.high + MARGIN_BYTES;
    if (posix_memalign(&memory, MARGIN_BYTES, buffer->bytes) != 0)
        return no_memory;
    buffer->memory = memory;
    if (posix_memalign(&image_memory, MARGIN_BYTES, buffer->bytes) != 0)
        return no_memory;
    buffer->expected_image = image_memory;
    memset(memory, guard, buffer->bytes);
    memset(image_memory, guard, buffer->bytes);
    return NULL;
}

void offbeat_drawn_buffer_free(offbeat_drawn_buffer *buffer) {
    free(buffer->blocks);
    free(buffer->memory);
    free(buffer->expected_image);
    *buffer = (offbeat_drawn_buffer){0};
}

void *offbeat_drawn_buffer_address(const offbeat_drawn_buffer *buffer) {
    return buffer->memory + buffer->base;
}

static const offbeat_type_entry *entry_of(const offbeat_drawn_block *block, size_t index) {
    return &block->type->entries[index % block->type->count];
}

const offbeat_basic_type *offbeat_drawn_element_type(const offbeat_drawn_buffer *buffer, int block,
                                                     size_t index) {
    return entry_of(&buffer->blocks[block], index)->basic;
}

unsigned char *offbeat_drawn_element(const offbeat_drawn_buffer *buffer, unsigned char *image, int block,
                                     size_t index) {
    const offbeat_drawn_block *block_layout = &buffer->blocks[block];
    MPI_Aint element = start_of(buffer, block_layout) +
                       (MPI_Aint)(index / block_layout->type->count) * block_layout->type->extent;
    return image + buffer->base + element + entry_of(block_layout, index)->displacement;
}

void offbeat_drawn_element_accept(offbeat_drawn_buffer *buffer, int block, size_t index, int with_padding) {
    const offbeat_basic_type *basic = offbeat_drawn_element_type(buffer, block, index);
    unsigned char *actual = offbeat_drawn_element(buffer, buffer->memory, block, index);
    unsigned char *expected_element = offbeat_drawn_element(buffer, buffer->expected_image, block, index);
    if (with_padding)
        memcpy(expected_element, actual, basic->extent);
    for (int i = 0; i < basic->parts; i++)
        memcpy(expected_element + basic->part[i].offset, actual + basic->part[i].offset,
               basic->part[i].bytes);
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
        count += buffer->memory[i] != buffer->expected_image[i];
    return count;
}

offbeat_difference offbeat_drawn_buffer_compare(offbeat_drawn_buffer *buffer, int is_logical,
                                                int is_reduced) {
    offbeat_difference difference = {0, 0};
    if (!buffer->bytes || memcmp(buffer->memory, buffer->expected_image, buffer->bytes) == 0)
        return difference;
    for (int block = 0; block < buffer->block_count; block++)
        for (size_t i = 0; i < buffer->blocks[block].elements; i++) {
            const unsigned char *actual = offbeat_drawn_element(buffer, buffer->memory, block, i);
            const unsigned char *expected_element =
                offbeat_drawn_element(buffer, buffer->expected_image, block, i);
            difference.elements +=
                !is_equal(offbeat_drawn_element_type(buffer, block, i), actual, expected_element, is_logical);
            offbeat_drawn_element_accept(buffer, block, i, is_reduced);
        }
    difference.guards = count_differing_bytes(buffer);
    return difference;
}
