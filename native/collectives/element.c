/* SPDX-License-Identifier: BSD-3-Clause */
#include "element.h"

#include <limits.h>
#include <string.h>

/** Properties of a datatype: it represents magnitudes below 2^bits exactly, without its sign bit. */
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
    [OFFBEAT_GAPPED_PAIR] = {"gapped", 4 * sizeof(long), (int)(CHAR_BIT * sizeof(long)) - 1, 0},
};

static const char *const op_names[OFFBEAT_OPS] = {
    [OFFBEAT_SUM] = "sum",   [OFFBEAT_PROD] = "prod",      [OFFBEAT_MAX] = "max",
    [OFFBEAT_MIN] = "min",   [OFFBEAT_BAND] = "band",      [OFFBEAT_BOR] = "bor",
    [OFFBEAT_BXOR] = "bxor", [OFFBEAT_COMPOSE] = "affine", [OFFBEAT_USER_SUM] = "user_sum",
};

/**
 * The number of ranks per residue that contribute a factor of 2 or 3 to a product, or, for bytes, a summand
 * other than 0. 3^15 < 2^24, so that floats are exact; 3^5 and 15 * 17 < 2^8.
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
        return datatype == OFFBEAT_DOUBLE || datatype == OFFBEAT_GAPPED_PAIR;
    if (datatype == OFFBEAT_ODD || datatype == OFFBEAT_WIDE || datatype == OFFBEAT_GAPPED_PAIR)
        return 0;
    if (op == OFFBEAT_BAND || op == OFFBEAT_BOR || op == OFFBEAT_BXOR)
        return traits[datatype].is_integer;
    return 1;
}

uint64_t offbeat_spread(uint64_t x) {
    x += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

/** 64 pseudo-random bits, a function of rank and residue. */
static uint64_t noise(int rank, size_t residue) {
    return offbeat_spread((uint64_t)rank * OFFBEAT_PERIOD + residue);
}

/** The largest number that a datatype represents exactly. */
static uint64_t largest(offbeat_datatype datatype) {
    return (UINT64_C(1) << traits[datatype].bits) - 1;
}

/** A number from 1 to limit. */
static int64_t positive(uint64_t bits, uint64_t limit) {
    return (int64_t)(1 + bits % limit);
}

offbeat_value offbeat_label(offbeat_datatype datatype, int rank, size_t index) {
    /* Odd multiples of different ranks differ modulo any larger power of two. */
    uint64_t label = (uint64_t)rank * UINT64_C(0x9e3779b97f4a7c15) + offbeat_spread(index % OFFBEAT_PERIOD);
    return (offbeat_value){(int64_t)(label & largest(datatype)),
                           (int64_t)(offbeat_spread(label) & largest(datatype))};
}

/**
 * Selects at most @p limit of p ranks, evenly spread, and different ones at other residues.
 * @return the rank's index among the selected ones, from an arbitrary origin; -1 if it is not selected
 */
static int64_t selected_index(int limit, int p, int rank, size_t residue) {
    int64_t stride = ((int64_t)p + limit - 1) / limit;
    int64_t shifted_rank = rank + (int64_t)(offbeat_spread(residue) % (uint64_t)p);
    return shifted_rank % stride == 0 ? shifted_rank / stride : -1;
}

/** From 1 to the largest number of which p are added exactly; with many ranks most bytes are 0. */
static int64_t summand(offbeat_datatype datatype, int p, int rank, size_t residue) {
    int64_t summands = p;
    if (datatype == OFFBEAT_BYTE && p > BYTE_SUMMANDS) {
        if (selected_index(BYTE_SUMMANDS, p, rank, residue) < 0)
            return 0;
        summands = BYTE_SUMMANDS;
    }
    return positive(noise(rank, residue), largest(datatype) / (uint64_t)summands);
}

static int64_t factor(offbeat_datatype datatype, int p, int rank, size_t residue) {
    uint64_t bits = noise(rank, residue);
    int is_byte = datatype == OFFBEAT_BYTE;
    int is_large = selected_index(is_byte ? BYTE_FACTORS : FACTORS, p, rank, residue) >= 0;
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
    int64_t index = selected_index(bits / 2, p, rank, residue);
    return index < 0 ? 0
                     : INT64_C(1) << (((uint64_t)index + offbeat_spread(~residue) % (uint64_t)bits) %
                                      (uint64_t)bits);
}

