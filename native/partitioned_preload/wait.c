/* SPDX-License-Identifier: BSD-3-Clause */
#include "partitioned_preload/wait.h"

#include "partitioned/complete.h"
#include "partitioned/progress.h"
#include "partitioned_preload/handles.h"
#include "partitioned_preload/next.h"

int offbeat_preload_must_progress(void) {
    return atomic_load_explicit(&offbeat_preload_handle_count, memory_order_relaxed) > 0 &&
           offbeat_partitioned_needs_progress();
}

int offbeat_preload_wait(MPI_Request *request, MPI_Status *status) {
    int rounds = 0;
    while (offbeat_preload_must_progress()) {
        int is_done = 0;
        int rc = NEXT(MPI_Test)(request, &is_done, status);
        if (is_done || rc != MPI_SUCCESS)
            return rc;
        offbeat_partitioned_between_rounds(&rounds);
    }
    return NEXT(MPI_Wait)(request, status);
}
