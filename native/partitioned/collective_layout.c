/* SPDX-License-Identifier: BSD-3-Clause */
#include "partitioned/collective_layout.h"

#include "partitioned/layout.h"

enum { LARGEST_FANOUT = 8, LEAST_MESSAGE_BYTES = 32768, USUAL_MESSAGES = 128 };

static int64_t smaller(int64_t a, int64_t b) {
    return a < b ? a : b;
}

int64_t offbeat_partitioned_default_message_bytes(int size, int64_t total_bytes) {
    const int64_t bytes = total_bytes / (size > USUAL_MESSAGES ? size : USUAL_MESSAGES);
    return bytes > LEAST_MESSAGE_BYTES ? bytes : LEAST_MESSAGE_BYTES;
}

offbeat_partitioned_blocks offbeat_partitioned_divide(int partitions, int64_t units, int64_t unit_bytes,
                                                      int64_t message_bytes) {
    const int64_t total = partitions * units;
    const int groups = offbeat_partitioned_messages_of_bytes(partitions, units * unit_bytes, message_bytes);
    const int64_t group_units = total / groups;
    int64_t blocks = smaller(group_units * unit_bytes / message_bytes, group_units);
    blocks = smaller(blocks, OFFBEAT_PARTITIONED_MOST_MESSAGES / groups);
    return (offbeat_partitioned_blocks){partitions, units, groups, blocks < 1 ? 1 : (int)blocks};
}

int64_t offbeat_partitioned_first_unit(const offbeat_partitioned_blocks *layout, int message) {
    const int group = message / layout->blocks, block = message % layout->blocks;
    const int64_t first =
        layout->units * offbeat_partitioned_first_partition(layout->partitions, layout->groups, group);
    if (block == 0)
        return first;
    const int64_t next =
        layout->units * offbeat_partitioned_first_partition(layout->partitions, layout->groups, group + 1);
    const int64_t whole = (next - first) / layout->blocks, rest = (next - first) % layout->blocks;
    return first + block * whole + block * rest / layout->blocks;
}

offbeat_partitioned_tree offbeat_partitioned_tree_of(int rank, int size, int root, int fanout) {
    const int number = (int)(((int64_t)rank - root + size) % size);
    const int64_t first = (int64_t)number * fanout + 1;
    return (offbeat_partitioned_tree){
        .parent = number == 0 ? -1 : (int)(((number - 1) / fanout + (int64_t)root) % size),
        .first_child = (int)((first + root) % size),
        .children = first >= size ? 0 : (int)smaller(fanout, size - first),
    };
}

/* The largest number of processes between the root and another one, plus one. */
static int depth_of(int size, int fanout) {
    int depth = 0;
    for (int64_t number = size - 1; number > 0; number = (number - 1) / fanout)
        depth++;
    return depth;
}

int offbeat_partitioned_best_fanout(int size, int messages) {
    int best = 1;
    int64_t least = INT64_MAX;
    for (int fanout = 1; fanout <= LARGEST_FANOUT; fanout++) {
        const int64_t steps = (int64_t)fanout * (messages - 1 + depth_of(size, fanout));
        if (steps < least) {
            least = steps;
            best = fanout;
        }
    }
    return best;
}

int offbeat_partitioned_ring_start(int size, int message, int is_in_rank_order) {
    return is_in_rank_order ? 0 : message % size;
}
