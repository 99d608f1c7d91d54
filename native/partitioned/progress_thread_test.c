/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The progress thread: a started receive goes on while its process waits in another MPI call, and
 * MPI_Finalize ends the thread. Exits with status 77 (skipped) when the MPI library has no
 * MPI_THREAD_MULTIPLE.
 */
#include <offbeat/partitioned.h>

#include "testing/mpi_assert.h"

#include <stdlib.h>

enum { LENGTH = 1 << 20, SKIP_STATUS = 77 };

/* Rank 1 starts its receive before rank 0 describes the send, and then waits for a message that rank 0 sends
 * after the partitioned send is complete. Without the thread, both would wait forever. */
static void a_started_receive_goes_on_inside_other_calls(int rank, int tag) {
    offbeat_prequest request;
    int is_complete = 0;
    double *data = calloc(LENGTH, sizeof *data);
    if (rank == 1) {
        offbeat_precv_init(data, 4, LENGTH / 4, MPI_DOUBLE, 0, tag, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
        offbeat_pstart(&request);
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Recv(&is_complete, 1, MPI_INT, 0, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
        MPI_Barrier(MPI_COMM_WORLD);
        offbeat_psend_init(data, 4, LENGTH / 4, MPI_DOUBLE, 1, tag, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
        offbeat_pstart(&request);
        for (int i = 0; i < LENGTH; i++)
            data[i] = i + tag;
        offbeat_pready_range(0, 3, request);
        mpi_assert_success(offbeat_pwait(&request, MPI_STATUS_IGNORE), "offbeat_pwait");
        MPI_Send(&is_complete, 1, MPI_INT, 1, tag, MPI_COMM_WORLD);
    }
    if (rank == 1)
        mpi_assert_success(offbeat_pwait(&request, MPI_STATUS_IGNORE), "offbeat_pwait");
    for (int i = 0; i < LENGTH; i++)
        mpi_assert(data[i] == i + tag, "Element %d is %.0f.", i, data[i]);
    offbeat_prequest_free(&request);
    free(data);
}

int main(int argc, char **argv) {
    int provided_level, rank;
    MPI_Info info;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided_level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (provided_level == MPI_THREAD_MULTIPLE) {
        MPI_Info_create(&info);
        MPI_Info_set(info, "offbeat_progress_thread", "true");
        mpi_assert_success(offbeat_partitioned_attach(MPI_COMM_WORLD, info), "offbeat_partitioned_attach");
        MPI_Info_free(&info);
        for (int tag = 0; tag < 5; tag++)
            a_started_receive_goes_on_inside_other_calls(rank, tag);
        mpi_assert_success(offbeat_partitioned_finalize(), "offbeat_partitioned_finalize");
        mpi_assert_success(offbeat_partitioned_finalize(), "a second offbeat_partitioned_finalize");
    }
    MPI_Finalize();
    return provided_level == MPI_THREAD_MULTIPLE ? 0 : SKIP_STATUS;
}
