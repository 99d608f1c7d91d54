/* SPDX-License-Identifier: BSD-3-Clause */
/** @file assert.h  Assertions for native tests without MPI, with a message for whoever reads the log. */
#ifndef OFFBEAT_TESTING_ASSERT_H
#define OFFBEAT_TESTING_ASSERT_H

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

/** When the condition is false, prints the message (printf style) on stderr and exits with status 1. */
__attribute__((format(printf, 2, 3))) static inline void test_assert(int condition, const char *message,
                                                                     ...) {
    if (condition)
        return;
    va_list arguments;
    va_start(arguments, message);
    vfprintf(stderr, message, arguments);
    fputs("\n", stderr);
    va_end(arguments);
    exit(1);
}

#endif
