/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file programs_code.h
 * Whose code a call comes from: that of the program and its libraries, or of the MPI library and its plugins
 * (which implement I/O, say, by collectives of their own), of tools and of the tracer.
 */
#ifndef OFFBEAT_TRACE_PROGRAMS_CODE_H
#define OFFBEAT_TRACE_PROGRAMS_CODE_H

#include <stdatomic.h>
#include <stdint.h>

enum { OFFBEAT_MOST_CODE = 256 };

/** Code of one file. */
typedef struct offbeat_code {
    uintptr_t from, to;
    int is_programs;
} offbeat_code;

/** Code that was looked at. Entries do not change once they are counted. */
extern offbeat_code offbeat_code_known[OFFBEAT_MOST_CODE];
extern _Atomic int offbeat_code_count;

/** Looks at what is loaded. @param is_traced if not, nothing counts as the program's. Any thread. */
void offbeat_code_look(int is_traced);

/** 1: an address is in code of the program; 0: it is in other code; -1: it was not looked at. It calls
 * nothing, so that a jump that asks for it leaves its arguments where they are. */
static inline __attribute__((always_inline)) int offbeat_code_is_programs(const void *address) {
    const uintptr_t asked = (uintptr_t)address;
    const int count = atomic_load_explicit(&offbeat_code_count, memory_order_acquire);
    for (int i = 0; i < count; i++)
        if (asked >= offbeat_code_known[i].from && asked < offbeat_code_known[i].to)
            return offbeat_code_known[i].is_programs;
    return -1;
}

#endif
