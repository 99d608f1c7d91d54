/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file mpi_implementation.h
 * The differences between MPI implementations, selected when the driver is compiled.
 */
#ifndef OFFBEAT_MPI_IMPLEMENTATION_H
#define OFFBEAT_MPI_IMPLEMENTATION_H

typedef struct offbeat_mpi_implementation {
    const char *name; /**< "openmpi", "mpich" or "intelmpi" */
    /** A changed control variable acts only on communicators created afterwards. */
    int needs_new_communicator;
    /** Control variables can be changed while the program runs. */
    int switches_at_run_time;
    /** Parts of the paths of object files that hold collective algorithms; ends with NULL. */
    const char *objects[4];
} offbeat_mpi_implementation;

extern const offbeat_mpi_implementation offbeat_mpi;

/** Whether an object file (its path as the dynamic linker knows it) can hold collective algorithms. */
int offbeat_mpi_holds_algorithms(const char *path);

/** Whether a symbol names a function that implements one collective algorithm, not a part of an algorithm or
 * a function that selects one. */
int offbeat_mpi_is_algorithm(const char *symbol);

#endif
