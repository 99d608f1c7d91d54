/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file element.h
 * Elements: the datatypes and operations of calls, the value that each rank sends at each index, and buffers
 * of such values.
 *
 * A value is a whole number (two for "affine") that the datatype represents exactly. It is a function of the
 * rank and of the index modulo OFFBEAT_PERIOD, so that each process can compute the data of all others. In
 * reductions no partial result overflows or is rounded, in any order: see offbeat_term. Nothing here calls
 * MPI.
 */
#ifndef OFFBEAT_ELEMENT_H
#define OFFBEAT_ELEMENT_H

#include <stddef.h>
#include <stdint.h>

/**
 * Number of elements after which values repeat. A prime, so that blocks and segments, whose lengths are
 * mostly powers of two, differ.
 */
#define OFFBEAT_PERIOD 251

/** The modulus of affine maps, 2^31 - 1: numbers fit into a 32-bit long, products into 64 bits. */
#define OFFBEAT_PRIME INT64_C(2147483647)

/** Number of long integers in an element of "wide", which is larger than a small segment. */
#define OFFBEAT_WIDE_LONGS 129

/** Largest extent of any datatype, in bytes. */
#define OFFBEAT_LARGEST_EXTENT (OFFBEAT_WIDE_LONGS * sizeof(long))

/** Content of the gaps of "gapped" in receive buffers, which MPI must not change. */
#define OFFBEAT_GAP_RECEIVED 0xa5

/** Content of the gaps in send buffers, which MPI must not send. */
#define OFFBEAT_GAP_SENT 0x5a

/**
 * Datatypes. OFFBEAT_AFFINE is a pair of long, OFFBEAT_ODD three bytes, OFFBEAT_WIDE OFFBEAT_WIDE_LONGS long
 * integers, and OFFBEAT_GAPPED a pair of long with a gap of one long after each.
 */
typedef enum offbeat_datatype {
    OFFBEAT_BYTE,
    OFFBEAT_INT,
    OFFBEAT_LONG,
    OFFBEAT_FLOAT,
    OFFBEAT_DOUBLE,
    OFFBEAT_AFFINE,
    OFFBEAT_ODD,
    OFFBEAT_WIDE,
    OFFBEAT_GAPPED_PAIR,
    OFFBEAT_DATATYPES
} offbeat_datatype;

/**
 * Operations. OFFBEAT_COMPOSE has the name "affine"; OFFBEAT_USER_SUM has the name "user_sum" and is a
 * commutative user-defined sum.
 */
typedef enum offbeat_op {
    OFFBEAT_SUM,
    OFFBEAT_PROD,
    OFFBEAT_MAX,
    OFFBEAT_MIN,
    OFFBEAT_BAND,
    OFFBEAT_BOR,
    OFFBEAT_BXOR,
    OFFBEAT_COMPOSE,
    OFFBEAT_USER_SUM,
    OFFBEAT_OPS
} offbeat_op;

/** The value of one element: the affine map x -> first * x + second, or both numbers of "gapped"; other
 * datatypes use only first. */
typedef struct offbeat_value {
    int64_t first;
    int64_t second;
} offbeat_value;

/** @return the datatype of that name, or OFFBEAT_DATATYPES if there is none (or @p name is NULL) */
offbeat_datatype offbeat_datatype_find(const char *name);

/** The datatype's name: byte int long float double affine odd wide gapped. */
const char *offbeat_datatype_name(offbeat_datatype datatype);

/** Extent of an element in bytes. */
size_t offbeat_datatype_extent(offbeat_datatype datatype);

/** @return the operation of that name, or OFFBEAT_OPS if there is none (or @p name is NULL) */
offbeat_op offbeat_op_find(const char *name);

/** The operation's name: sum prod max min band bor bxor affine user_sum. */
const char *offbeat_op_name(offbeat_op op);

/** Whether the operation is defined on the datatype: band, bor and bxor on integers only; affine on affine
 * only; user_sum on double and gapped only; none on odd and wide. */
int offbeat_op_fits(offbeat_op op, offbeat_datatype datatype);

/** Spreads a number over 64 bits: the finaliser of splitmix64 (Steele, Lea and Flood, OOPSLA 2014). */
uint64_t offbeat_spread(uint64_t x);

/**
 * The value that @p rank sends at @p index in collectives without a reduction. At one index, the values of
 * ranks less than 256 apart differ; for datatypes wider than a byte those of all ranks differ.
 */
offbeat_value offbeat_label(offbeat_datatype datatype, int rank, size_t index);

/**
 * The value that @p rank contributes to a reduction over @p p ranks at @p index; @p op must fit @p datatype.
 *
 * - sum: positive, and so small that sums of p values are exact; bytes are 0 on all but 15 ranks of each
 * index, so that they do not wrap: Open MPI adds them with saturation on processors with AVX (open-mpi/ompi
 * #8045)
 * - prod: +-2 or +-3 on at most 15 ranks of each index, +-1 on the others; bytes: 2 or 3 on at most 5, 1 on
 * the others
 * - max, min: any exact value, also negative; bytes below 128, because MPICH 4.0.2
 *   compares unsigned integers as signed ones (pmodels/mpich #6083)
 * - bxor: any value but 0; band, bor: one bit, cleared or set, different on as many ranks as half the bits
 * - affine: an invertible map other than the identity
 * - user_sum: as sum, for both numbers of gapped
 */
offbeat_value offbeat_term(offbeat_datatype datatype, offbeat_op op, int p, int rank, size_t index);

/** @return left op right, in that order */
offbeat_value offbeat_reduce_values(offbeat_op op, offbeat_value left, offbeat_value right);

/** Writes a value as an element of the datatype; gaps become OFFBEAT_GAP_RECEIVED. */
void offbeat_store(offbeat_datatype datatype, offbeat_value value, void *element);

/** Writes @p byte to the gaps of @p count elements, if the datatype has any. */
void offbeat_fill_gaps(offbeat_datatype datatype, unsigned char byte, void *elements, size_t count);

/**
 * The content of a buffer: its first min(count, OFFBEAT_PERIOD) elements, which repeat up to the end of the
 * buffer.
 */
typedef struct offbeat_content {
    offbeat_datatype datatype;
    size_t elements;
    _Alignas(16) unsigned char bytes[OFFBEAT_PERIOD * OFFBEAT_LARGEST_EXTENT];
} offbeat_content;

/** The content of @p count elements that @p rank sends without a reduction, from index @p first on. */
void offbeat_content_of_rank(offbeat_content *content, offbeat_datatype datatype, int rank, size_t first,
                             size_t count);

/**
 * The content of @p count elements of a reduction, in rank order, of what ranks @p low to @p high - 1 of @p p
 * send from index @p first on. At least one rank. Takes (high - low) * min(count, OFFBEAT_PERIOD) operations.
 */
void offbeat_content_of_reduction(offbeat_content *content, offbeat_datatype datatype, offbeat_op op, int p,
                                  int low, int high, size_t first, size_t count);

/** Copies the used part of a content. */
void offbeat_content_copy(const offbeat_content *source, offbeat_content *target);

/** Inverts every bit outside gaps, so that every byte of every element is wrong. */
void offbeat_content_invert(offbeat_content *content);

/** Writes a content to a buffer of @p count elements. */
void offbeat_content_write(const offbeat_content *content, void *buffer, size_t count);

/** @return the number of the buffer's @p count elements that differ from the content in any bit */
size_t offbeat_content_count_wrong(const offbeat_content *content, const void *buffer, size_t count);

#endif
