/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file errors.h
 * Errors as MPI reports them: an error code of a standard class with a sentence of its own, given to the
 * communicator's error handler.
 */
#ifndef OFFBEAT_PARTITIONED_ERRORS_H
#define OFFBEAT_PARTITIONED_ERRORS_H

#include <mpi.h>

/** Gives an error of an MPI function to the communicator's handler, which may not return; MPI_COMM_NULL: the
 * handler of errors that concern no communicator. @return the code */
int offbeat_partitioned_raise(MPI_Comm comm, int code);

/** Keeps the text of an error that MPI has reported, for offbeat_partitioned_error. @return the code */
int offbeat_partitioned_note(int code);

/** Raises an error of a class with a sentence (printf style). @return the error code */
__attribute__((format(printf, 3, 4))) int offbeat_partitioned_fail(MPI_Comm comm, int error_class,
                                                                   const char *sentence, ...);

#endif
