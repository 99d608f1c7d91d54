/* SPDX-License-Identifier: BSD-3-Clause */
/** @file mappings.h  Where code lies in memory, so that addresses can be looked up in files later. */
#ifndef OFFBEAT_TRACE_MAPPINGS_H
#define OFFBEAT_TRACE_MAPPINGS_H

#include "trace/lane.h"

/** Writes the mappings of code that are not in the file yet. */
void offbeat_mappings_write(void);

/** Looks for code that was loaded since, where an address isn't in what is known. */
void offbeat_mappings_look_up(offbeat_lane *lane, uint64_t address);

/** Sees to it that the code at an address is in the file. */
static inline void offbeat_mappings_see(offbeat_lane *lane, uint64_t address) {
    if (address - lane->code_from >= lane->code_bytes)
        offbeat_mappings_look_up(lane, address);
}

#endif
