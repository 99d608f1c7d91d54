/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file thread_level.h
 * The thread level of a test, which its last argument can name.
 */
#ifndef OFFBEAT_TESTING_THREAD_LEVEL_H
#define OFFBEAT_TESTING_THREAD_LEVEL_H

#include <mpi.h>
#include <string.h>

/** The level that the last argument names (`serialized` or `multiple`), which is removed; otherwise the given
 * one. */
static inline int offbeat_testing_thread_level(int *argc, char **argv, int otherwise) {
    static const char *const names[] = {"serialized", "multiple"};
    static const int levels[] = {MPI_THREAD_SERIALIZED, MPI_THREAD_MULTIPLE};
    for (int i = 0; i < 2 && *argc > 1; i++)
        if (strcmp(argv[*argc - 1], names[i]) == 0) {
            --*argc;
            return levels[i];
        }
    return otherwise;
}

#endif
