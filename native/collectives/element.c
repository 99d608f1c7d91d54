/* SPDX-License-Identifier: BSD-3-Clause */
#include "element.h"

#include <limits.h>
#include <string.h>

/** What a datatype can hold: magnitudes below 2^bits exactly, without using a sign bit. */
typedef struct offbeat_traits {
    const char *name;
    size_t extent;
    int bits;
    int is_integer;
} offbeat_traits;

static const offbeat_traits traits[OFFBEAT_DATATYPES] = {
    [OFFBEAT_BYTE] = {"byte", sizeof(unsigned char), CHAR_BIT, 1},
    [OFFBEAT_INT] = {"int", sizeof(int), (int)(CHAR_BIT * sizeof(int)) - 1, 1},
    [OFFBEAT_LONG] = {"long", sizeof(long), (int)(CHAR_BIT * sizeof(long)) - 1, 1},
    [OFFBEAT_FLOAT] = {"float", sizeof(float), 24, 0},
    [OFFBEAT_DOUBLE] = {"double", sizeof(double), 53, 0},
    [OFFBEAT_AFFINE] = {"affine", 2 * sizeof(long), 31, 0},
    [OFFBEAT_ODD] = {"odd", 3, 24, 0},
    [OFFBEAT_WIDE] = {"wide", OFFBEAT_WIDE_LONGS * sizeof(long), (int)(CHAR_BIT * sizeof(long)) - 1, 0},
    [OFFBEAT_GAPPED] = {"gapped", 4 * sizeof(long), (int)(CHAR_BIT * sizeof(long)) - 1, 0},
};

static const char *const op_names[OFFBEAT_OPS] = {
    [OFFBEAT_SUM] = "sum",   [OFFBEAT_PROD] = "prod",      [OFFBEAT_MAX] = "max",
    [OFFBEAT_MIN] = "min",   [OFFBEAT_BAND] = "band",      [OFFBEAT_BOR] = "bor",
    [OFFBEAT_BXOR] = "bxor", [OFFBEAT_COMPOSE] = "affine", [OFFBEAT_USER_SUM] = "user_sum",
};

/**
 * How many ranks at each residue have a factor of 2 or 3 in a product, or, of bytes, a part in a sum.
 * 3^15 < 2^24, so that floats stay exact; 3^5 and 15 * 17 < 2^8.
 */
enum { FACTORS = 15, BYTE_FACTORS = 5, BYTE_SUMMANDS = 15 };

offbeat_datatype offbeat_datatype_find(const char *name) {
    int i = 0;
    while (i < OFFBEAT_DATATYPES && (name == NULL || strcmp(name, traits[i].name) != 0))
        i++;
    return (offbeat_datatype)i;
}

const char *offbeat_datatype_name(offbeat_datatype datatype) {
    return traits[datatype].name;
}

size_t offbeat_datatype_extent(offbeat_datatype datatype) {
    return traits[datatype].extent;
}

offbeat_op offbeat_op_find(const char *name) {
    int i = 0;
    while (i < OFFBEAT_OPS && (name == NULL || strcmp(name, op_names[i]) != 0))
        i++;
    return (offbeat_op)i;
}

const char *offbeat_op_name(offbeat_op op) {
    return op_names[op];
}

int offbeat_op_fits(offbeat_op op, offbeat_datatype datatype) {
    if (op == OFFBEAT_COMPOSE || datatype == OFFBEAT_AFFINE)
        return op == OFFBEAT_COMPOSE && datatype == OFFBEAT_AFFINE;
    if (op == OFFBEAT_USER_SUM)
        return datatype == OFFBEAT_DOUBLE || datatype == OFFBEAT_GAPPED;
    if (datatype == OFFBEAT_ODD || datatype == OFFBEAT_WIDE || datatype == OFFBEAT_GAPPED)
        return 0;
    if (op == OFFBEAT_BAND || op == OFFBEAT_BOR || op == OFFBEAT_BXOR)
        return traits[datatype].is_integer;
    return 1;
}

