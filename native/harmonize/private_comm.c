/* SPDX-License-Identifier: BSD-3-Clause */
#include "harmonize/private_comm.h"

#include <stddef.h>

int offbeat_raise_error(MPI_Comm comm, int code) {
    if (code != MPI_SUCCESS)
        PMPI_Comm_call_errhandler(comm == MPI_COMM_NULL ? OFFBEAT_DEFAULT_HANDLER_COMM : comm, code);
    return code;
}

int offbeat_create_private_comm(MPI_Comm comm, MPI_Comm *created) {
    MPI_Group group;
    *created = MPI_COMM_NULL;
    int rc = PMPI_Comm_group(comm, &group);
    if (rc != MPI_SUCCESS)
        return rc;
    rc = PMPI_Comm_create(comm, group, created);
    PMPI_Group_free(&group);
    return rc == MPI_SUCCESS ? PMPI_Comm_set_errhandler(*created, MPI_ERRORS_RETURN) : rc;
}

/* MPI_Finalize deletes the attributes of MPI_COMM_SELF first. */
int offbeat_call_at_finalize(MPI_Comm_delete_attr_function *function) {
    int initialized, keyval;
    int rc = PMPI_Initialized(&initialized);
    if (rc != MPI_SUCCESS || !initialized)
        return rc;
    rc = PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, function, &keyval, NULL);
    if (rc != MPI_SUCCESS)
        return rc;
    rc = PMPI_Comm_set_attr(MPI_COMM_SELF, keyval, NULL);
    int free_rc = PMPI_Comm_free_keyval(&keyval); /* the attribute keeps a reference */
    return rc != MPI_SUCCESS ? rc : free_rc;
}
