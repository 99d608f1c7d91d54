/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file trace_file.h
 * The trace file of this process: its pages, and the definitions in them (format.h).
 *
 * The file is memory-mapped as it grows. Space is allocated in the file system before it is written to, so
 * that a full disk is an error code and not a signal; what was written survives the process. Full pages are
 * unmapped, so that memory stays bounded. If another program truncates the file, records are lost, and the
 * process continues (mapping_guard.h).
 */
#ifndef OFFBEAT_TRACE_TRACE_FILE_H
#define OFFBEAT_TRACE_TRACE_FILE_H

#include "trace/format.h"

#include <stddef.h>

/** The most bytes that may follow the fixed part of a definition. */
enum { OFFBEAT_TRACER_MAX_TAIL_BYTES = 32768 };

/**
 * Creates the file. Call it once, before every other function of this header.
 * @param max_file_bytes no more pages of records and messages are allocated beyond this length; 0: unlimited
 * @return 0, or an errno value
 */
int offbeat_tracer_file_create(const char *path, uint64_t max_file_bytes);

/** The header in the file; NULL before offbeat_tracer_file_create and after offbeat_tracer_file_close. */
offbeat_trace_header *offbeat_tracer_file_header(void);

/** Completes the header, whose members that do not change are set. Call it before pages are allocated. */
void offbeat_tracer_file_begin(void);

/** Adds a lane to the file. Thread-safe. @return its number */
uint32_t offbeat_tracer_file_add_lane(void);

/** Raises `stamps_wrong_ns` of the file to an observed error. Thread-safe. */
void offbeat_tracer_file_raise_stamp_error(int64_t observed_ns);

/** Writes how and when the process ended. It may be called while other threads write. */
void offbeat_tracer_file_end(uint32_t state, int64_t ended_ns);

/**
 * Allocates a page, zero-filled after its header. Thread-safe. After the first failure every call fails; the
 * file's header holds the reason. Pages of definitions are not limited.
 * @param sum receives the checksum of the page, to which the caller adds what it writes
 * @return NULL on failure
 */
offbeat_trace_page *offbeat_tracer_page_allocate(uint32_t kind, uint32_t lane, int64_t origin_ns,
                                                 uint64_t *sum);

/** Releases a page that no thread writes to any more. Thread-safe. */
void offbeat_tracer_page_release(offbeat_trace_page *page);

/** Counts a record or message for which there was no space. Thread-safe. */
void offbeat_tracer_count_lost_record(void);

/** Whether the file has a name and all its pages: another program may have truncated, moved or deleted it,
 * and then records are lost (lost_because is ESTALE if some of them were counted). */
int offbeat_tracer_file_is_whole(void);

/** Truncates the file after its last page and closes it. No other thread may write any more. */
void offbeat_tracer_file_close(void);

/**
 * Writes one definition; drops it if the file has no space. Thread-safe.
 * @param head      the structure of its kind; this function fills in its member `definition`
 * @param tail       what follows it in the file (a string, or ranks), truncated to
 * OFFBEAT_TRACER_MAX_TAIL_BYTES
 */
void offbeat_tracer_define(uint16_t kind, void *head, size_t head_bytes, const void *tail, size_t tail_bytes);

/** Writes a message for the reader of the trace. @param at_ns local clock */
void offbeat_tracer_define_note(int64_t at_ns, const char *message);

/** Writes the definitions of all wrapped functions. */
void offbeat_tracer_define_functions(void);

/* --- numbers of definitions --- */

/** Numbers by hash: an open hash table, at most half full. Zero-initialised: empty. */
typedef struct offbeat_tracer_number_table {
    struct offbeat_tracer_number {
        uint64_t hash, number; /**< number 0: an empty entry */
    } *entries;
    size_t size, count;
} offbeat_tracer_number_table;

/**
 * The number of a hash; 0: the hash is new, and the caller must set another number. Not thread-safe.
 * @return NULL if memory is exhausted; valid until the next call
 */
uint64_t *offbeat_tracer_number_of(offbeat_tracer_number_table *table, uint64_t hash);

#endif
