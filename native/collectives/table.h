/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file table.h
 * The table of collectives: a row says what each sends, what it receives, what is right, and how it is
 * called.
 *
 * Everything else in this directory reads rows and knows no collective by name.
 */
#ifndef OFFBEAT_TABLE_H
#define OFFBEAT_TABLE_H

#include "collectives.h"

/** How long a buffer is, in blocks of count elements. */
typedef enum offbeat_blocks {
    OFFBEAT_NO_BLOCK,
    OFFBEAT_ONE_BLOCK,
    OFFBEAT_BLOCK_PER_RANK,
} offbeat_blocks;

/** What is right in a receive buffer. */
typedef enum offbeat_content {
    OFFBEAT_NOTHING,     /**< no buffer */
    OFFBEAT_FROM_ROOT,   /**< what the root sent */
    OFFBEAT_FROM_EACH,   /**< block s is what rank s sent */
    OFFBEAT_FOLD_ALL,    /**< the reduction over all ranks */
    OFFBEAT_FOLD_UPTO,   /**< the reduction over ranks 0 to this one */
    OFFBEAT_FOLD_BEFORE, /**< the reduction over ranks 0 to the one before this; undefined on rank 0 */
} offbeat_content;

/** A row. */
typedef struct offbeat_collective {
    const char *name;
    offbeat_blocks send;        /**< the send buffer; index 0 is its first element */
    offbeat_blocks receive;     /**< the receive buffer */
    offbeat_content content;    /**< what is right in the receive buffer */
    int has_root;               /**< takes a root */
    int sends_at_root;          /**< only the root's send buffer is significant */
    int receives_at_root;       /**< only the root's receive buffer is significant */
    int takes_own_block;        /**< what rank r receives begins at index r * count of the senders' buffers */
    int is_irregular;           /**< takes a count for each rank */
    int (*run)(offbeat_call *); /**< the MPI call */
} offbeat_collective;

/** @return the row of that name, or NULL */
const offbeat_collective *offbeat_collective_find(const char *name);

/** Whether the row takes an operation. */
int offbeat_collective_folds(const offbeat_collective *collective);

#endif