static offbeat_value affine_map(int rank, size_t residue) {
    uint64_t bits = noise(rank, residue);
    uint64_t slopes = (uint64_t)OFFBEAT_PRIME - 2; /* neither 0 nor 1 */
    return (offbeat_value){1 + positive(bits, slopes),
                           (int64_t)(offbeat_spread(bits) % (uint64_t)OFFBEAT_PRIME)};
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

/** The composition x -> left(right(x)), modulo the prime. */
static offbeat_value compose(offbeat_value left, offbeat_value right) {
    return (offbeat_value){left.first * right.first % OFFBEAT_PRIME,
                           (left.first * right.second + left.second) % OFFBEAT_PRIME};
}

offbeat_value offbeat_reduce_values(offbeat_op op, offbeat_value left, offbeat_value right) {
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
    case OFFBEAT_GAPPED_PAIR:
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
    for (size_t i = 0; datatype == OFFBEAT_GAPPED_PAIR && i < count; i++) {
        memset(&numbers[4 * i + 1], byte, sizeof *numbers);
        memset(&numbers[4 * i + 3], byte, sizeof *numbers);
    }
}

static void initialize(offbeat_content *content, offbeat_datatype datatype, size_t count) {
    content->datatype = datatype;
    content->elements = count < OFFBEAT_PERIOD ? count : OFFBEAT_PERIOD;
}

void offbeat_content_of_rank(offbeat_content *content, offbeat_datatype datatype, int rank, size_t first,
                             size_t count) {
    size_t extent = offbeat_datatype_extent(datatype);
    initialize(content, datatype, count);
    for (size_t i = 0; i < content->elements; i++)
        offbeat_store(datatype, offbeat_label(datatype, rank, first + i), content->bytes + i * extent);
}

void offbeat_content_of_reduction(offbeat_content *content, offbeat_datatype datatype, offbeat_op op, int p,
                                  int low, int high, size_t first, size_t count) {
    size_t extent = offbeat_datatype_extent(datatype);
    initialize(content, datatype, count);
    for (size_t i = 0; i < content->elements; i++) {
        offbeat_value result = offbeat_term(datatype, op, p, low, first + i);
        for (int rank = low + 1; rank < high; rank++)
            result = offbeat_reduce_values(op, result, offbeat_term(datatype, op, p, rank, first + i));
        offbeat_store(datatype, result, content->bytes + i * extent);
    }
}

void offbeat_content_copy(const offbeat_content *source, offbeat_content *target) {
    initialize(target, source->datatype, source->elements);
    memcpy(target->bytes, source->bytes, source->elements * offbeat_datatype_extent(source->datatype));
}

void offbeat_content_invert(offbeat_content *content) {
    size_t bytes = content->elements * offbeat_datatype_extent(content->datatype);
    for (size_t i = 0; i < bytes; i++)
        content->bytes[i] = (unsigned char)~content->bytes[i];
    offbeat_fill_gaps(content->datatype, OFFBEAT_GAP_RECEIVED, content->bytes, content->elements);
}

/** Number of elements to write or compare when @p remaining elements of a buffer are left. */
static size_t chunk(const offbeat_content *content, size_t remaining_count) {
    return remaining_count < content->elements ? remaining_count : content->elements;
}

void offbeat_content_write(const offbeat_content *content, void *buffer, size_t count) {
    size_t extent = offbeat_datatype_extent(content->datatype);
    for (size_t copied_count = 0; copied_count < count; copied_count += content->elements)
        memcpy((unsigned char *)buffer + copied_count * extent, content->bytes,
               chunk(content, count - copied_count) * extent);
}

size_t offbeat_content_count_wrong(const offbeat_content *content, const void *buffer, size_t count) {
    size_t extent = offbeat_datatype_extent(content->datatype);
    size_t wrong = 0;
    for (size_t copied_count = 0; copied_count < count; copied_count += content->elements) {
        const unsigned char *actual = (const unsigned char *)buffer + copied_count * extent;
        size_t elements = chunk(content, count - copied_count);
        if (memcmp(actual, content->bytes, elements * extent) == 0)
            continue;
        for (size_t i = 0; i < elements; i++)
            wrong += memcmp(actual + i * extent, content->bytes + i * extent, extent) != 0;
    }
    return wrong;
}
