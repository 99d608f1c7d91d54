/* SPDX-License-Identifier: BSD-3-Clause */
/** @file fortran.h  MPI_IN_PLACE of Fortran: a variable, which every MPI library calls otherwise. */
#ifndef OFFBEAT_TRACE_FORTRAN_H
#define OFFBEAT_TRACE_FORTRAN_H

/** Whether a buffer is MPI_IN_PLACE of mpif.h or of a module whose buffers are addresses. */
int offbeat_is_in_place(const void *buffer);

/** Whether the buffer behind a C descriptor is MPI_IN_PLACE of mpi_f08. */
int offbeat_is_described_in_place(const void *descriptor);

#endif
