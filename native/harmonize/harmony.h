/* SPDX-License-Identifier: BSD-3-Clause */
/** @file harmony.h  Harmonies on a communicator that is given to them. */
#ifndef OFFBEAT_HARMONIZE_HARMONY_H
#define OFFBEAT_HARMONIZE_HARMONY_H

#include <offbeat/harmonize.h>

/**
 * The same as offbeat_harmony_create on a communicator that nobody else uses, with the clock's processes and
 * errors returned: it isn't duplicated. It belongs to the harmony from here on, and is freed on failure, too.
 */
int offbeat_harmony_create_on(offbeat_clock *clock, MPI_Comm own, int yield, offbeat_harmony **harmony);

#endif
