/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file trampolines.h
 * The list of the trampolines of the preload library, which preload_shim.c defines: one for each name of each
 * function that the tracer wraps.
 */
#ifndef OFFBEAT_TRACE_TRAMPOLINES_H
#define OFFBEAT_TRACE_TRAMPOLINES_H

#include <stddef.h>
#include <stdint.h>

/** A function with as many arguments, in machine words, as the longest of these functions has. */
typedef uintptr_t offbeat_tracer_function(uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t,
                                          uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t,
                                          uintptr_t);

typedef struct offbeat_tracer_trampoline {
    const char *name;
    _Atomic(offbeat_tracer_function *) target;
    offbeat_tracer_function *exported;                /**< jumps to the target, or to that of another name */
    const struct offbeat_tracer_trampoline *mpi_name; /**< of the same function by its name without P */
} offbeat_tracer_trampoline;

/** All trampolines are in a linker section of their own, which is an array. */
extern offbeat_tracer_trampoline __start_offbeat_trampolines[], // NOLINT: names of the linker
    __stop_offbeat_trampolines[];                               // NOLINT

/** The names of the trampolines, by index; NULL after the last one. */
const char *offbeat_tracer_wrapped_name(size_t i);

/** The function of a name; NULL if there is none. */
void *offbeat_tracer_exported(const char *name);

#endif
