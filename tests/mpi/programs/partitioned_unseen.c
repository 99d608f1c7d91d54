/* SPDX-License-Identifier: BSD-3-Clause */
/* MPI is initialised by PMPI, which no preload library can see. */
#include <mpi.h>
#include <stdio.h>

int main(void) {
    char data, sentence[MPI_MAX_ERROR_STRING];
    int length;
    MPI_Request request;
    PMPI_Init(NULL, NULL);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    int rc = MPI_Precv_init(&data, 1, 1, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
    MPI_Error_string(rc, sentence, &length);
    puts(sentence);
    PMPI_Finalize();
    return rc == MPI_SUCCESS;
}
