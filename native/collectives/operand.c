/* SPDX-License-Identifier: BSD-3-Clause */
#include "operand.h"

#include <stddef.h>
#include <string.h>

static const char *const names[OFFBEAT_OPERATORS] = {
    "sum",  "prod", "max",  "min",    "land",   "lor",    "lxor",
    "band", "bor",  "bxor", "minloc", "maxloc", "affine", "user_sum",
};

offbeat_operator offbeat_operator_find(const char *name) {
    int i = 0;
    while (i < OFFBEAT_OPERATORS && (!name || strcmp(name, names[i]) != 0))
        i++;
    return (offbeat_operator)i;
}

int offbeat_operator_is_user_defined(offbeat_operator op) {
    return op == OFFBEAT_OPERATOR_AFFINE || op == OFFBEAT_OPERATOR_USER_SUM;
}

int offbeat_operator_accepts(offbeat_operator op, const offbeat_basic_type *basic) {
    offbeat_type_family family = basic->family;
    int is_whole = family == OFFBEAT_INTEGER_TYPES || family == OFFBEAT_ADDRESS_TYPES;
    switch (op) {
    case OFFBEAT_OPERATOR_MAX:
    case OFFBEAT_OPERATOR_MIN:
        return is_whole || family == OFFBEAT_FLOATING_TYPES;
    case OFFBEAT_OPERATOR_SUM:
    case OFFBEAT_OPERATOR_PROD:
        return is_whole || family == OFFBEAT_FLOATING_TYPES || family == OFFBEAT_COMPLEX_TYPES;
    case OFFBEAT_OPERATOR_LAND:
    case OFFBEAT_OPERATOR_LOR:
    case OFFBEAT_OPERATOR_LXOR:
        return family == OFFBEAT_INTEGER_TYPES || family == OFFBEAT_LOGICAL_TYPES;
    case OFFBEAT_OPERATOR_BAND:
    case OFFBEAT_OPERATOR_BOR:
    case OFFBEAT_OPERATOR_BXOR:
        return is_whole || family == OFFBEAT_BYTES_TYPES;
    case OFFBEAT_OPERATOR_MINLOC:
    case OFFBEAT_OPERATOR_MAXLOC:
        return family == OFFBEAT_PAIR_TYPES;
    default:
        return family != OFFBEAT_LOGICAL_TYPES;
    }
}

/* Random bits that depend on all arguments: the finaliser of MurmurHash3 over their combination. */
static uint64_t random_bits(uint64_t rank, uint64_t block, uint64_t index) {
    uint64_t bits = rank * UINT64_C(0x9e3779b97f4a7c15) ^ (block + 1) * UINT64_C(0xc2b2ae3d27d4eb4f) ^
                    (index + 1) * UINT64_C(0x165667b19e3779f9);
    bits = (bits ^ (bits >> 33)) * UINT64_C(0xff51afd7ed558ccd);
    bits = (bits ^ (bits >> 33)) * UINT64_C(0xc4ceb9fe1a85ec53);
    return bits ^ (bits >> 33);
}

static int64_t smaller(int64_t a, int64_t b) {
    return a < b ? a : b;
}

/* The largest absolute value of a part, at most 1000. */
static int64_t largest_number(const offbeat_part *part) {
    if (part->bytes > 1 || part->kind == OFFBEAT_REAL)
        return 1000;
    return part->kind == OFFBEAT_SIGNED ? INT8_MAX : UINT8_MAX;
}

/* A number of which those of all ranks can be added. */
static int64_t summand(const offbeat_part *part, int p, uint64_t bits) {
    int64_t largest = smaller(largest_number(part), 1000 * (int64_t)p) / p;
    if (part->kind == OFFBEAT_UNSIGNED)
        return (int64_t)(bits % (uint64_t)(largest + 1));
    return (int64_t)(bits % (uint64_t)(2 * largest + 1)) - largest;
}

