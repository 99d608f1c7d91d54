/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file mapping_guard.h
 * Survival of the process if another program truncates a file that is mapped: a store to a page that the file
 * does not have any more raises SIGBUS. The guard's handler replaces such pages by private memory, so that
 * the store succeeds, though without effect on the file. Signals with other causes take the action that the
 * program set before.
 */
#ifndef OFFBEAT_TRACE_MAPPING_GUARD_H
#define OFFBEAT_TRACE_MAPPING_GUARD_H

#include <stdatomic.h>
#include <stddef.h>

/** A mapping that is guarded. Its memory is never freed, as the handler may read it at any time. */
typedef struct offbeat_tracer_guarded {
    _Atomic(char *) start; /**< NULL: nothing is guarded */
    size_t bytes;
    struct offbeat_tracer_guarded *next;
} offbeat_tracer_guarded;

/** Installs the handler. */
void offbeat_tracer_guard_begin(void);

/** Removes the handler, unless the program has replaced it. */
void offbeat_tracer_guard_end(void);

/** Guards a mapping until its `start` is set to NULL, which must come before munmap. Not thread-safe. */
void offbeat_tracer_guard_add(offbeat_tracer_guarded *mapping);

/** Whether a page was replaced. */
int offbeat_tracer_guard_has_replaced(void);

#endif
