/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests without MPI: data that partitions fill by themselves are those of the message, and no byte that is
 * wrong, displaced or of an earlier repetition is taken for a right one.
 */
#include "benchmark/partition_data.h"
#include "testing/assert.h"

#include <string.h>

enum { BYTES = 200003 };

static unsigned char message[BYTES + 1], other_message[BYTES + 1];

static int64_t wrong(int64_t repetition) {
    return offbeat_partition_data_wrong(message, repetition, BYTES);
}

static void partitions_fill_what_the_message_has(void) {
    const int64_t partitions[] = {1, 7, 4096, 65521, 65522, BYTES};
    for (size_t k = 0; k < sizeof partitions / sizeof *partitions; k++) {
        memset(message, 0, sizeof message);
        for (int64_t first = 0; first < BYTES; first += partitions[k]) {
            const int64_t rest = BYTES - first;
            offbeat_partition_data_fill(message, 5, first, rest < partitions[k] ? rest : partitions[k]);
        }
        test_assert(wrong(5) == 0, "Partitions of %lld bytes differ from the message.",
                    (long long)partitions[k]);
        test_assert(message[BYTES] == 0, "A byte after the message was written.");
    }
}

static void each_changed_byte_counts(void) {
    offbeat_partition_data_fill(message, 1, 0, BYTES);
    message[0] ^= 1;
    message[65521] ^= 128;
    message[BYTES - 1] ^= 3;
    test_assert(wrong(1) == 3, "%lld bytes are wrong, not 3.", (long long)wrong(1));
    test_assert(offbeat_partition_data_wrong(message, 1, 0) == 0, "A message without bytes has wrong ones.");
}

/* By chance, one byte of 256 is right. */
static void other_data_are_wrong(void) {
    const int64_t least = BYTES / 100 * 95, distances[] = {1, 16, 4096, 65536, 100000};
    for (int64_t repetition = 2; repetition < 200; repetition++) {
        offbeat_partition_data_fill(message, repetition - 1, 0, BYTES);
        test_assert(wrong(repetition) > least, "Data of repetition %lld are not new.", (long long)repetition);
    }
    offbeat_partition_data_fill(other_message, 1, 0, BYTES);
    for (size_t k = 0; k < sizeof distances / sizeof *distances; k++) {
        const size_t distance = (size_t)distances[k];
        memcpy(message, other_message + distance, BYTES - distance);
        memcpy(message + BYTES - distance, other_message, distance);
        test_assert(wrong(1) > least, "Data that are displaced by %zu bytes are not noticed.", distance);
    }
}

int main(void) {
    offbeat_partition_data_create();
    partitions_fill_what_the_message_has();
    each_changed_byte_counts();
    other_data_are_wrong();
    return 0;
}
