/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file work.h
 * The work of a process as programs of many iterations describe it: memory traffic, floating-point operations
 * that overlap with it, and time on a core.
 *
 * Memory traffic is that of a[i] = b[i] + s * a[i] over arrays of doubles: each cache line of a is read and
 * written, each of b is read. As the lines that are written were read before, no cache has to allocate a line
 * for a write, and the traffic is 24 bytes for each element on every processor. Each run continues behind the
 * elements of the run before, so that arrays that are larger than the last-level cache always come from the
 * memory.
 */
#ifndef OFFBEAT_WORK_H
#define OFFBEAT_WORK_H

#include <stddef.h>
#include <stdint.h>

/** Memory traffic of one cache line of each array, in bytes: less is rounded to whole lines. */
enum { OFFBEAT_WORK_LINE_TRAFFIC = 3 * 64 };

/** The arrays of a process. */
typedef struct offbeat_work offbeat_work;

/**
 * Allocates the arrays and writes to every page, so that they are in the memory of this process's domain.
 * @param bytes of both arrays together; at least one page is allocated
 * @return NULL if there is no memory for them; free them with offbeat_work_free
 */
offbeat_work *offbeat_work_create(size_t bytes);

void offbeat_work_free(offbeat_work *work);

/**
 * Draws @p memory_bytes from the memory, rounded to whole cache lines, and executes @p flops floating-point
 * operations meanwhile. The operations that the traffic itself needs (2 of 24 bytes) count: if @p flops are
 * fewer, no others are executed.
 */
void offbeat_work_run(offbeat_work *work, int64_t memory_bytes, int64_t flops);

/** Draws so much of the arrays from the memory that nothing else is left in the caches, if the arrays have
 * the default size. */
void offbeat_work_evict(offbeat_work *work);

/** Computes until this thread has had a core for @p duration_ns. Other processes on the same core make the
 * call longer. */
void offbeat_work_busy(int64_t duration_ns);

/** The size of the arrays of a process unless another one is asked for: several times the last-level cache,
 * in bytes. */
size_t offbeat_work_default_bytes(void);

/** The ccNUMA domain (of the node) on which this thread runs now; 0 where the system does not say it. */
int offbeat_work_domain(void);

#endif
