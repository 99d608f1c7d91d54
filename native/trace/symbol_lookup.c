/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * dlsym for programs that load their MPI library by dlopen and look up its functions: it returns the
 * trampoline instead of a function of the MPI library. All other symbols are those of the dynamic linker's
 * dlsym, to which the call is passed on by a jump: a search by RTLD_NEXT depends on the return address.
 *
 * The trampoline is that of the PMPI name, for MPI names, too: the program asked for the library's own
 * function, so that the tools in the process, which may themselves have looked up the function that they
 * call, are bypassed.
 */
#define _GNU_SOURCE
#include "trace/loaded_objects.h"
#include "trace/next_dlsym.h"
#include "trace/trampolines.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

/* Whether a name may be that of a trampoline. */
static int is_mpi_name(const char *name) {
    name += name[0] == 'P' || name[0] == 'p';
    return strncmp(name, "MPI_", 4) == 0 || strncmp(name, "mpi_", 4) == 0;
}

/* A search that does not depend on the caller, for a name that may be that of a trampoline. */
static __attribute__((noinline)) void *look_up(void *handle, const char *name) {
    char pmpi_name[128];
    void *found = offbeat_tracer_dlsym(handle, name);
    const char *prefix = name[0] == 'M' ? "P" : name[0] == 'm' ? "p" : "";
    const int length = snprintf(pmpi_name, sizeof pmpi_name, "%s%s", prefix, name);
    void *trampoline = length < (int)sizeof pmpi_name ? offbeat_tracer_exported(pmpi_name) : NULL;
    if (found == NULL || trampoline == NULL || found == offbeat_tracer_exported(name) ||
        !offbeat_tracer_is_library_function(found, pmpi_name))
        return found;
    return trampoline;
}

__attribute__((visibility("default"))) void *dlsym(void *restrict handle, const char *restrict name) {
    if (handle != RTLD_NEXT && handle != RTLD_DEFAULT && is_mpi_name(name))
        return look_up(handle, name);
    return offbeat_tracer_get_dlsym()(handle, name);
}
