/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * No lock is held while libraries are searched, as the dynamic linker has locks of its own: threads that come
 * here at the same time all get the same result.
 */
#define _GNU_SOURCE
#include "trace/symbol_resolver.h"

#include <ctype.h>
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static _Atomic(void *)
    mpi_scope; /* a handle for dlsym, by which the MPI library is found; NULL: not known yet */
static _Atomic(void *) tracer; /* the library with the wrappers; NULL: not loaded */

/* Prints a message, on rank 0 of a launch only, and only once. */
static void print_once(const char *message) {
    static const char *const ranks[] = {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", "SLURM_PROCID"};
    static atomic_flag is_printed = ATOMIC_FLAG_INIT;
    for (size_t i = 0; i < sizeof ranks / sizeof *ranks; i++) {
        const char *rank = getenv(ranks[i]);
        if (rank != NULL && strcmp(rank, "0") != 0)
            return;
    }
    if (!atomic_flag_test_and_set(&is_printed))
        fprintf(stderr, "offbeat: %s\n", message);
}

/* The loaded object that contains an address; NULL if there is none. */
static const struct link_map *object_of(const void *address) {
    Dl_info info;
    struct link_map *object = NULL;
    return dladdr1(address, &info, (void **)&object, RTLD_DL_LINKMAP) != 0 ? object : NULL;
}

/* Where the program's MPI library is: in the global scope after this library, or in the local scope of the
 * caller, as with Python modules. NULL if there is no MPI library. */
static void *find_mpi_scope(const void *caller) {
    if (dlsym(RTLD_NEXT, "PMPI_Init") != NULL)
        return RTLD_NEXT;
    const struct link_map *object = object_of(caller);
    void *handle = object != NULL ? dlopen(object->l_name, RTLD_LAZY | RTLD_NOLOAD) : NULL;
    return handle != NULL && dlsym(handle, "PMPI_Init") != NULL ? handle : NULL;
}

/* Whether the tracer was built for the MPI library in this scope; assumed if the build could not determine
 * the library's name. Other tools may define MPI_Init, but not PMPI_Init. */
static int is_built_for(void *scope) {
    if (*OFFBEAT_TRACE_MPI == '\0')
        return 1;
    void *expected = dlopen(OFFBEAT_TRACE_MPI, RTLD_LAZY | RTLD_NOLOAD);
    if (expected == NULL)
        return 0;
    const int is_same = dlsym(expected, "PMPI_Init") == dlsym(scope, "PMPI_Init");
    dlclose(expected);
    return is_same;
}

/* The library's version, its first line up to a comma, with single spaces. */
static void get_version(void *scope, char *name, size_t bytes) {
    static char version[65536]; /* larger than any MPI_MAX_LIBRARY_VERSION_STRING */
    int length = 0;
    int (*get)(char *, int *) = (int (*)(char *, int *))dlsym(scope, "PMPI_Get_library_version");
    if (get == NULL || get(version, &length) != 0)
        strcpy(version, "another MPI library");
    version[strcspn(version, ",\n")] = '\0';
    size_t used = 0;
    for (const char *at = version; *at != '\0' && used + 1 < bytes; at++)
        if (!isspace((unsigned char)*at))
            name[used++] = *at;
        else if (used > 0 && name[used - 1] != ' ')
            name[used++] = ' ';
    name[used] = '\0';
}

static void print_other_library(void *scope) {
    char version[128], message[8192];
    const struct link_map *library = object_of(dlsym(scope, "PMPI_Init"));
    get_version(scope, version, sizeof version);
    snprintf(
        message, sizeof message,
        "%s uses %s (%s), and the tracer was built for %s: the program continues untraced; start it with the "
        "launcher of its own MPI library, or name that library with --mpi",
        program_invocation_name, version, library != NULL ? library->l_name : "", OFFBEAT_TRACE_MPI);
    print_once(message);
}

/* The tracer's dependence on the MPI library is satisfied by the program's, which is loaded already. */
static void load_tracer(void) {
    void *loaded = dlopen("liboffbeat-tracer.so", RTLD_NOW | RTLD_LOCAL);
    if (loaded != NULL) {
        atomic_store(&tracer, loaded);
        return;
    }
    char message[4096];
    snprintf(message, sizeof message,
             "the tracer cannot be loaded (%s) and the program continues untraced; it should be in the "
             "folder of the "
             "library in LD_PRELOAD, built for the MPI library that the program uses",
             dlerror());
    print_once(message);
}

int offbeat_tracer_resolver_init(const void *caller) {
    if (atomic_load(&mpi_scope) != NULL)
        return 1;
    void *scope = find_mpi_scope(caller);
    if (scope == NULL)
        return 0;
    if (is_built_for(scope))
        load_tracer();
    else
        print_other_library(scope);
    atomic_store(&mpi_scope, scope);
    return 1;
}

int offbeat_tracer_is_loaded(const void *caller) {
    return offbeat_tracer_resolver_init(caller) && atomic_load(&tracer) != NULL;
}

void *offbeat_tracer_next_symbol(const char *name) {
    void *scope = atomic_load(&mpi_scope);
    void *function = dlsym(scope != NULL ? scope : RTLD_NEXT, name);
    /* dlsym(RTLD_NEXT) depends on its caller, which must be this library: prevents a tail call. */
    atomic_signal_fence(memory_order_seq_cst);
    return function;
}

void *offbeat_tracer_resolve(const char *name) {
    void *wrappers = atomic_load(&tracer);
    return wrappers != NULL ? dlsym(wrappers, name) : offbeat_tracer_next_symbol(name);
}
