/* SPDX-License-Identifier: BSD-3-Clause */
/** @file program.h  What all the programs have around their computation: MPI, the command line, errors. */
#ifndef FRAME_PROGRAM_H
#define FRAME_PROGRAM_H

#include "frame/options.h"

#include <mpi.h>

/** The table entry of --json, which every program has. */
#define OPTION_JSON(program)                                                                                 \
    {"--json", OPTION_FLAG, &(program).is_json, 0, 0, NULL, "print one JSON object instead of tables"}

typedef struct program {
    const char *name, *purpose; /**< the purpose stands at the beginning of --help */
    const option *options;
    int is_json; /**< --json */
    int rank, processes;
} program;

/** Starts MPI, reads the command line, runs the program and ends MPI.
 * @param run computes and reports; its context holds the values of the options; it returns the exit status
 * @return the exit status: 2 if the command line is refused */
int program_main(program *p, int argc, char **argv, int (*run)(const program *p, void *context),
                 void *context);

/** Rank 0 prints a sentence about options that cannot be right. @return the exit status, 2 */
__attribute__((format(printf, 2, 3))) int program_refuse(const program *p, const char *format, ...);

/** All processes as a grid of three dimensions, z first, as cubic as their number allows. Collective. */
MPI_Comm program_grid(const program *p);

/** Memory that is set to 0. Without memory, the program ends with a sentence and the exit status 1. */
void *program_allocate(size_t count, size_t size);

#endif
