/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file private_comm.h
 * What the libraries that keep state with a program's communicator have in common: private communicators, the
 * end of the state at MPI_Finalize, and errors as MPI's own functions report them.
 */
#ifndef OFFBEAT_HARMONIZE_PRIVATE_COMM_H
#define OFFBEAT_HARMONIZE_PRIVATE_COMM_H

#include <mpi.h>

/** The communicator whose error handler gets errors that concern no communicator: MPI 4.0 changed it. */
#if MPI_VERSION >= 4
#define OFFBEAT_DEFAULT_HANDLER_COMM MPI_COMM_SELF
#else
#define OFFBEAT_DEFAULT_HANDLER_COMM MPI_COMM_WORLD
#endif

/** Gives an error to the communicator's handler, which may not return; MPI_COMM_NULL: to the default one.
 * @return the code */
int offbeat_raise_error(MPI_Comm comm, int code);

/** Creates a communicator with the same processes, which returns errors. It is not a duplicate, so that no
 * attribute of the user's is copied. Collective. MPI has reported an error that is returned. */
int offbeat_create_private_comm(MPI_Comm comm, MPI_Comm *created);

/** Makes MPI_Finalize call a function first, when communication is still possible; does nothing without
 * MPI_Init: the communicators of a session are freed before the session ends. */
int offbeat_call_at_finalize(MPI_Comm_delete_attr_function *function);

#endif
