/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * No lock is held while libraries are looked for, as loading has locks of its own: threads that come here
 * together all find the same.
 */
#define _GNU_SOURCE
#include "trace/behind.h"

#include <ctype.h>
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static _Atomic(void *) scope;  /* where the program's MPI library is found; NULL: it isn't known yet */
static _Atomic(void *) tracer; /* the library with the wrappers; NULL: calls go past it */

/* A sentence, from one process of those that a launcher started together. */
static void say(const char *sentence) {
    static const char *const ranks[] = {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", "SLURM_PROCID"};
    static atomic_flag is_said = ATOMIC_FLAG_INIT;
    for (size_t i = 0; i < sizeof ranks / sizeof *ranks; i++) {
        const char *rank = getenv(ranks[i]);
        if (rank != NULL && strcmp(rank, "0") != 0)
            return;
    }
    if (!atomic_flag_test_and_set(&is_said))
        fprintf(stderr, "offbeat: %s\n", sentence);
}

/* The library that an address is in; NULL where it is in none. */
static const struct link_map *library_of(const void *address) {
    Dl_info found;
    struct link_map *library = NULL;
    return dladdr1(address, &found, (void **)&library, RTLD_DL_LINKMAP) != 0 ? library : NULL;
}

/* Where a program finds MPI: after the front, among what everybody sees, or among what the caller brought
 * along for itself, as modules of Python do. NULL where there is no MPI. */
static void *find_scope(const void *caller) {
    if (dlsym(RTLD_NEXT, "PMPI_Init") != NULL)
        return RTLD_NEXT;
    const struct link_map *library = library_of(caller);
    void *handle = library != NULL ? dlopen(library->l_name, RTLD_LAZY | RTLD_NOLOAD) : NULL;
    return handle != NULL && dlsym(handle, "PMPI_Init") != NULL ? handle : NULL;
}

/* Whether MPI is the library that the tracer was built for, or that one has it from there; yes where the
 * build couldn't tell its name. Tools stand in front of MPI_Init, and not of PMPI_Init. */
static int is_ours(void *where) {
    if (*OFFBEAT_TRACE_MPI == '\0')
        return 1;
    void *ours = dlopen(OFFBEAT_TRACE_MPI, RTLD_LAZY | RTLD_NOLOAD);
    if (ours == NULL)
        return 0;
    const int is_same = dlsym(ours, "PMPI_Init") == dlsym(where, "PMPI_Init");
    dlclose(ours);
    return is_same;
}

/* The first line of the library's version, up to a comma, with single blanks. */
static void name_version(void *where, char *name, size_t bytes) {
    static char version[65536]; /* more than any MPI_MAX_LIBRARY_VERSION_STRING */
    int length = 0;
    int (*ask)(char *, int *) = (int (*)(char *, int *))dlsym(where, "PMPI_Get_library_version");
    if (ask == NULL || ask(version, &length) != 0)
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

static void say_another(void *where) {
    char version[128], sentence[8192];
    const struct link_map *library = library_of(dlsym(where, "PMPI_Init"));
    name_version(where, version, sizeof version);
    snprintf(
        sentence, sizeof sentence,
        "%s uses %s (%s), and the tracer was built for %s: it runs on untraced; start it with the launcher "
        "of its own MPI library, or name that library with --mpi",
        program_invocation_name, version, library != NULL ? library->l_name : "", OFFBEAT_TRACE_MPI);
    say(sentence);
}

/* Loads the wrappers; they find the program's MPI library as it is loaded already. */
static void load_tracer(void) {
    void *loaded = dlopen("liboffbeat-tracer.so", RTLD_NOW | RTLD_LOCAL);
    if (loaded != NULL) {
        atomic_store(&tracer, loaded);
        return;
    }
    char sentence[4096];
    snprintf(
        sentence, sizeof sentence,
        "the tracer cannot be loaded (%s) and the program runs on untraced; it should lie beside the library "
        "in LD_PRELOAD, for the MPI library that the program uses",
        dlerror());
    say(sentence);
}

int offbeat_behind_begin(const void *caller) {
    if (atomic_load(&scope) != NULL)
        return 1;
    void *found = find_scope(caller);
    if (found == NULL)
        return 0;
    if (is_ours(found))
        load_tracer();
    else
        say_another(found);
    atomic_store(&scope, found);
    return 1;
}

int offbeat_behind_is_traced(const void *caller) {
    return offbeat_behind_begin(caller) && atomic_load(&tracer) != NULL;
}

void *offbeat_behind_tracer(const char *name) {
    void *where = atomic_load(&scope);
    void *function = dlsym(where != NULL ? where : RTLD_NEXT, name);
    /* What comes next is a question of who asks: this library, and not, by a jump, the one that called here.
     */
    atomic_signal_fence(memory_order_seq_cst);
    return function;
}

void *offbeat_behind(const char *name) {
    void *wrappers = atomic_load(&tracer);
    return wrappers != NULL ? dlsym(wrappers, name) : offbeat_behind_tracer(name);
}
