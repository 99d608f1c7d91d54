/* SPDX-License-Identifier: BSD-3-Clause */
/* MPI is initialised by PMPI, which no preload library can see. */
#include <mpi.h>
#include <stddef.h>

int main(void) {
    char data;
    MPI_Request request;
    PMPI_Init(NULL, NULL);
    MPI_Precv_init(&data, 1, 1, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
    PMPI_Finalize();
    return 0;
}
