/* SPDX-License-Identifier: BSD-3-Clause */
/** @file wishes.h  What the environment says about harmonised starts. */
#ifndef OFFBEAT_HARMONIZE_WISHES_H
#define OFFBEAT_HARMONIZE_WISHES_H

#include <stddef.h>
#include <stdint.h>

/** The wishes, or what holds without them. */
typedef struct offbeat_wishes {
    int64_t tolerance_ns; /**< OFFBEAT_HARMONIZE_TOLERANCE_NS, else 1000 */
    int yield;            /**< OFFBEAT_YIELD: 0 or 1, else OFFBEAT_YIELD_WHERE_CROWDED */
} offbeat_wishes;

/**
 * Reads the environment. An empty variable counts as one that isn't set.
 * @param[out] why a sentence when a variable can't be read; @p bytes long
 * @return 0, or -1 when a variable can't be read
 */
int offbeat_wishes_read(offbeat_wishes *wishes, char *why, size_t bytes);

#endif
