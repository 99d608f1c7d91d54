/* SPDX-License-Identifier: BSD-3-Clause */
/** @file communicator.c  MPIX_Harmonize on any communicator, with MPI's way of reporting errors. */
#include "harmonize/attach.h"
#include "harmonize/harmony.h"

#include <stdio.h>
#include <stdlib.h>

/* The error handler for what is about no communicator: MPI 4.0 moved it. */
#if MPI_VERSION >= 4
#define NOBODY MPI_COMM_SELF
#else
#define NOBODY MPI_COMM_WORLD
#endif

/* Passes an error on as MPI's own functions do: to the communicator's handler, which may not return. */
static int raised(MPI_Comm comm, int rc) {
    if (rc != MPI_SUCCESS)
        PMPI_Comm_call_errhandler(comm == MPI_COMM_NULL ? NOBODY : comm, rc);
    return rc;
}

/* A communicator of our own with the same processes. Not a duplicate: no attribute of the user's is copied.
 * Errors have been raised when this returns. */
static int same_processes(MPI_Comm comm, MPI_Comm *own) {
    MPI_Group group;
    *own = MPI_COMM_NULL;
    int rc = PMPI_Comm_group(comm, &group);
    if (rc != MPI_SUCCESS)
        return rc;
    rc = PMPI_Comm_create(comm, group, own);
    PMPI_Group_free(&group);
    return rc == MPI_SUCCESS ? PMPI_Comm_set_errhandler(*own, MPI_ERRORS_RETURN) : rc;
}

/* Clock and harmony on a communicator of our own, which then belongs to the harmony. */
static int fill(MPI_Comm own, offbeat_attached *attached) {
    int rc = offbeat_clock_create(own, &attached->clock);
    if (rc == MPI_SUCCESS)
        return offbeat_harmony_create_on(attached->clock, own, OFFBEAT_YIELD_WHERE_CROWDED,
                                         &attached->harmony);
    if (rc == MPI_ERR_ARG)
        fprintf(stderr, "offbeat-harmonize: %s\n", offbeat_clock_error());
    PMPI_Comm_free(&own);
    return rc;
}

/* Makes clock and harmony and attaches them. Errors have been raised when this returns. */
static int equip(MPI_Comm comm, offbeat_attached **attached) {
    MPI_Comm own;
    int is_inter;
    int rc = PMPI_Comm_test_inter(comm, &is_inter);
    if (rc != MPI_SUCCESS)
        return rc;
    if (is_inter)
        return raised(comm, MPI_ERR_COMM);
    rc = same_processes(comm, &own);
    if (rc != MPI_SUCCESS)
        return rc;
    offbeat_attached *created = calloc(1, sizeof *created);
    if (created == NULL) {
        PMPI_Comm_free(&own);
        return raised(comm, MPI_ERR_NO_MEM);
    }
    rc = fill(own, created);
    if (rc != MPI_SUCCESS) {
        offbeat_attached_free(created);
        return raised(comm, rc);
    }
    rc = offbeat_attach(comm, created);
    *attached = rc == MPI_SUCCESS ? created : NULL;
    return rc;
}

int MPIX_Harmonize_delayed(MPI_Comm comm, int64_t delay_ns, offbeat_start *start) {
    offbeat_attached *attached = NULL;
    if (comm == MPI_COMM_NULL)
        return raised(comm, MPI_ERR_COMM);
    if (start == NULL || delay_ns < 0)
        return raised(comm, MPI_ERR_ARG);
    int rc = offbeat_attached_find(comm, &attached);
    if (rc == MPI_SUCCESS && attached == NULL)
        rc = equip(comm, &attached);
    if (rc != MPI_SUCCESS)
        return rc;
    return raised(comm, offbeat_harmonize(attached->harmony, delay_ns, start));
}

int MPIX_Harmonize(MPI_Comm comm, int *flag) {
    offbeat_start start;
    if (comm == MPI_COMM_NULL)
        return raised(comm, MPI_ERR_COMM);
    if (flag == NULL)
        return raised(comm, MPI_ERR_ARG);
    int rc = MPIX_Harmonize_delayed(comm, 0, &start);
    *flag = rc == MPI_SUCCESS && start.verdict == OFFBEAT_ON_TIME;
    return rc;
}

offbeat_clock *MPIX_Harmonize_clock(MPI_Comm comm) {
    offbeat_attached *attached = NULL;
    if (comm == MPI_COMM_NULL || offbeat_attached_find(comm, &attached) != MPI_SUCCESS || attached == NULL)
        return NULL;
    return attached->clock;
}
