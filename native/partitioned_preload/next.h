/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file next.h
 * The functions behind this library: those of another preloaded tool, or the MPI library's own.
 */
#ifndef OFFBEAT_PARTITIONED_PRELOAD_NEXT_H
#define OFFBEAT_PARTITIONED_PRELOAD_NEXT_H

#include <mpi.h>
#include <stdatomic.h>

/** Looks a function up once. @param profiling what is used when no library behind this one has the name */
void *offbeat_preload_next(_Atomic(void *) *next_function, const char *name, void *profiling);

/** A pointer to the next function of a name: NEXT(MPI_Wait)(&request, &status). */
#define NEXT(name)                                                                                           \
    __extension__({                                                                                          \
        static _Atomic(void *) next_function;                                                                \
        (__typeof__(&(name)))offbeat_preload_next(&next_function, #name, (void *)&P##name);                  \
    })

#endif
