/* SPDX-License-Identifier: BSD-3-Clause */
/* A tool that counts calls of MPI_Waitall. It calls the PMPI function or, with PASSES_ON, the next tool's. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>

static int calls;

int MPI_Waitall(int count, MPI_Request requests[], MPI_Status statuses[]) {
    calls++;
#ifdef PASSES_ON
    int (*next)(int, MPI_Request[], MPI_Status[]);
    *(void **)&next = dlsym(RTLD_NEXT, "MPI_Waitall");
    return next(count, requests, statuses);
#else
    return PMPI_Waitall(count, requests, statuses);
#endif
}

__attribute__((destructor)) static void report(void) {
    if (calls)
        fprintf(stderr, "calls of MPI_Waitall were counted\n");
}
