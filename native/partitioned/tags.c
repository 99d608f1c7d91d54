/* SPDX-License-Identifier: BSD-3-Clause */
#include "partitioned/tags.h"

#include <stddef.h>

/* A block in use that shares tags with [first, first + count); NULL when there is none. */
static const offbeat_partitioned_tag_block *conflict(const offbeat_partitioned_tag_space *space, int first,
                                                     int count) {
    for (const offbeat_partitioned_tag_block *block = space->blocks; block != NULL; block = block->next)
        if (first < block->first + block->count && block->first < first + count)
            return block;
    return NULL;
}

static void add(offbeat_partitioned_tag_space *space, offbeat_partitioned_tag_block *block) {
    block->previous = NULL;
    block->next = space->blocks;
    if (space->blocks != NULL)
        space->blocks->previous = block;
    space->blocks = block;
}

int offbeat_partitioned_tags_take(offbeat_partitioned_tag_space *space, int count,
                                  offbeat_partitioned_tag_block *block) {
    int wraps = 0, first = space->next;
    while (wraps < 2) {
        if (count - 1 > space->largest - first) {
            first = 0;
            wraps++;
            continue;
        }
        const offbeat_partitioned_tag_block *other = conflict(space, first, count);
        if (other == NULL) {
            *block = (offbeat_partitioned_tag_block){.first = first, .count = count};
            add(space, block);
            space->next = space->largest - first >= count ? first + count : 0;
            return 1;
        }
        first =
            space->largest - other->first >= other->count ? other->first + other->count : space->largest + 1;
        if (first > space->largest) {
            first = 0;
            wraps++;
        }
    }
    return 0;
}

void offbeat_partitioned_tags_give_back(offbeat_partitioned_tag_space *space,
                                        offbeat_partitioned_tag_block *block) {
    if (block->count == 0)
        return;
    if (block->previous != NULL)
        block->previous->next = block->next;
    else
        space->blocks = block->next;
    if (block->next != NULL)
        block->next->previous = block->previous;
    block->count = 0;
}
