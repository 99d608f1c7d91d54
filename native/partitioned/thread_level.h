/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file thread_level.h
 * What the program's thread level allows.
 *
 * MPI_Query_thread describes the World model only (MPI 4.0, 11.6.2), and each session has a level of its own.
 * A communicator does not say which session it comes from, so that its level is unknown where a program may
 * use sessions.
 */
#ifndef OFFBEAT_PARTITIONED_THREAD_LEVEL_H
#define OFFBEAT_PARTITIONED_THREAD_LEVEL_H

/** Whether MPI_COMM_WORLD exists: not before MPI_Init, after MPI_Finalize, and in programs with sessions
 * only.
 * @return MPI_SUCCESS or MPI's error */
int offbeat_partitioned_world_exists(int *exists);

/** Whether calls of several threads may overlap; 1 if that is unknown. */
int offbeat_partitioned_calls_may_overlap(void);

/** Whether a thread of the library may call MPI at any time, if the program asks for such a thread: in the
 * World model with MPI_THREAD_MULTIPLE. In programs with sessions only, the request itself says so. */
int offbeat_partitioned_may_use_thread(void);

#endif
