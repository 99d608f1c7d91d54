/* SPDX-License-Identifier: BSD-3-Clause */
#include "partitioned/thread_level.h"

#include <mpi.h>

int offbeat_partitioned_world_exists(int *exists) {
    int has_begun = 0, has_ended = 0;
    int rc = PMPI_Initialized(&has_begun);
    if (rc == MPI_SUCCESS)
        rc = PMPI_Finalized(&has_ended);
    *exists = has_begun && !has_ended;
    return rc;
}

/* The level of the World model; MPI_THREAD_MULTIPLE if that is unknown. */
static int world_level(void) {
    int exists, level;
    if (offbeat_partitioned_world_exists(&exists) != MPI_SUCCESS || !exists ||
        PMPI_Query_thread(&level) != MPI_SUCCESS)
        return MPI_THREAD_MULTIPLE;
    return level;
}

int offbeat_partitioned_calls_may_overlap(void) {
#if MPI_VERSION >= 4 || defined(MPI_ERR_SESSION) /* Open MPI 5.0 has sessions and MPI_VERSION 3 */
    return 1;
#else
    return world_level() == MPI_THREAD_MULTIPLE;
#endif
}

int offbeat_partitioned_may_use_thread(void) {
    return world_level() == MPI_THREAD_MULTIPLE;
}
