/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file basic_type.h
 * MPI's predefined datatypes as numbers in memory: one number, or two (complex numbers and pairs).
 */
#ifndef OFFBEAT_BASIC_TYPE_H
#define OFFBEAT_BASIC_TYPE_H

#include <mpi.h>
#include <stddef.h>
#include <stdint.h>

typedef enum offbeat_number_kind {
    OFFBEAT_SIGNED,
    OFFBEAT_UNSIGNED,
    OFFBEAT_REAL,
    OFFBEAT_TRUTH
} offbeat_number_kind;

/** Datatypes with the same predefined operations. */
typedef enum offbeat_type_family {
    OFFBEAT_TEXT_TYPES, /**< no operations */
    OFFBEAT_BYTES_TYPES,
    OFFBEAT_INTEGER_TYPES,
    OFFBEAT_ADDRESS_TYPES, /**< MPI's multi-language types */
    OFFBEAT_FLOATING_TYPES,
    OFFBEAT_LOGICAL_TYPES,
    OFFBEAT_COMPLEX_TYPES,
    OFFBEAT_PAIR_TYPES
} offbeat_type_family;

/** One of the numbers of a basic type. */
typedef struct offbeat_part {
    offbeat_number_kind kind;
    size_t offset;
    size_t bytes;             /**< its size in memory */
    size_t significant_bytes; /**< without the padding of long double */
} offbeat_part;

typedef struct offbeat_basic_type {
    const char *name; /**< such as "int" or "double_int" */
    size_t extent;
    offbeat_part part[2];
    int parts; /**< number of numbers: 1 or 2 */
    offbeat_type_family family;
} offbeat_basic_type;

/** @return NULL if there is no type of that name */
const offbeat_basic_type *offbeat_basic_type_find(const char *name, size_t length);

MPI_Datatype offbeat_basic_type_handle(const offbeat_basic_type *basic);

/** Stores a whole number that the part represents exactly, or its lowest bits. */
void offbeat_part_store(const offbeat_part *part, int64_t number, unsigned char *element);

/** @return the number that is stored in the part of an element */
int64_t offbeat_part_load(const offbeat_part *part, const unsigned char *element);

/** Whether a part of two elements has the same bits, apart from the padding of long double; of floating-point
 * numbers, zeros of both signs are the same. */
int offbeat_part_equals(const offbeat_part *part, const unsigned char *a, const unsigned char *b);

#endif
