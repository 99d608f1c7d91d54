/* SPDX-License-Identifier: BSD-3-Clause */
/** @file tally.h  How the harmonised starts went that stood in for barriers. */
#ifndef OFFBEAT_PRELOAD_TALLY_H
#define OFFBEAT_PRELOAD_TALLY_H

#include <offbeat/harmonize.h>

/** Counts a start of this process. Any thread. */
void offbeat_tally_start(const offbeat_start *start);

/** Counts a barrier of this process that stayed one. Any thread. */
void offbeat_tally_barrier(void);

/** Sums up over all processes; rank 0 says it in a sentence on standard error. Collective over
 * MPI_COMM_WORLD, before MPI_Finalize. */
void offbeat_tally_report(void);

#endif
