/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "trace/programs_code.h"

#include <link.h>
#include <pthread.h>
#include <stddef.h>
#include <string.h>

/* Names of files begin so that belong to an MPI library or to the tracer; there is no other sign that all of
 * them have. Tools are often called so, too: what they do beside the program's calls is none of these. */
static const char *const others[] = {"libmpi",      "libpmpi", "liboshmem", "libompi",    "libopen-",
                                     "libopen_mpi", "libucc",  "libhcoll",  "libfabric",  "mca_",
                                     "libmpl",      "libopa",  "libromio",  "liboffbeat-"};

offbeat_code offbeat_code_known[OFFBEAT_MOST_CODE];
_Atomic int offbeat_code_count;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static int is_others(const char *path) {
    const char *slash = strrchr(path, '/'), *name = slash != NULL ? slash + 1 : path;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strncmp(name, others[i], strlen(others[i])) == 0)
            return 1;
    return 0;
}

static void add(uintptr_t from, uintptr_t to, int is_programs) {
    const int count = atomic_load(&offbeat_code_count);
    if (count == OFFBEAT_MOST_CODE || offbeat_code_is_programs((const void *)from) >= 0)
        return;
    offbeat_code_known[count] = (offbeat_code){from, to, is_programs};
    atomic_store(&offbeat_code_count, count + 1);
}

/* The program itself comes first. */
static int take_code(struct dl_phdr_info *object, size_t bytes, void *nothing) {
    (void)bytes, (void)nothing;
    for (int i = 0; i < object->dlpi_phnum; i++) {
        const uintptr_t from = object->dlpi_addr + object->dlpi_phdr[i].p_vaddr;
        if (object->dlpi_phdr[i].p_type == PT_LOAD && object->dlpi_phdr[i].p_flags & PF_X)
            add(from, from + object->dlpi_phdr[i].p_memsz, !is_others(object->dlpi_name));
    }
    return 0;
}

void offbeat_code_look(int is_traced) {
    pthread_mutex_lock(&lock);
    if (is_traced)
        dl_iterate_phdr(take_code, NULL);
    else
        add(0, UINTPTR_MAX, 0);
    pthread_mutex_unlock(&lock);
}
