/* SPDX-License-Identifier: BSD-3-Clause */
#include "partitioned/tags.h"

#include <stddef.h>

/* Inserts a block behind space->before, and makes it that. */
static void insert(offbeat_partitioned_tag_space *space, offbeat_partitioned_tag_block *block) {
    offbeat_partitioned_tag_block **place = space->before != NULL ? &space->before->next : &space->blocks;
    block->previous = space->before;
    block->next = *place;
    if (block->next != NULL)
        block->next->previous = block;
    *place = space->before = block;
}

/* The search resumes where the last one ended, and looks at each block at most twice. Tags are compared as
 * 64-bit numbers: the largest tag may be the largest int. */
int offbeat_partitioned_tags_take(offbeat_partitioned_tag_space *space, int count,
                                  offbeat_partitioned_tag_block *block) {
    for (int laps = 0; laps < 2;) {
        const offbeat_partitioned_tag_block *after =
            space->before != NULL ? space->before->next : space->blocks;
        const int64_t end = after != NULL ? after->first : (int64_t)space->largest + 1;
        if (end - space->next >= count) {
            *block = (offbeat_partitioned_tag_block){.first = (int)space->next, .count = count};
            insert(space, block);
            space->next += count;
            return 1;
        }
        laps += after == NULL;
        space->next = after != NULL ? (int64_t)after->first + after->count : 0;
        space->before = (offbeat_partitioned_tag_block *)after;
    }
    return 0;
}

void offbeat_partitioned_tags_give_back(offbeat_partitioned_tag_space *space,
                                        offbeat_partitioned_tag_block *block) {
    if (block->count == 0)
        return;
    if (space->before == block)
        space->before = block->previous;
    if (block->previous != NULL)
        block->previous->next = block->next;
    else
        space->blocks = block->next;
    if (block->next != NULL)
        block->next->previous = block->previous;
    block->count = 0;
}
