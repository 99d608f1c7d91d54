/* SPDX-License-Identifier: BSD-3-Clause */
/** @file options.h  The program's options. */
#ifndef STENCIL_OPTIONS_H
#define STENCIL_OPTIONS_H

enum { MOST_WAYS = 3 };

typedef struct options {
    int grid[3];      /**< cells in Z, Y and X */
    int processes[3]; /**< in Z, Y and X; 0: MPI chooses */
    int iterations, repetitions;
    double imbalance; /**< how often the last slab of each process is computed; 1: as often as the others */
    long sleep_us;    /**< how long the last slab of each process waits before it is computed */
    long timeout_s;   /**< how long an iteration, and each call of MPI before and after, may take */
    const char *messages;
    char *ways[MOST_WAYS + 1]; /**< names; NULL ends them */
} options;

/** Reads the arguments. @return NULL, or a sentence about what is wrong; with help: the text of --help */
const char *options_read(options *o, int argc, char **argv);

#endif
