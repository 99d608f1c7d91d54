/* SPDX-License-Identifier: BSD-3-Clause */
#include "datatype_check.h"

#include "drawn_buffer.h"

#include <stdlib.h>
#include <string.h>

enum { GUARD = 0x3c };

/** A buffer with elements of a datatype, and the same elements one after another. */
typedef struct trial {
    offbeat_typed_text type;
    offbeat_drawn_buffer buffer;
    char *packed_bytes;
    int bytes; /* room for the packed elements */
} trial;

static void *address_of(const trial *trial) {
    return trial->buffer.is_absolute ? MPI_BOTTOM : offbeat_drawn_buffer_address(&trial->buffer);
}

static offbeat_numbers content_of(const offbeat_basic_type *basic, size_t index) {
    return offbeat_label_of(basic, 0, 0, index);
}

static void write_elements(trial *trial, unsigned char *image) {
    for (size_t i = 0; i < trial->buffer.blocks->elements; i++) {
        const offbeat_basic_type *basic = offbeat_drawn_element_type(&trial->buffer, 0, i);
        offbeat_numbers_store(basic, content_of(basic, i),
                              offbeat_drawn_element(&trial->buffer, image, 0, i));
    }
}

/* @return whether MPI_Pack takes the elements in the order of the type signature */
static int packs(trial *trial) {
    int end = 0, position = 0, is_right = 1;
    const offbeat_drawn_block *block = trial->buffer.blocks;
    if (MPI_Pack(address_of(trial), block->count, trial->type.handle, trial->packed_bytes, trial->bytes, &end,
                 MPI_COMM_SELF) != MPI_SUCCESS)
        return 0;
    for (size_t i = 0; i < block->elements && is_right; i++) {
        const offbeat_basic_type *basic = offbeat_drawn_element_type(&trial->buffer, 0, i);
        unsigned char unpacked_bytes[64] = {0}, expected_bytes[64] = {0};
        offbeat_numbers_store(basic, content_of(basic, i), expected_bytes);
        is_right = MPI_Unpack(trial->packed_bytes, end, &position, unpacked_bytes, 1,
                              offbeat_basic_type_handle(basic), MPI_COMM_SELF) == MPI_SUCCESS;
        for (int part = 0; part < basic->parts; part++)
            is_right &= offbeat_part_equals(&basic->part[part], unpacked_bytes, expected_bytes);
    }
    return is_right;
}

/* @return whether MPI_Unpack places the elements where the datatype says, and nothing elsewhere */
static int unpacks(trial *trial) {
    int end = 0, position = 0;
    const offbeat_drawn_block *block = trial->buffer.blocks;
    for (size_t i = 0; i < block->elements; i++) {
        const offbeat_basic_type *basic = offbeat_drawn_element_type(&trial->buffer, 0, i);
        unsigned char element[64] = {0};
        offbeat_numbers_store(basic, content_of(basic, i), element);
        MPI_Pack(element, 1, offbeat_basic_type_handle(basic), trial->packed_bytes, trial->bytes, &end,
                 MPI_COMM_SELF);
    }
    memset(trial->buffer.memory, GUARD, trial->buffer.bytes);
    if (MPI_Unpack(trial->packed_bytes, end, &position, address_of(trial), block->count, trial->type.handle,
                   MPI_COMM_SELF) != MPI_SUCCESS)
        return 0;
    offbeat_difference difference = offbeat_drawn_buffer_compare(&trial->buffer, 0, 0);
    return difference.elements == 0 && difference.guards == 0;
}

/* @return whether the datatype can be tried */
static int prepare(trial *trial, const char *text, size_t length, size_t elements) {
    if (offbeat_type_text_create(text, length, &trial->type) || !trial->type.count ||
        offbeat_drawn_blocks_create(&trial->type, 0, &elements, 1, &trial->buffer) ||
        offbeat_drawn_buffer_create(&trial->buffer, GUARD))
        return 0;
    if (trial->buffer.is_absolute &&
        offbeat_type_text_bind(&trial->type, offbeat_drawn_buffer_address(&trial->buffer)) != MPI_SUCCESS)
        return 0;
    int type_bytes = 0;
    if (MPI_Type_size(trial->type.handle, &type_bytes) != MPI_SUCCESS)
        return 0;
    /* a packed basic element may need more room than in memory */
    trial->bytes = 2 * type_bytes * trial->buffer.blocks->count + 64;
    trial->packed_bytes = malloc((size_t)trial->bytes);
    return trial->packed_bytes != NULL;
}

int offbeat_datatype_is_misplaced(const char *text, size_t length, size_t elements) {
    trial this_trial = {.type.handle = MPI_DATATYPE_NULL};
    int is_misplaced = 0;
    if (prepare(&this_trial, text, length, elements)) {
        write_elements(&this_trial, this_trial.buffer.memory);
        write_elements(&this_trial, this_trial.buffer.expected_image);
        is_misplaced = !packs(&this_trial);
        is_misplaced |= !unpacks(&this_trial);
    }
    offbeat_drawn_buffer_free(&this_trial.buffer);
    offbeat_type_text_free(&this_trial.type);
    free(this_trial.packed_bytes);
    return is_misplaced;
}