/* Of the factors of all ranks one is 2, one is 3, and the others are 1. */
static int64_t factor(int p, int rank, size_t index) {
    int first = (int)(random_bits(0, 1, index) % (uint64_t)p);
    return (rank == first ? 2 : 1) * (rank == (first + 1) % p ? 3 : 1);
}

/* Complex units, and 1 + 2i on one rank: all products are exact. */
static offbeat_numbers complex_factor(int p, int rank, size_t index, uint64_t bits) {
    static const offbeat_numbers units[] = {{{1, 0}}, {{0, 1}}, {{-1, 0}}, {{0, -1}}};
    if (rank == (int)(random_bits(0, 2, index) % (uint64_t)p))
        return (offbeat_numbers){{1, 2}};
    return units[bits % 4];
}

/* A truth value, so that the conjunction, disjunction or parity of all ranks is true about half of the time.
 */
static int64_t truth(offbeat_operator op, const offbeat_part *part, int p, uint64_t bits) {
    uint64_t chance = 2 * (uint64_t)p;
    int is_rare = (bits >> 8) % chance == 0;
    int is_true = op == OFFBEAT_OPERATOR_LAND  ? !is_rare
                  : op == OFFBEAT_OPERATOR_LOR ? is_rare
                                               : (int)(bits >> 8) & 1;
    return is_true ? (part->kind == OFFBEAT_TRUTH ? 1 : 1 + (int64_t)(bits % 100)) : 0;
}

/* Number of bits of a number of a user-defined operation: what float represents exactly. */
static int width(const offbeat_part *part) {
    return part->bytes == 1 ? 8 : 16;
}

static int64_t low_bits(int64_t number, int bits) {
    return number & ((INT64_C(1) << bits) - 1);
}

/* The composition of two affine maps: a in the upper half of the bits, b in the lower half. */
static int64_t compose_maps(int64_t left, int64_t right, int bits) {
    int half = bits / 2;
    int64_t a = low_bits((left >> half) * (right >> half), half);
    int64_t b = low_bits((left >> half) * low_bits(right, half) + low_bits(left, half), half);
    return a << half | b;
}

static int64_t affine_map(const offbeat_part *part, uint64_t bits) {
    return low_bits((int64_t)(bits >> 8), width(part)) | INT64_C(1) << width(part) / 2;
}

static int64_t single_operand(offbeat_operator op, const offbeat_part *part, int p, int rank, size_t index,
                              uint64_t bits) {
    switch (op) {
    case OFFBEAT_OPERATOR_SUM:
        return summand(part, p, bits);
    case OFFBEAT_OPERATOR_PROD:
        return factor(p, rank, index);
    case OFFBEAT_OPERATOR_MAX:
    case OFFBEAT_OPERATOR_MIN:
        return summand(part, 1, bits);
    case OFFBEAT_OPERATOR_LAND:
    case OFFBEAT_OPERATOR_LOR:
    case OFFBEAT_OPERATOR_LXOR:
        return truth(op, part, p, bits);
    case OFFBEAT_OPERATOR_AFFINE:
        return affine_map(part, bits);
    case OFFBEAT_OPERATOR_USER_SUM:
        return low_bits((int64_t)(bits >> 8), width(part));
    default:
        return (int64_t)bits;
    }
}

offbeat_numbers offbeat_operand(offbeat_operator op, const offbeat_basic_type *basic, int p, int rank,
                                size_t index) {
    uint64_t bits = random_bits((uint64_t)rank + 1, 0, index);
    if (op == OFFBEAT_OPERATOR_MINLOC || op == OFFBEAT_OPERATOR_MAXLOC)
        return (offbeat_numbers){{(int64_t)(bits % 5), (int64_t)(bits >> 32) % 1000}};
    if (op == OFFBEAT_OPERATOR_PROD && basic->family == OFFBEAT_COMPLEX_TYPES)
        return complex_factor(p, rank, index, bits);
    offbeat_numbers operand = {{0, 0}};
    for (int i = 0; i < basic->parts; i++)
        operand.number[i] = single_operand(op, &basic->part[i], p, rank, index, i ? bits * 31 >> 7 : bits);
    return operand;
}

