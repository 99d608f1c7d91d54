/* SPDX-License-Identifier: BSD-3-Clause */
/** @file define.h  Writing the definitions of format.h into the trace file. Any thread. */
#ifndef OFFBEAT_TRACE_DEFINE_H
#define OFFBEAT_TRACE_DEFINE_H

#include "trace/format.h"

#include <stddef.h>

/** The most bytes that may follow the fixed part of a definition. */
enum { OFFBEAT_LONGEST_TAIL = 32768 };

/**
 * Writes one definition; nothing where the file has no room.
 * @param fixed      the structure of its kind; `definition` in it is filled in here
 * @param tail       what follows it in the file: a text, or ranks; what is longer than OFFBEAT_LONGEST_TAIL
 *                   loses its end
 */
void offbeat_define(uint16_t kind, void *fixed, size_t fixed_bytes, const void *tail, size_t tail_bytes);

/** Writes a sentence for people. @param at_ns local clock */
void offbeat_define_note(int64_t at_ns, const char *sentence);

/** Writes all functions of the table. */
void offbeat_define_functions(void);

#endif
