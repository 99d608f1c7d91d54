/* SPDX-License-Identifier: BSD-3-Clause */
/** @file ucx.h  UCX's own functions, which messages.c interposes. */
#ifndef OFFBEAT_UCX_H
#define OFFBEAT_UCX_H

/**
 * The function of this name in the loaded UCX. Local.
 * @return NULL if UCX is not loaded; then nothing calls the interposed functions either
 */
void *offbeat_ucx_function(const char *name);

#endif
