/* SPDX-License-Identifier: BSD-3-Clause */
#include "trace/next.h"

#include "trace/behind.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

void *offbeat_next_look_up(offbeat_next_function *next, const char *name) {
    void *function = offbeat_behind_tracer(name);
    if (function == NULL) {
        fprintf(stderr,
                "offbeat: the program called %s, which its MPI library does not have; use a library that "
                "has it\n",
                name);
        PMPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
        abort();
    }
    atomic_store_explicit(next, function, memory_order_relaxed);
    return function;
}
