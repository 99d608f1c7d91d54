/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file private_comm.h
 * What the libraries that keep state with a program's communicator have in common: private communicators, the
 * end of the state at MPI_Finalize, and errors as MPI's own functions report them. The functions are static:
 * no two libraries that a program links define one name.
 */
#ifndef OFFBEAT_HARMONIZE_PRIVATE_COMM_H
#define OFFBEAT_HARMONIZE_PRIVATE_COMM_H

#include <mpi.h>
#include <stddef.h>

/** The communicator whose error handler gets errors that concern no communicator: MPI 4.0 changed it. */
#if MPI_VERSION >= 4
#define OFFBEAT_DEFAULT_HANDLER_COMM MPI_COMM_SELF
#else
#define OFFBEAT_DEFAULT_HANDLER_COMM MPI_COMM_WORLD
#endif

/** Gives an error to the communicator's handler, which may not return; MPI_COMM_NULL: to the default one.
 * @return the code */
static inline int offbeat_raise_error(MPI_Comm comm, int code) {
    if (code != MPI_SUCCESS)
        PMPI_Comm_call_errhandler(comm == MPI_COMM_NULL ? OFFBEAT_DEFAULT_HANDLER_COMM : comm, code);
    return code;
}

/** Creates a communicator with the same processes, which returns errors. It is not a duplicate, so that no
 * attribute of the user's is copied. Collective. MPI has reported an error that is returned. */
static inline int offbeat_create_private_comm(MPI_Comm comm, MPI_Comm *private_comm) {
    MPI_Group group;
    *private_comm = MPI_COMM_NULL;
    int rc = PMPI_Comm_group(comm, &group);
    if (rc != MPI_SUCCESS)
        return rc;
    rc = PMPI_Comm_create(comm, group, private_comm);
    PMPI_Group_free(&group);
    return rc == MPI_SUCCESS ? PMPI_Comm_set_errhandler(*private_comm, MPI_ERRORS_RETURN) : rc;
}

/** Makes MPI_Finalize call a function first, when communication is still possible: it deletes the attributes
 * of MPI_COMM_SELF first. Does nothing without MPI_Init: the communicators of a session are freed before the
 * session ends. */
static inline int offbeat_call_at_finalize(MPI_Comm_delete_attr_function *function) {
    int is_initialized, keyval;
    int rc = PMPI_Initialized(&is_initialized);
    if (rc != MPI_SUCCESS || !is_initialized)
        return rc;
    rc = PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, function, &keyval, NULL);
    if (rc != MPI_SUCCESS)
        return rc;
    rc = PMPI_Comm_set_attr(MPI_COMM_SELF, keyval, NULL);
    int free_rc = PMPI_Comm_free_keyval(&keyval); /* the attribute keeps a reference */
    return rc != MPI_SUCCESS ? rc : free_rc;
}

#endif
