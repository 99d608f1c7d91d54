/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file element.h
 * Elements: the datatypes and operations a call can have, and the value that each rank puts at each index.
 *
 * A value is a whole number (two for "affine") that the datatype holds exactly. It is a function of the rank
 * and of the index modulo OFFBEAT_PERIOD, so that any process knows what any other sent. For reductions the
 * values are such that no partial result, in whatever order, overflows or rounds: see offbeat_term. Nothing
 * here calls MPI.
 */
#ifndef OFFBEAT_ELEMENT_H
#define OFFBEAT_ELEMENT_H

#include <stddef.h>
#include <stdint.h>

/**
 * Values repeat after so many elements. A prime, so that blocks and segments, whose lengths are mostly powers
 * of two, don't look alike.
 */
#define OFFBEAT_PERIOD 251

/** Affine maps are taken modulo this prime, 2^31 - 1: numbers fit a long of 32 bits, products 64 bits. */
#define OFFBEAT_PRIME INT64_C(2147483647)

/** Number of long integers in an element of "wide": an element that is larger than small segments are. */
#define OFFBEAT_WIDE_LONGS 129

/** Largest extent of any datatype, in bytes. */
#define OFFBEAT_LARGEST_EXTENT (OFFBEAT_WIDE_LONGS * sizeof(long))

/** What stands in the gaps of elements of "gapped" where data are received: MPI must leave it as it is. */
#define OFFBEAT_GAP_RECEIVED 0xa5

/** What stands in the gaps where data are sent: MPI must not pass it on. */
#define OFFBEAT_GAP_SENT 0x5a

/**
 * Datatypes. OFFBEAT_AFFINE is a pair of long, OFFBEAT_ODD three bytes, OFFBEAT_WIDE OFFBEAT_WIDE_LONGS long
 * integers, and OFFBEAT_GAPPED a pair of long with a gap of one long behind each.
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
    OFFBEAT_GAPPED,
    OFFBEAT_DATATYPES
} offbeat_datatype;

/**
 * Operations. OFFBEAT_COMPOSE is called "affine"; OFFBEAT_USER_SUM, called "user_sum", is a sum that MPI
 * knows only as a function, which commutes.
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

/** The value of one element. The affine map x -> first * x + second; both numbers of "gapped"; other
 * datatypes use only first. */
typedef struct offbeat_value {
    int64_t first;
    int64_t second;
} offbeat_value;

/** @return the datatype of that name, or OFFBEAT_DATATYPES when there is none (or @p name is NULL) */
offbeat_datatype offbeat_datatype_find(const char *name);

/** The datatype's name: byte int long float double affine odd wide gapped. */
const char *offbeat_datatype_name(offbeat_datatype datatype);

/** Bytes an element takes. */
size_t offbeat_datatype_extent(offbeat_datatype datatype);

/** @return the operation of that name, or OFFBEAT_OPS when there is none (or @p name is NULL) */
offbeat_op offbeat_op_find(const char *name);

/** The operation's name: sum prod max min band bor bxor affine user_sum. */
const char *offbeat_op_name(offbeat_op op);

/** Whether the operation is defined on the datatype: band, bor and bxor on integers only; affine on affine
 * only; user_sum on double and gapped only; none on odd and wide. */
int offbeat_op_fits(offbeat_op op, offbeat_datatype datatype);

/**
 * What @p rank sends at @p index when data are only moved. At one index, ranks less than 256 apart always
 * differ, for wider datatypes all ranks do.
 */
offbeat_value offbeat_label(offbeat_datatype datatype, int rank, size_t index);

/**
 * What @p rank puts into a reduction over @p p ranks at @p index; @p op must fit @p datatype.
 *
 * - sum: positive, and so small that p of them stay exact; bytes are 0 on all but 15 ranks of each index.
 * Bytes don't wrap either: Open MPI adds them with saturation on processors with AVX (open-mpi/ompi #8045)
 * - prod: +-2 or +-3 on at most 15 ranks of each index, +-1 on the others; bytes: 2 or 3 on at most 5, 1 on
 * the others
 * - max, min: anything the datatype holds exactly, negative numbers too; bytes below 128, because MPICH 4.0.2
 *   compares unsigned integers as signed ones (pmodels/mpich #6083)
 * - bxor: anything but 0; band, bor: a bit of its own, cleared or set, on as many ranks as half the bits
 * - affine: an invertible map that isn't the identity
 * - user_sum: as sum; of gapped, a summand in each of its two numbers
 */
offbeat_value offbeat_term(offbeat_datatype datatype, offbeat_op op, int p, int rank, size_t index);

/** left op right, in that order. */
offbeat_value offbeat_fold(offbeat_op op, offbeat_value left, offbeat_value right);

/** Writes a value as an element of the datatype; gaps become OFFBEAT_GAP_RECEIVED. */
void offbeat_store(offbeat_datatype datatype, offbeat_value value, void *element);

/** Writes @p byte to the gaps of @p count elements; nothing where the datatype has none. */
void offbeat_fill_gaps(offbeat_datatype datatype, unsigned char byte, void *elements, size_t count);

#endif
