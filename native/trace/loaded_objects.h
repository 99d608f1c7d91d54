/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file loaded_objects.h
 * The executable and libraries of the process: what the names of trampolines.h stand for (the tracer's
 * wrappers if the program uses the MPI library that they were built for, else the functions of the program's
 * own library); which code is the program's own; and references to functions that the program's MPI library
 * does not have.
 */
#ifndef OFFBEAT_TRACE_LOADED_OBJECTS_H
#define OFFBEAT_TRACE_LOADED_OBJECTS_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

/* --- whose MPI library is it? --- */

/**
 * Finds the program's MPI library. Loads the tracer if it was built for this library, else prints a message.
 * @param caller an address in the calling code: only this code may have access to the MPI library
 * @return whether there is an MPI library
 */
int offbeat_tracer_resolver_init(const void *caller);

/** Whether the tracer is loaded; calls offbeat_tracer_resolver_init if nothing did so far. @param caller as
 * above */
int offbeat_tracer_is_loaded(const void *caller);

/** The wrapper of this name, or the MPI library's function if the tracer is not loaded; NULL if there is
 * none. Call it after offbeat_tracer_resolver_init. */
void *offbeat_tracer_resolve(const char *name);

/**
 * As offbeat_tracer_resolver_init, for a program that looks up a function by dlsym.
 * @param function  what dlsym found, by a MPI or PMPI name
 * @param pmpi_name its name with the prefix P or p
 * @return whether it is a function of the program's MPI library: a tool's function, or one of a second MPI
 * library, is not
 */
int offbeat_tracer_is_library_function(const void *function, const char *pmpi_name);

/** The function that the program would call without the tracer; NULL if there is none. */
__attribute__((visibility("default"))) void *offbeat_tracer_next_symbol(const char *name);

/* --- whose code is it? --- */

enum { OFFBEAT_TRACER_MAX_CODE_RANGES = 256 };

/** Code of one file. */
typedef struct offbeat_tracer_code_range {
    uintptr_t start, end;
    int is_program; /**< of the program, its libraries or a tool; 0: of the MPI library and its plugins (which
                       implement I/O, for example, by collectives), or of the tracer */
} offbeat_tracer_code_range;

/** Entries below the count are constant. */
extern offbeat_tracer_code_range offbeat_tracer_code_ranges[OFFBEAT_TRACER_MAX_CODE_RANGES];
extern _Atomic int offbeat_tracer_code_range_count;

/** Adds the code that is loaded now. @param is_traced 0: no code counts as the program's. Thread-safe. */
void offbeat_tracer_scan_code(int is_traced);

/** 1: the address is in the program's code; 0: in other code; -1: in code that was not scanned. Calls no
 * function, so that a trampoline's arguments stay in their registers. */
static inline __attribute__((always_inline)) int offbeat_tracer_is_program_code(const void *address) {
    const uintptr_t value = (uintptr_t)address;
    const int count = atomic_load_explicit(&offbeat_tracer_code_range_count, memory_order_acquire);
    for (int i = 0; i < count; i++)
        if (value >= offbeat_tracer_code_ranges[i].start && value < offbeat_tracer_code_ranges[i].end)
            return offbeat_tracer_code_ranges[i].is_program;
    return -1;
}

/**
 * Sets weak references to functions that the preload library has and the program's MPI library has not to
 * NULL, as they would be without the preload library: mpi4py, for example, tests them and does without
 * functions with large counts. Objects that are loaded later are not patched; a call of such a function from
 * there aborts with a message.
 */
void offbeat_tracer_clear_missing_symbols(void);

#endif
