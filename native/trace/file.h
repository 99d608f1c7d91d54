/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file file.h
 * The trace file of this process: pages of a file that is mapped as it grows. See format.h for what they
 * hold.
 *
 * Space is taken from the file system before it is written to, so that a full disk is an error code and not a
 * signal; what was written survives the process. Pages that are full are unmapped: memory stays bounded.
 */
#ifndef OFFBEAT_TRACE_FILE_H
#define OFFBEAT_TRACE_FILE_H

#include "trace/format.h"

#include <stddef.h>

/**
 * Creates the file. Call it once, before all else here.
 * @param limit_bytes pages of records stop when the file would become longer; 0: never
 * @return 0, or an errno value
 */
int offbeat_file_create(const char *path, uint64_t limit_bytes);

/** The header in the file; NULL before offbeat_file_create and after offbeat_file_close. */
offbeat_trace_header *offbeat_file_header(void);

/**
 * Takes a new page, zeros after its beginning. Any thread. After the first failure every call fails; the
 * header says why. Pages of definitions don't count against the limit.
 * @return NULL where there is none
 */
offbeat_trace_page *offbeat_file_take(uint32_t kind, uint32_t lane);

/** Says that nobody writes to a page any more. Any thread. */
void offbeat_file_leave(offbeat_trace_page *page);

/** Counts a record that found no room. Any thread. */
void offbeat_file_lose(void);

/** Cuts off what was taken and not used, and closes the file. No other thread may write any more. */
void offbeat_file_close(void);

#endif
