/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file spawn_info.h
 * What the wrappers of MPI_Comm_spawn and MPI_Comm_spawn_multiple add to the info arguments, so that the
 * spawned processes are traced. Launchers pass the variables of the first processes on to spawned ones,
 * except that of Open MPI 5 (PRRTE): there the info key PMIX_ENVAR states them.
 */
#ifndef OFFBEAT_TRACE_SPAWN_INFO_H
#define OFFBEAT_TRACE_SPAWN_INFO_H

#include <mpi.h>

/** The infos of a call, which are copies with more keys, between enter and leave. */
typedef struct offbeat_tracer_spawn {
    int count; /**< 0: the call gets the program's */
    MPI_Info *infos;
    MPI_Fint *handles; /**< the same in Fortran */
} offbeat_tracer_spawn;

/** The infos to pass instead of those of a call: @p infos where nothing is added. Only the root's arguments
 * are read. @param count of infos */
const MPI_Info *offbeat_tracer_spawn_enter(offbeat_tracer_spawn *spawn, MPI_Comm comm, int root, int count,
                                           const MPI_Info *infos);

/** The same in Fortran. */
const MPI_Fint *offbeat_tracer_spawn_enter_fortran(offbeat_tracer_spawn *spawn, MPI_Comm comm, int root,
                                                   const MPI_Fint *count, const MPI_Fint *handles);

/** Frees the copies. */
void offbeat_tracer_spawn_leave(offbeat_tracer_spawn *spawn);

#endif
