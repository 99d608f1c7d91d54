/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file promise.h
 * For native tests without MPI: says in a sentence which promise was broken and ends the program.
 */
#ifndef OFFBEAT_CLOCK_PROMISE_H
#define OFFBEAT_CLOCK_PROMISE_H

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

/** Unless @p holds, prints the sentence (printf style) on stderr and ends the program with status 1. */
__attribute__((format(printf, 2, 3))) static inline void promise(int holds, const char *sentence, ...) {
    if (holds)
        return;
    va_list arguments;
    va_start(arguments, sentence);
    vfprintf(stderr, sentence, arguments);
    fputs("\n", stderr);
    va_end(arguments);
    exit(1);
}

#endif
