/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file type_text.h
 * Datatypes described by text, with the place of each basic element: what MPI calls the type map.
 *
 *     int                              a predefined type (basic_types.def)
 *     contiguous[4](T)                 MPI_Type_contiguous
 *     vector[2,3,5](T)                 MPI_Type_vector: count, block length, stride
 *     hvector[2,3,40](T)               MPI_Type_create_hvector
 *     indexed[1,0,2,5](T)              MPI_Type_indexed: block length and displacement of each block
 *     hindexed[1,0,2,40](T)            MPI_Type_create_hindexed
 *     struct[1,0,2,16](T,U)            MPI_Type_create_struct: the same, with a type for each block
 *     resized[-4,40](T)                MPI_Type_create_resized: lower bound, extent
 *     dup(T)                           MPI_Type_dup
 *     bottom(T)                        T with absolute addresses, for MPI_BOTTOM; only as the outermost
 */
#ifndef OFFBEAT_TYPE_TEXT_H
#define OFFBEAT_TYPE_TEXT_H

#include "basic_type.h"

/** A basic element of a datatype. */
typedef struct offbeat_type_entry {
    MPI_Aint displacement; /**< in bytes from the address of the element of the datatype */
    const offbeat_basic_type *basic;
} offbeat_type_entry;

/** A datatype and its type map. */
typedef struct offbeat_typed_text {
    MPI_Datatype handle; /**< committed; MPI_DATATYPE_NULL if the type was not created */
    int is_predefined;
    int is_absolute; /**< the buffer is MPI_BOTTOM: see offbeat_type_text_bind() */
    MPI_Aint lower_bound, extent;
    offbeat_type_entry *entries; /**< in the order of the type signature */
    size_t count;                /**< number of entries */
} offbeat_typed_text;

/**
 * Creates a datatype. Local. Free it with offbeat_type_text_free(), also after an error.
 * @param length of the text
 * @return NULL, or an error message (static storage)
 */
const char *offbeat_type_text_create(const char *text, size_t length, offbeat_typed_text *type);

/** Makes a datatype whose text is bottom(...) begin at an address. Local. @return an MPI error code */
int offbeat_type_text_bind(offbeat_typed_text *type, void *address);

/** Frees the datatype and its type map. Local. */
void offbeat_type_text_free(offbeat_typed_text *type);

#endif
