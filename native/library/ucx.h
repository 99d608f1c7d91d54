/* SPDX-License-Identifier: BSD-3-Clause */
/** @file ucx.h  UCX's own functions, below those of the same names that messages.c interposes. */
#ifndef OFFBEAT_UCX_H
#define OFFBEAT_UCX_H

/**
 * The function of this name that the program would have called without ours; local.
 * @return NULL where UCX is not in the process: then nothing calls ours, either
 */
void *offbeat_ucx_function(const char *name);

#endif
