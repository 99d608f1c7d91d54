/* SPDX-License-Identifier: BSD-3-Clause */
#include "trace/sessions.h"

#include <stdatomic.h>

static atomic_int sessions; /* of the program */

void offbeat_tracer_session_add(void) {
    atomic_fetch_add(&sessions, 1);
}

int offbeat_tracer_session_remove(void) {
    return atomic_fetch_sub(&sessions, 1) == 1;
}

#ifdef MPI_SESSION_NULL

static MPI_Session session; /* valid once `world_group` is */
static MPI_Group world_group;
static int has_session;

/* Groups of different sessions cannot be compared; a communicator with as many processes has all of them. */
static int has_all_processes(MPI_Comm comm) {
    int size = 0, all_size = 0;
    PMPI_Comm_size(comm, &size);
    PMPI_Group_size(world_group, &all_size);
    return size == all_size;
}

MPI_Comm offbeat_tracer_session_world(MPI_Comm new_comm) {
    MPI_Comm world = MPI_COMM_NULL;
    if (atomic_load(&sessions) == 0)
        return MPI_COMM_NULL;
    if (!has_session) {
        if (PMPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session) != MPI_SUCCESS)
            return MPI_COMM_NULL;
        has_session = PMPI_Group_from_session_pset(session, "mpi://WORLD", &world_group) == MPI_SUCCESS;
    }
    if (!has_session || !has_all_processes(new_comm) ||
        PMPI_Comm_create_from_group(world_group, "offbeat.trace", MPI_INFO_NULL, MPI_ERRORS_RETURN, &world) !=
            MPI_SUCCESS)
        return MPI_COMM_NULL;
    return world;
}

void offbeat_tracer_session_free(MPI_Comm world) {
    if (!has_session)
        return;
    if (world != MPI_COMM_NULL)
        PMPI_Comm_free(&world);
    PMPI_Group_free(&world_group);
    PMPI_Session_finalize(&session);
    has_session = 0;
}

#else /* a library without sessions */

MPI_Comm offbeat_tracer_session_world(MPI_Comm new_comm) {
    (void)new_comm;
    return MPI_COMM_NULL;
}

void offbeat_tracer_session_free(MPI_Comm world) {
    (void)world;
}

#endif
