/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file next.h
 * The functions behind the wrappers: the next of their name after this library, which is the MPI library's or
 * that of another tool.
 */
#ifndef OFFBEAT_TRACE_NEXT_H
#define OFFBEAT_TRACE_NEXT_H

#include <stdatomic.h>
#include <stddef.h>

/** What a wrapper remembers. */
typedef _Atomic(void *) offbeat_next_function;

/** Looks a function up; ends the program with a sentence where the MPI library doesn't have it. */
void *offbeat_next_look_up(offbeat_next_function *next, const char *name);

static inline void *offbeat_next(offbeat_next_function *next, const char *name) {
    void *function = atomic_load_explicit(next, memory_order_relaxed);
    return function != NULL ? function : offbeat_next_look_up(next, name);
}

#endif
