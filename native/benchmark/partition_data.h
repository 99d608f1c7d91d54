/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file partition_data.h
 * What a measured partitioned message contains, so that the receiver can check each byte.
 *
 * Data differ by repetition, and repeat only after a prime number of bytes, so that displaced data and those
 * of an earlier repetition are noticed. They are copied from a table: computing each byte of 4 MiB would take
 * longer than sending them.
 */
#ifndef OFFBEAT_PARTITION_DATA_H
#define OFFBEAT_PARTITION_DATA_H

#include <stdint.h>

/** Computes the table. Call it before the other functions, and before threads are started. */
void offbeat_partition_data_create(void);

/** Writes @p bytes of a repetition's message, from byte @p first on, to the same place of @p message. */
void offbeat_partition_data_fill(unsigned char *message, int64_t repetition, int64_t first, int64_t bytes);

/** @return how many of the first @p bytes of @p message are not those of the repetition */
int64_t offbeat_partition_data_wrong(const unsigned char *message, int64_t repetition, int64_t bytes);

#endif
