/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file call_path.h
 * Where a call was made: the return address alone, or with those of its callers and the Python frames
 * (offbeat_trace_path). A path is written into the file once; records hold its id.
 *
 * Unwinding the stack takes about a microsecond. So each thread caches the unwinder's results: for a return
 * address and a stack pointer, where on the stack the next return address is. With that a known path costs
 * one memory access for each caller. This is exact for functions with frames of a fixed size, that is, all
 * except those with alloca or arrays of variable length.
 */
#ifndef OFFBEAT_TRACE_CALL_PATH_H
#define OFFBEAT_TRACE_CALL_PATH_H

#include "trace/process_state.h"
#include "trace/python_frames.h"
#include "trace/thread_state.h"

/* --- the memory mappings of code, by which readers look up addresses in files --- */

/** Defines the mappings of code that are not in the file yet. */
void offbeat_tracer_define_mappings(void);

/** Finds the mapping of an address that is not in the thread's last one; reads the mappings again if it is
 * new. */
void offbeat_tracer_find_mapping(offbeat_tracer_thread *thread, uint64_t address);

/** Makes sure that the mapping of an address is in the file. */
static inline void offbeat_tracer_ensure_mapping(offbeat_tracer_thread *thread, uint64_t address) {
    if (address - thread->code_start >= thread->code_bytes)
        offbeat_tracer_find_mapping(thread, address);
}

/* --- call paths --- */

/** The caller of a wrapper. */
typedef struct offbeat_tracer_caller {
    const void *address;       /**< the wrapper's return address */
    const void *stack_pointer; /**< after the return */
} offbeat_tracer_caller;

/** The caller of the function that uses this macro. */
#define OFFBEAT_TRACER_CALLER                                                                                \
    ((offbeat_tracer_caller){__builtin_extract_return_addr(__builtin_return_address(0)),                     \
                             __builtin_dwarf_cfa()})

/** The call site if it may be a path; for offbeat_tracer_call_site. */
uint64_t offbeat_tracer_call_path(offbeat_tracer_thread *thread, offbeat_tracer_caller caller);

/**
 * The `address` of a record: the id of a call path with OFFBEAT_TRACE_IS_PATH, or the return address. Writes
 * the definitions that it needs. Call it from the wrapper or a function that the wrapper calls, while the
 * callers' frames exist.
 */
OFFBEAT_TRACER_INLINE uint64_t offbeat_tracer_call_site(offbeat_tracer_thread *thread,
                                                        offbeat_tracer_caller caller) {
    const int depth = offbeat_tracer_state.config.depth;
    const uint64_t address = (uint64_t)(uintptr_t)caller.address;
    offbeat_tracer_ensure_mapping(thread, address);
    const int has_path = depth > 1 || (depth == 1 && offbeat_tracer_python_is_available());
    return has_path ? offbeat_tracer_call_path(thread, caller) : address;
}

#endif
