/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE /* dlvsym */
#include "trace/next_dlsym.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

static _Atomic(offbeat_tracer_lookup *) next_dlsym;

/* The versions of dlsym in glibc, the first one on this architecture that there is. */
static offbeat_tracer_lookup *find_next_dlsym(void) {
    static const char *const versions[] = {"GLIBC_2.34", "GLIBC_2.2.5", "GLIBC_2.17", "GLIBC_2.27",
                                           "GLIBC_2.36", "GLIBC_2.2",   "GLIBC_2.4",  "GLIBC_2.0"};
    void *found = NULL;
    for (size_t i = 0; found == NULL && i < sizeof versions / sizeof *versions; i++)
        found = dlvsym(RTLD_NEXT, "dlsym", versions[i]);
    if (found == NULL) {
        fputs("offbeat: the dynamic linker has no dlsym of a known version; start the program without the "
              "tracer\n",
              stderr);
        abort();
    }
    atomic_store(&next_dlsym, (offbeat_tracer_lookup *)found);
    return (offbeat_tracer_lookup *)found;
}

offbeat_tracer_lookup *offbeat_tracer_get_dlsym(void) {
    offbeat_tracer_lookup *next = atomic_load_explicit(&next_dlsym, memory_order_relaxed);
    return next != NULL ? next : find_next_dlsym();
}

void *offbeat_tracer_dlsym(void *handle, const char *name) {
    void *found = offbeat_tracer_get_dlsym()(handle, name);
    atomic_signal_fence(memory_order_seq_cst); /* the caller, for RTLD_NEXT, is this library: no jump */
    return found;
}
