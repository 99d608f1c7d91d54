/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file call_path.h
 * Where a call was made: the return address alone, or with the addresses of its callers and the frames of
 * Python (offbeat_trace_path). A path is written into the file once; records hold its id.
 *
 * Unwinding the stack takes about a microsecond. So each thread remembers what the unwinder found: in the
 * frame of this return address at this place of the stack, the next return address lies there. With that a
 * known path costs one memory access for each caller. This is exact for functions whose frames have a fixed
 * size, which is all but those with alloca or arrays of variable length.
 */
#ifndef OFFBEAT_TRACE_CALL_PATH_H
#define OFFBEAT_TRACE_CALL_PATH_H

#include "trace/lane.h"
#include "trace/mappings.h"
#include "trace/process.h"
#include "trace/python_frames.h"

/** The caller of a wrapper. */
typedef struct offbeat_caller {
    const void *address; /**< to which the wrapper returns */
    const void *frame;   /**< the stack pointer there */
} offbeat_caller;

/** The caller of the function that this stands in. */
#define OFFBEAT_CALLER                                                                                       \
    ((offbeat_caller){__builtin_extract_return_addr(__builtin_return_address(0)), __builtin_dwarf_cfa()})

/** The id of a call path; for offbeat_call_site. */
uint64_t offbeat_call_path(offbeat_lane *lane, offbeat_caller caller);

/**
 * What a record says of its call site: the id of a call path with OFFBEAT_TRACE_IS_PATH, or the return
 * address. What readers need for it is in the file afterwards. Call it from the wrapper, or from what the
 * wrapper calls: the callers' frames must still be there.
 */
OFFBEAT_INLINE uint64_t offbeat_call_site(offbeat_lane *lane, offbeat_caller caller) {
    const int depth = offbeat_process.wishes.depth;
    const uint64_t address = (uint64_t)(uintptr_t)caller.address;
    offbeat_mappings_see(lane, address);
    const int has_path = depth > 1 || (depth == 1 && offbeat_python_is_there());
    return has_path ? offbeat_call_path(lane, caller) : address;
}

#endif
