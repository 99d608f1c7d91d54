/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file tags.h
 * Blocks of consecutive tags for the messages of requests. A block is used again only after all other tags:
 * a message of the former owner could still be on its way. Without MPI; the caller locks.
 */
#ifndef OFFBEAT_PARTITIONED_TAGS_H
#define OFFBEAT_PARTITIONED_TAGS_H

#include <stdint.h>

typedef struct offbeat_partitioned_tag_block {
    int first, count;
    struct offbeat_partitioned_tag_block *previous, *next;
} offbeat_partitioned_tag_block;

typedef struct offbeat_partitioned_tag_space {
    int largest;                                /**< tags are 0 to largest */
    int64_t next;                               /**< where the search for the next block begins */
    offbeat_partitioned_tag_block *blocks;      /**< in use, in ascending order */
    offbeat_partitioned_tag_block *last_before; /**< the last one that begins before next; NULL: none */
} offbeat_partitioned_tag_space;

/** Takes count tags. @return 0 when there is no such block left, else 1 */
int offbeat_partitioned_tags_take(offbeat_partitioned_tag_space *space, int count,
                                  offbeat_partitioned_tag_block *block);

/** Gives a block back; does nothing for a block that was not taken (count is 0). */
void offbeat_partitioned_tags_give_back(offbeat_partitioned_tag_space *space,
                                        offbeat_partitioned_tag_block *block);

#endif
