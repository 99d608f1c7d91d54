/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file record.h
 * The file in which a process records its run: `rank-N.times`.
 *
 * The file is mapped into memory, so that recording an iteration takes no system call, and all iterations
 * that were completed are in the file even if the process is killed. It has this header, the durations of the
 * phases alone, and a record for each iteration; all in the byte order of the machine. The front end reads it
 * (src/offbeat/programs/execution/times.py).
 */
#ifndef OFFBEAT_RECORD_H
#define OFFBEAT_RECORD_H

#include <stdint.h>

#define PROGRAM_RECORD_MAGIC "offbprg1"

/** The head of the file; times in nanoseconds, numbers are 0 until they are known. */
typedef struct program_record_header {
    char magic[8];
    int64_t rank, ranks, phases, alone, iterations;
    int64_t domain;                          /**< ccNUMA domain of the node */
    int64_t start_ns;                        /**< begin of the first iteration on the shared clock */
    int64_t begin_local_ns, begin_global_ns; /**< the same instant on both clocks before the iterations */
    int64_t end_local_ns, end_global_ns;     /**< and after them */
    int64_t bound_ns;                        /**< error bound of the shared clock at that instant */
    char host[152];
} program_record_header;

_Static_assert(sizeof(program_record_header) == 256, "the front end reads this structure");

/** An iteration; times on the local clock. The end is 0 until the iteration is complete. */
typedef struct program_iteration {
    int64_t end_ns, communication_ns;
} program_iteration;

/** A file that is mapped. */
typedef struct program_record {
    program_record_header *header;
    int64_t *alone_ns; /**< (alone, phases): from the common begin of a phase to this process's end */
    program_iteration *iterations;
    uint64_t bytes;
} program_record;

/**
 * Creates the file and reserves its space on the disk. Local.
 * @return NULL, or an error message (static storage)
 */
const char *program_record_open(const char *path, const program_record_header *header,
                                program_record *record);

/** Records that an iteration is complete. */
void program_record_iteration(const program_record *record, int64_t iteration, int64_t end_ns,
                              int64_t communication_ns);

void program_record_close(program_record *record);

#endif
