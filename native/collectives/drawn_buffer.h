/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file drawn_buffer.h
 * A buffer of a drawn call: blocks of elements of a datatype amid guard bytes, and its expected content.
 *
 * Every byte that the datatype does not cover is a guard byte, inside the blocks and around them.
 */
#ifndef OFFBEAT_DRAWN_BUFFER_H
#define OFFBEAT_DRAWN_BUFFER_H

#include "operand.h"
#include "type_text.h"

typedef struct offbeat_drawn_block {
    const offbeat_typed_text *type;
    int displacement; /**< in extents of the datatype; in bytes if each block has a datatype */
    int count;        /**< elements of the datatype */
    size_t elements;  /**< basic elements */
} offbeat_drawn_block;

typedef struct offbeat_drawn_buffer {
    offbeat_drawn_block *blocks;
    int block_count;
    int is_in_bytes;       /**< displacements are in bytes */
    int is_absolute;       /**< the address of the call is MPI_BOTTOM */
    size_t bytes;          /**< of memory and of expected; 0: there is no buffer */
    unsigned char *memory; /**< what MPI may reach by the addresses of the call, and more on both sides */
    unsigned char *expected_image; /**< what memory holds after a correct call */
    size_t base;                   /**< offset of the buffer's address in memory */
} offbeat_drawn_buffer;

/** Counts of what differs from the expected content. */
typedef struct offbeat_difference {
    size_t elements; /**< basic elements with a wrong value */
    size_t guards;   /**< guard bytes that were overwritten */
} offbeat_difference;

/** The number of elements of a datatype that hold so many basic elements; any number if it has none. */
int offbeat_drawn_count(const offbeat_typed_text *type, size_t elements);

/** Allocates blocks of @p elements basic elements each, one after another, and no memory. Local.
 * @param types one datatype for all blocks
 * @param has_types a datatype for each block instead, all or none of them with absolute addresses
 * @return NULL, or an error message (static storage) */
const char *offbeat_drawn_blocks_create(const offbeat_typed_text *types, int has_types,
                                        const size_t *elements, int blocks, offbeat_drawn_buffer *buffer);

/** Moves the blocks apart, by a number of extents or of 16 bytes, and turns their order around. */
void offbeat_drawn_blocks_spread(offbeat_drawn_buffer *buffer, int gap, int is_descending);

/** Allocates the memory that the blocks need, and fills it with guard bytes. Local.
 * @return NULL, or an error message (static storage) */
const char *offbeat_drawn_buffer_create(offbeat_drawn_buffer *buffer, unsigned char guard);

void offbeat_drawn_buffer_free(offbeat_drawn_buffer *buffer);

/** The address that is an argument of the call, unless it is MPI_BOTTOM. */
void *offbeat_drawn_buffer_address(const offbeat_drawn_buffer *buffer);

/** The type of a basic element of a block. */
const offbeat_basic_type *offbeat_drawn_element_type(const offbeat_drawn_buffer *buffer, int block,
                                                     size_t index);

/** @param image memory or expected @return the address of a basic element of a block */
unsigned char *offbeat_drawn_element(const offbeat_drawn_buffer *buffer, unsigned char *image, int block,
                                     size_t index);

/** Accepts whatever is in a basic element of a block. */
void offbeat_drawn_element_accept(offbeat_drawn_buffer *buffer, int block, size_t index, int with_padding);

/**
 * Compares a buffer with its expected content.
 * @param is_logical numbers other than 0 are equal
 * @param is_reduced the padding inside pairs may have changed
 */
offbeat_difference offbeat_drawn_buffer_compare(offbeat_drawn_buffer *buffer, int is_logical, int is_reduced);

#endif