/** Spreads a number over 64 bits: the finaliser of splitmix64 (Steele, Lea and Flood, OOPSLA 2014). */
static uint64_t spread(uint64_t x) {
    x += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

/** 64 bits that depend on rank and residue alone. */
static uint64_t noise(int rank, size_t residue) {
    return spread((uint64_t)rank * OFFBEAT_PERIOD + residue);
}

/** The largest number a datatype holds exactly. */
static uint64_t largest(offbeat_datatype datatype) {
    return (UINT64_C(1) << traits[datatype].bits) - 1;
}

/** A number from 1 to limit. */
static int64_t positive(uint64_t bits, uint64_t limit) {
    return (int64_t)(1 + bits % limit);
}

offbeat_value offbeat_label(offbeat_datatype datatype, int rank, size_t index) {
    /* An odd multiple of the rank is a different number for each rank, modulo any power of two. */
    uint64_t label = (uint64_t)rank * UINT64_C(0x9e3779b97f4a7c15) + spread(index % OFFBEAT_PERIOD);
    return (offbeat_value){(int64_t)(label & largest(datatype)),
                           (int64_t)(spread(label) & largest(datatype))};
}

/**
 * Chooses at most @p most of p ranks at each residue, spread evenly, other ones at other residues.
 * @return the rank's place among the chosen ones, counted from anywhere; -1 when it isn't chosen
 */
static int64_t chosen(int most, int p, int rank, size_t residue) {
    int64_t stride = ((int64_t)p + most - 1) / most;
    int64_t shifted = rank + (int64_t)(spread(residue) % (uint64_t)p);
    return shifted % stride == 0 ? shifted / stride : -1;
}

/** From 1 to whatever p ranks can add up exactly; of many ranks' bytes, most are 0. */
static int64_t summand(offbeat_datatype datatype, int p, int rank, size_t residue) {
    int64_t parts = p;
    if (datatype == OFFBEAT_BYTE && p > BYTE_SUMMANDS) {
        if (chosen(BYTE_SUMMANDS, p, rank, residue) < 0)
            return 0;
        parts = BYTE_SUMMANDS;
    }
    return positive(noise(rank, residue), largest(datatype) / (uint64_t)parts);
}

static int64_t factor(offbeat_datatype datatype, int p, int rank, size_t residue) {
    uint64_t bits = noise(rank, residue);
    int is_byte = datatype == OFFBEAT_BYTE;
    int is_large = chosen(is_byte ? BYTE_FACTORS : FACTORS, p, rank, residue) >= 0;
    int64_t magnitude = is_large ? 2 + (int64_t)(bits >> 63) : 1;
    return !is_byte && (bits & 1) ? -magnitude : magnitude;
}

static int64_t extreme(offbeat_datatype datatype, int rank, size_t residue) {
    if (datatype == OFFBEAT_BYTE)
        return (int64_t)(noise(rank, residue) >> 57);
    int bits = traits[datatype].bits;
    return (int64_t)(noise(rank, residue) >> (64 - bits)) - (INT64_C(1) << (bits - 1));
}

static int64_t single_bit(offbeat_datatype datatype, int p, int rank, size_t residue) {
    int bits = traits[datatype].bits;
    int64_t place = chosen(bits / 2, p, rank, residue);
    return place < 0 ? 0
                     : INT64_C(1) << (((uint64_t)place + spread(~residue) % (uint64_t)bits) % (uint64_t)bits);
}

static offbeat_value affine_map(int rank, size_t residue) {
    uint64_t bits = noise(rank, residue);
    uint64_t slopes = (uint64_t)OFFBEAT_PRIME - 2; /* neither 0 nor 1 */
    return (offbeat_value){1 + positive(bits, slopes), (int64_t)(spread(bits) % (uint64_t)OFFBEAT_PRIME)};
}

offbeat_value offbeat_term(offbeat_datatype datatype, offbeat_op op, int p, int rank, size_t index) {
    size_t residue = index % OFFBEAT_PERIOD;
    int64_t number = 0;
    switch (op) {
    case OFFBEAT_SUM:
        number = summand(datatype, p, rank, residue);
        break;
    case OFFBEAT_PROD:
        number = factor(datatype, p, rank, residue);
        break;
    case OFFBEAT_MAX:
    case OFFBEAT_MIN:
        number = extreme(datatype, rank, residue);
        break;
    case OFFBEAT_BAND:
        number = ~single_bit(datatype, p, rank, residue);
        break;
    case OFFBEAT_BOR:
        number = single_bit(datatype, p, rank, residue);
        break;
    case OFFBEAT_BXOR:
        number = positive(noise(rank, residue), largest(datatype));
        break;
    case OFFBEAT_USER_SUM:
        return (offbeat_value){summand(datatype, p, rank, residue),
                               summand(datatype, p, rank, (residue + 1) % OFFBEAT_PERIOD)};
    default:
        return affine_map(rank, residue);
    }
    return (offbeat_value){number, 0};
}

/** left after right: x -> left(right(x)), modulo the prime. */
static offbeat_value compose(offbeat_value left, offbeat_value right) {
    return (offbeat_value){left.first * right.first % OFFBEAT_PRIME,
                           (left.first * right.second + left.second) % OFFBEAT_PRIME};
}

offbeat_value offbeat_fold(offbeat_op op, offbeat_value left, offbeat_value right) {
    int64_t a = left.first, b = right.first;
    switch (op) {
    case OFFBEAT_SUM:
        return (offbeat_value){a + b, 0};
    case OFFBEAT_PROD:
        return (offbeat_value){a * b, 0};
    case OFFBEAT_MAX:
        return (offbeat_value){a > b ? a : b, 0};
    case OFFBEAT_MIN:
        return (offbeat_value){a < b ? a : b, 0};
    case OFFBEAT_BAND:
        return (offbeat_value){a & b, 0};
    case OFFBEAT_BOR:
        return (offbeat_value){a | b, 0};
    case OFFBEAT_BXOR:
        return (offbeat_value){a ^ b, 0};
    case OFFBEAT_USER_SUM:
        return (offbeat_value){a + b, left.second + right.second};
    default:
        return compose(left, right);
    }
}

void offbeat_store(offbeat_datatype datatype, offbeat_value value, void *element) {
    switch (datatype) {
    case OFFBEAT_BYTE:
        *(unsigned char *)element = (unsigned char)value.first;
        break;
    case OFFBEAT_INT:
        *(int *)element = (int)value.first;
        break;
    case OFFBEAT_LONG:
        *(long *)element = (long)value.first;
        break;
    case OFFBEAT_FLOAT:
        *(float *)element = (float)value.first;
        break;
    case OFFBEAT_DOUBLE:
        *(double *)element = (double)value.first;
        break;
    case OFFBEAT_ODD:
        for (int i = 0; i < 3; i++)
            ((unsigned char *)element)[i] = (unsigned char)(value.first >> CHAR_BIT * i);
        break;
    case OFFBEAT_WIDE:
        for (int i = 0; i < OFFBEAT_WIDE_LONGS; i++)
            ((long *)element)[i] = (long)value.first ^ i;
        break;
    case OFFBEAT_GAPPED:
        ((long *)element)[0] = (long)value.first;
        ((long *)element)[2] = (long)value.second;
        offbeat_fill_gaps(datatype, OFFBEAT_GAP_RECEIVED, element, 1);
        break;
    default:
        ((long *)element)[0] = (long)value.first;
        ((long *)element)[1] = (long)value.second;
    }
}

void offbeat_fill_gaps(offbeat_datatype datatype, unsigned char byte, void *elements, size_t count) {
    long *numbers = elements;
    for (size_t i = 0; datatype == OFFBEAT_GAPPED && i < count; i++) {
        memset(&numbers[4 * i + 1], byte, sizeof *numbers);
        memset(&numbers[4 * i + 3], byte, sizeof *numbers);
    }
}
