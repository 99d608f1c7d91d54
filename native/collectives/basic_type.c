/* SPDX-License-Identifier: BSD-3-Clause */
#include "basic_type.h"

#include <float.h>
#include <string.h>
#include <wchar.h>

/* An 80-bit number occupies 10 of its 16 bytes. */
enum { LONG_DOUBLE_BYTES = LDBL_MANT_DIG == 64 ? 10 : sizeof(long double) };

/* Whether a C type is long double; sizeof alone does not tell it from a type of 16 bytes. */
#define SIGNIFICANT_BYTES(ctype) _Generic((ctype)0, long double: LONG_DOUBLE_BYTES, default: sizeof(ctype))
#define PART(kind, offset, ctype) {OFFBEAT_##kind, offset, sizeof(ctype), SIGNIFICANT_BYTES(ctype)}

#define OFFBEAT_NUMBER_TYPE(name, handle, ctype, kind, family)                                               \
    {#name, sizeof(ctype), {PART(kind, 0, ctype)}, 1, OFFBEAT_##family##_TYPES},
#define OFFBEAT_COMPLEX_TYPE(name, handle, ctype)                                                            \
    {#name,                                                                                                  \
     2 * sizeof(ctype),                                                                                      \
     {PART(REAL, 0, ctype), PART(REAL, sizeof(ctype), ctype)},                                               \
     2,                                                                                                      \
     OFFBEAT_COMPLEX_TYPES},
#define OFFBEAT_PAIR_TYPE(name, handle, ctype, kind)                                                         \
    {#name,                                                                                                  \
     sizeof(struct {                                                                                         \
         ctype value;                                                                                        \
         int index;                                                                                          \
     }),                                                                                                     \
     {PART(kind, 0, ctype), PART(SIGNED,                                                                     \
                                 offsetof(                                                                   \
                                     struct {                                                                \
                                         ctype value;                                                        \
                                         int index;                                                          \
                                     },                                                                      \
                                     index),                                                                 \
                                 int)},                                                                      \
     2,                                                                                                      \
     OFFBEAT_PAIR_TYPES},

static const offbeat_basic_type basic_types[] = {
#include "basic_types.def"
};

const offbeat_basic_type *offbeat_basic_type_find(const char *name, size_t length) {
    for (size_t i = 0; i < sizeof basic_types / sizeof *basic_types; i++)
        if (strlen(basic_types[i].name) == length && strncmp(basic_types[i].name, name, length) == 0)
            return &basic_types[i];
    return NULL;
}

MPI_Datatype offbeat_basic_type_handle(const offbeat_basic_type *basic) {
#define OFFBEAT_NUMBER_TYPE(name, handle, ctype, kind, family) handle,
#define OFFBEAT_COMPLEX_TYPE(name, handle, ctype) handle,
#define OFFBEAT_PAIR_TYPE(name, handle, ctype, kind) handle,
    const MPI_Datatype handles[] = {
#include "basic_types.def"
    };
    return handles[basic - basic_types];
}

static void store_real(size_t bytes, int64_t number, unsigned char *address) {
    const float single = (float)number;
    const double twice = (double)number;
    const long double extended_number = (long double)number;
    if (bytes == sizeof single)
        memcpy(address, &single, sizeof single);
    else if (bytes == sizeof twice)
        memcpy(address, &twice, sizeof twice);
    else
        memcpy(address, &extended_number, LONG_DOUBLE_BYTES);
}

static int64_t load_real(size_t bytes, const unsigned char *address) {
    float single;
    double twice;
    long double extended_number = 0;
    if (bytes == sizeof single)
        return memcpy(&single, address, sizeof single), (int64_t)single;
    if (bytes == sizeof twice)
        return memcpy(&twice, address, sizeof twice), (int64_t)twice;
    return memcpy(&extended_number, address, LONG_DOUBLE_BYTES), (int64_t)extended_number;
}

static void store_integer(size_t bytes, int64_t number, unsigned char *address) {
    const int8_t in_8_bits = (int8_t)number;
    const int16_t in_16_bits = (int16_t)number;
    const int32_t in_32_bits = (int32_t)number;
    const void *source = bytes == 1   ? (const void *)&in_8_bits
                         : bytes == 2 ? (const void *)&in_16_bits
                         : bytes == 4 ? (const void *)&in_32_bits
                                      : (const void *)&number;
    memcpy(address, source, bytes);
}

static int64_t load_integer(size_t bytes, int is_signed, const unsigned char *address) {
    int8_t in_8_bits;
    int16_t in_16_bits;
    int32_t in_32_bits;
    int64_t number;
    switch (bytes) {
    case 1:
        memcpy(&in_8_bits, address, bytes);
        return is_signed ? in_8_bits : (int64_t)(uint8_t)in_8_bits;
    case 2:
        memcpy(&in_16_bits, address, bytes);
        return is_signed ? in_16_bits : (int64_t)(uint16_t)in_16_bits;
    case 4:
        memcpy(&in_32_bits, address, bytes);
        return is_signed ? in_32_bits : (int64_t)(uint32_t)in_32_bits;
    default:
        memcpy(&number, address, sizeof number);
        return number;
    }
}

void offbeat_part_store(const offbeat_part *part, int64_t number, unsigned char *element) {
    unsigned char *address = element + part->offset;
    if (part->kind == OFFBEAT_REAL)
        store_real(part->bytes, number, address);
    else
        store_integer(part->bytes, part->kind == OFFBEAT_TRUTH ? number != 0 : number, address);
}

int64_t offbeat_part_load(const offbeat_part *part, const unsigned char *element) {
    const unsigned char *address = element + part->offset;
    return part->kind == OFFBEAT_REAL ? load_real(part->bytes, address)
                                      : load_integer(part->bytes, part->kind == OFFBEAT_SIGNED, address);
}

/* Whether a floating-point number is 0 or -0: its sign is the highest bit. */
static int is_real_zero(const offbeat_part *part, const unsigned char *element) {
    const unsigned char *address = element + part->offset;
    size_t last = part->significant_bytes - 1;
    for (size_t i = 0; i < last; i++)
        if (address[i])
            return 0;
    return (address[last] & 0x7f) == 0;
}

int offbeat_part_equals(const offbeat_part *part, const unsigned char *a, const unsigned char *b) {
    if (part->kind == OFFBEAT_REAL && is_real_zero(part, a) && is_real_zero(part, b))
        return 1;
    return memcmp(a + part->offset, b + part->offset, part->significant_bytes) == 0;
}
