/* SPDX-License-Identifier: BSD-3-Clause */
#include "partitioned/tags.h"

#include <stddef.h>

/* Inserts a block behind space->before, and makes it that. */
static void insert(offbeat_partitioned_tag_space *space, offbeat_partitioned_tag_block *block) {
    offbeat_partitioned_tag_block **link =
        space->last_before != NULL ? &space->last_before->next : &space->blocks;
    block->previous = space->last_before;
    block->next = *link;
    if (block->next != NULL)
        block->next->previous = block;
    *link = space->last_before = block;
}

/* The search resumes where the last one ended, and looks at each block at most twice. Tags are compared as
 * 64-bit numbers: the largest tag may be the largest int. */
int offbeat_partitioned_tags_take(offbeat_partitioned_tag_space *space, int count,
                                  offbeat_partitioned_tag_block *block) {
    for (int laps = 0; laps < 2;) {
        const offbeat_partitioned_tag_block *next_block =
            space->last_before != NULL ? space->last_before->next : space->blocks;
        const int64_t end = next_block != NULL ? next_block->first : (int64_t)space->largest + 1;
        if (end - space->next >= count) {
            *block = (offbeat_partitioned_tag_block){.first = (int)space->next, .count = count};
            insert(space, block);
            space->next += count;
            return 1;
        }
        laps += next_block == NULL;
        space->next = next_block != NULL ? (int64_t)next_block->first + next_block->count : 0;
        space->last_before = (offbeat_partitioned_tag_block *)next_block;
    }
    return 0;
}

void offbeat_partitioned_tags_give_back(offbeat_partitioned_tag_space *space,
                                        offbeat_partitioned_tag_block *block) {
    if (block->count == 0)
        return;
    if (space->last_before == block)
        space->last_before = block->previous;
    if (block->previous != NULL)
        block->previous->next = block->next;
    else
        space->blocks = block->next;
    if (block->next != NULL)
        block->next->previous = block->previous;
    block->count = 0;
}
