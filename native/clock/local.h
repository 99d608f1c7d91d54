/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file local.h
 * This process's own clock: which physical clock it reads, and the virtual offset that tests give it.
 */
#ifndef OFFBEAT_CLOCK_LOCAL_H
#define OFFBEAT_CLOCK_LOCAL_H

/** Length of an identity in bytes, the closing zero included. */
enum { OFFBEAT_IDENTITY_BYTES = 128 };

/**
 * Writes what names the physical clock behind CLOCK_MONOTONIC: the kernel's boot id and the time namespace.
 * Two processes with the same text read the same clock, unless a running machine was copied; the text is
 * empty when nothing certain can be said, or when a test moved this process's clock. The rest of the buffer
 * is zeroed.
 */
void offbeat_local_identity(char identity[OFFBEAT_IDENTITY_BYTES]);

/**
 * Sets this process's virtual offset from a text "rank:ns,rank:ns" (NULL or empty: no offset for anybody).
 * @param rank the entry to obey: this process's rank in MPI_COMM_WORLD
 * @return 0, or -1 when the text cannot be read; then nothing changes
 */
int offbeat_local_set_test_offset(const char *text, int rank);

#endif
