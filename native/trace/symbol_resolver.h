/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file symbol_resolver.h
 * What the names of preload_shim.c stand for: the tracer's wrappers if the program uses the MPI library that
 * they were built for, else the functions of the program's own library.
 */
#ifndef OFFBEAT_TRACE_SYMBOL_RESOLVER_H
#define OFFBEAT_TRACE_SYMBOL_RESOLVER_H

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

/** The function that the program would call without the tracer; NULL if there is none. */
__attribute__((visibility("default"))) void *offbeat_tracer_next_symbol(const char *name);

#endif
