/* SPDX-License-Identifier: BSD-3-Clause */
#include "benchmark/partition_data.h"

#include <string.h>

enum { PERIOD = 65521 };

static unsigned char table[PERIOD];

void offbeat_partition_data_create(void) {
    for (uint32_t i = 0; i < PERIOD; i++)
        table[i] = (unsigned char)((i * 2654435761u) >> 24);
}

/* The bytes of a repetition from byte i on, up to the end of the table. @p count: at most as many, and then
 * how many these are */
static const unsigned char *expected_bytes(int64_t repetition, int64_t i, int64_t *count) {
    const int64_t offset = (i + (uint32_t)repetition * 0x9E3779B9u) % PERIOD;
    if (*count > PERIOD - offset)
        *count = PERIOD - offset;
    return table + offset;
}

void offbeat_partition_data_fill(unsigned char *message, int64_t repetition, int64_t first, int64_t bytes) {
    const int64_t end = first + bytes;
    for (int64_t i = first, count; i < end; i += count) {
        count = end - i;
        const unsigned char *source = expected_bytes(repetition, i, &count);
        memcpy(message + i, source, (size_t)count);
    }
}

int64_t offbeat_partition_data_wrong(const unsigned char *message, int64_t repetition, int64_t bytes) {
    int64_t wrong = 0;
    for (int64_t i = 0, count; i < bytes; i += count) {
        count = bytes - i;
        const unsigned char *right = expected_bytes(repetition, i, &count);
        if (memcmp(message + i, right, (size_t)count) == 0)
            continue;
        for (int64_t k = 0; k < count; k++)
            wrong += message[i + k] != right[k];
    }
    return wrong;
}
