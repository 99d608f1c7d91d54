/* SPDX-License-Identifier: BSD-3-Clause */
/** @file code_mappings.h  The memory mappings of code, by which readers look up addresses in files. */
#ifndef OFFBEAT_TRACE_CODE_MAPPINGS_H
#define OFFBEAT_TRACE_CODE_MAPPINGS_H

#include "trace/thread_state.h"

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

#endif
