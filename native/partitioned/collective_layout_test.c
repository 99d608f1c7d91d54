/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests without MPI: messages of a collective cover all units once, trees reach every process once.
 */
#include "partitioned/collective_layout.h"
#include "partitioned/layout.h"
#include "testing/assert.h"

static void messages_cover_all_units_in_order(void) {
    static const int64_t units[] = {0, 1, 2, 7, 100, 4096, (int64_t)1 << 40};
    for (int n = 0; n <= 70; n += n < 5 ? 1 : 13)
        for (int i = 0; i < 7; i++)
            for (int64_t bytes = 1; bytes <= 1 << 20; bytes *= 32) {
                const offbeat_partitioned_blocks layout = offbeat_partitioned_divide(n, units[i], 8, bytes);
                const int messages = layout.groups * layout.blocks;
                test_assert(messages >= 1 && messages <= OFFBEAT_PARTITIONED_MOST_MESSAGES,
                            "%d partitions have %d messages.", n, messages);
                test_assert(offbeat_partitioned_first_unit(&layout, 0) == 0, "The first unit is not 0.");
                test_assert(offbeat_partitioned_first_unit(&layout, messages) == n * units[i],
                            "The messages do not end with the last unit.");
                for (int m = 0; m < messages; m++)
                    test_assert(offbeat_partitioned_first_unit(&layout, m) <=
                                    offbeat_partitioned_first_unit(&layout, m + 1),
                                "Message %d of %d partitions overlaps the next one.", m, n);
            }
}

static void small_partitions_share_a_message(void) {
    const offbeat_partitioned_blocks small = offbeat_partitioned_divide(1000, 128, 8, 32768);
    test_assert(small.groups == 31 && small.blocks == 1, "1000 partitions of 1 KiB have %d groups.",
                small.groups);
    const offbeat_partitioned_blocks large = offbeat_partitioned_divide(4, 16384, 8, 32768);
    test_assert(large.groups == 4 && large.blocks == 4, "4 partitions of 128 KiB have %d blocks each.",
                large.blocks);
}

static void default_messages_are_neither_small_nor_many(void) {
    test_assert(offbeat_partitioned_default_message_bytes(2, 1 << 20) == 32768, "1 MiB has small messages.");
    test_assert(offbeat_partitioned_default_message_bytes(2, 1 << 24) == 131072,
                "16 MiB have many messages.");
    test_assert(offbeat_partitioned_default_message_bytes(256, 1 << 24) == 65536,
                "A ring of 256 has fewer messages than processes.");
}

static int is_child(offbeat_partitioned_tree layout, int size, int rank) {
    return (rank - layout.first_child + size) % size < layout.children;
}

static void every_process_is_the_child_of_its_parent_and_of_no_other(void) {
    for (int size = 1; size <= 20; size++)
        for (int root = 0; root < size; root++)
            for (int fanout = 1; fanout <= 9; fanout++)
                for (int rank = 0; rank < size; rank++) {
                    const int parent = offbeat_partitioned_tree_of(rank, size, root, fanout).parent;
                    test_assert((parent < 0) == (rank == root), "Rank %d has the parent %d.", rank, parent);
                    for (int peer = 0; peer < size; peer++)
                        test_assert(is_child(offbeat_partitioned_tree_of(peer, size, root, fanout), size,
                                             rank) == (peer == parent),
                                    "Ranks %d and %d disagree.", rank, peer);
                }
}

static void many_messages_use_a_chain_and_few_a_tree(void) {
    test_assert(offbeat_partitioned_best_fanout(2, 1) == 1, "Two processes are no chain.");
    test_assert(offbeat_partitioned_best_fanout(8, 256) == 1, "Many messages do not use a chain.");
    test_assert(offbeat_partitioned_best_fanout(1024, 16) == 2, "Many processes do not use a tree.");
}

int main(void) {
    messages_cover_all_units_in_order();
    small_partitions_share_a_message();
    default_messages_are_neither_small_nor_many();
    every_process_is_the_child_of_its_parent_and_of_no_other();
    many_messages_use_a_chain_and_few_a_tree();
    return 0;
}
