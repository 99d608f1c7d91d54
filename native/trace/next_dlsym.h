/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file next_dlsym.h
 * The dynamic linker's dlsym, which symbol_lookup.c replaces.
 */
#ifndef OFFBEAT_TRACE_NEXT_DLSYM_H
#define OFFBEAT_TRACE_NEXT_DLSYM_H

typedef void *offbeat_tracer_lookup(void *handle, const char *name);

/** The function itself. Aborts with a message if the dynamic linker has none of a known version. */
offbeat_tracer_lookup *offbeat_tracer_get_dlsym(void);

/** Calls it. A search by RTLD_NEXT depends on the caller, which is this library. */
void *offbeat_tracer_dlsym(void *handle, const char *name);

#endif
