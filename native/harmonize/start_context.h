/* SPDX-License-Identifier: BSD-3-Clause */
/** @file start_context.h  Creating a start context without duplicating a communicator. */
#ifndef OFFBEAT_HARMONIZE_START_CONTEXT_H
#define OFFBEAT_HARMONIZE_START_CONTEXT_H

#include <offbeat/harmonize.h>

/**
 * Like offbeat_start_context_create, but uses a private communicator, which must have the clock's processes
 * and return errors. The context owns the communicator, which is freed also on failure.
 */
int offbeat_start_context_create_on(offbeat_clock *clock, MPI_Comm private_comm, int yield,
                                    offbeat_start_context **context);

#endif
