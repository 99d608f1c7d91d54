/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file barrier.c
 * Harmonised starts for programs as they are: put in front of the MPI library by LD_PRELOAD, it makes
 * MPI_Barrier on chosen communicators an MPIX_Harmonize, and sums up at MPI_Finalize.
 *
 * The names that Fortran compilers give to both are here, too: Open MPI's Fortran parts don't call
 * MPI_Barrier of C but its inside. An optional argument that isn't given arrives as NULL.
 */
#include "preload/chosen.h"
#include "preload/tally.h"

#include <offbeat/harmonize.h>
#include <stddef.h>

int MPI_Barrier(MPI_Comm comm) {
    offbeat_start start;
    if (!offbeat_barrier_is_chosen(comm)) {
        offbeat_tally_barrier();
        return PMPI_Barrier(comm);
    }
    int rc = MPIX_Harmonize_delayed(comm, 0, &start);
    if (rc == MPI_SUCCESS)
        offbeat_tally_start(&start);
    return rc;
}

int MPI_Finalize(void) {
    offbeat_tally_report();
    return PMPI_Finalize();
}

void mpi_barrier_(const MPI_Fint *comm, MPI_Fint *code);
void mpi_barrier_f08_(const MPI_Fint *comm, MPI_Fint *code);
void mpi_finalize_(MPI_Fint *code);
void mpi_finalize_f08_(MPI_Fint *code);

void mpi_barrier_(const MPI_Fint *comm, MPI_Fint *code) {
    int rc = MPI_Barrier(PMPI_Comm_f2c(*comm));
    if (code != NULL)
        *code = rc;
}

void mpi_barrier_f08_(const MPI_Fint *comm, MPI_Fint *code) {
    mpi_barrier_(comm, code);
}

void mpi_finalize_(MPI_Fint *code) {
    int rc = MPI_Finalize();
    if (code != NULL)
        *code = rc;
}

void mpi_finalize_f08_(MPI_Fint *code) {
    mpi_finalize_(code);
}
