/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "trace/fortran.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>

static pthread_once_t once = PTHREAD_ONCE_INIT;
static const void *const *mpich;  /* MPICH's own variable, which holds the address once Fortran is set up */
static const void *openmpi, *f08; /* the variables themselves */

static void look_up(void) {
    mpich = dlsym(RTLD_DEFAULT, "MPIR_F_MPI_IN_PLACE");
    f08 = dlsym(RTLD_DEFAULT, "MPIR_F08_MPI_IN_PLACE");
    openmpi = dlsym(RTLD_DEFAULT, "mpi_fortran_in_place_");
}

int offbeat_is_in_place(const void *buffer) {
    pthread_once(&once, look_up);
    return buffer != NULL && (buffer == openmpi || (mpich != NULL && buffer == *mpich));
}

int offbeat_is_described_in_place(const void *descriptor) {
    if (descriptor == NULL)
        return 0;
    /* ISO_Fortran_binding.h: the address is the first member of a descriptor. */
    const void *buffer = *(const void *const *)descriptor;
    return offbeat_is_in_place(buffer) || (buffer != NULL && buffer == f08);
}