static int64_t combine_numbers(offbeat_operator op, const offbeat_part *part, int64_t a, int64_t b) {
    switch (op) {
    case OFFBEAT_OPERATOR_SUM:
        return a + b;
    case OFFBEAT_OPERATOR_PROD:
        return a * b;
    case OFFBEAT_OPERATOR_MAX:
        return a > b ? a : b;
    case OFFBEAT_OPERATOR_MIN:
        return smaller(a, b);
    case OFFBEAT_OPERATOR_LAND:
        return a && b;
    case OFFBEAT_OPERATOR_LOR:
        return a || b;
    case OFFBEAT_OPERATOR_LXOR:
        return !a != !b;
    case OFFBEAT_OPERATOR_BAND:
        return a & b;
    case OFFBEAT_OPERATOR_BOR:
        return a | b;
    case OFFBEAT_OPERATOR_BXOR:
        return a ^ b;
    case OFFBEAT_OPERATOR_AFFINE:
        return compose_maps(low_bits(a, width(part)), low_bits(b, width(part)), width(part));
    default:
        return low_bits(a + b, width(part));
    }
}

/* The pair with the extreme value; of equal values the one with the smaller index. */
static offbeat_numbers extreme_pair(int is_maximum, offbeat_numbers a, offbeat_numbers b) {
    if (a.number[0] == b.number[0])
        return a.number[1] < b.number[1] ? a : b;
    return (a.number[0] < b.number[0]) != is_maximum ? a : b;
}

offbeat_numbers offbeat_combine(offbeat_operator op, const offbeat_basic_type *basic, offbeat_numbers left,
                                offbeat_numbers right) {
    const int64_t *a = left.number, *b = right.number;
    if (op == OFFBEAT_OPERATOR_MINLOC || op == OFFBEAT_OPERATOR_MAXLOC)
        return extreme_pair(op == OFFBEAT_OPERATOR_MAXLOC, left, right);
    if (op == OFFBEAT_OPERATOR_PROD && basic->family == OFFBEAT_COMPLEX_TYPES)
        return (offbeat_numbers){{a[0] * b[0] - a[1] * b[1], a[0] * b[1] + a[1] * b[0]}};
    offbeat_numbers result = {{0, 0}};
    for (int i = 0; i < basic->parts; i++)
        result.number[i] = combine_numbers(op, &basic->part[i], a[i], b[i]);
    return result;
}

offbeat_numbers offbeat_label_of(const offbeat_basic_type *basic, int rank, int block, size_t index) {
    uint64_t bits = random_bits((uint64_t)rank + 1, (uint64_t)block, index);
    offbeat_numbers label = {{0, 0}};
    for (int i = 0; i < basic->parts; i++, bits = bits * 31 >> 7) {
        const offbeat_part *part = &basic->part[i];
        label.number[i] = part->kind == OFFBEAT_REAL    ? (int64_t)(bits >> 44)
                          : part->kind == OFFBEAT_TRUTH ? (int64_t)(bits >> 63)
                                                        : (int64_t)bits;
    }
    return label;
}

void offbeat_numbers_store(const offbeat_basic_type *basic, offbeat_numbers numbers, unsigned char *element) {
    for (int i = 0; i < basic->parts; i++)
        offbeat_part_store(&basic->part[i], numbers.number[i], element);
}

offbeat_numbers offbeat_numbers_load(const offbeat_basic_type *basic, const unsigned char *element) {
    offbeat_numbers numbers = {{0, 0}};
    for (int i = 0; i < basic->parts; i++)
        numbers.number[i] = offbeat_part_load(&basic->part[i], element);
    return numbers;
}
