/* SPDX-License-Identifier: BSD-3-Clause */
/** @file functions_test.c  Breakpoints name the functions entered, in order, once each, and leave nothing
 * behind. */
#define _GNU_SOURCE
#include "library/family.h"
#include "library/functions.h"

#include <stdio.h>
#include <string.h>

/* This program plays the library: its own functions are the algorithms. */
int offbeat_family_holds_algorithms(const char *path) {
    return path[0] == '\0' || strstr(path, "functions_test") != NULL;
}

int offbeat_family_is_algorithm(const char *symbol) {
    return strncmp(symbol, "algorithm_", 10) == 0;
}

static volatile int depth;

__attribute__((noinline)) int algorithm_inner(int x) {
    depth++;
    return x + 1;
}

__attribute__((noinline)) int algorithm_outer(int x) {
    depth++;
    return 2 * algorithm_inner(x) + algorithm_inner(x);
}

__attribute__((noinline)) int algorithm_unused(int x) {
    depth++;
    return x;
}

static int failures;

static void expect(int holds, const char *sentence) {
    if (holds)
        return;
    fprintf(stderr, "functions_test: not true: %s\n", sentence);
    failures++;
}

int main(int argc, char **argv) {
    (void)argv;
    if (offbeat_functions_count() == 0) {
        printf("functions_test: no breakpoints on this processor\n");
        return 0;
    }
    expect(offbeat_functions_count() == 3, "all functions that are algorithms are found");
    for (int round = 0; round < 3; round++) {
        expect(offbeat_functions_begin() == 0, "breakpoints can be planted");
        int result = algorithm_outer(argc);
        const char *seen = offbeat_functions_end();
        expect(result == 3 * (argc + 1), "a function with a breakpoint computes what it computes without");
        expect(strcmp(seen, "algorithm_outer algorithm_inner") == 0,
               "functions are named once, in the order of entry");
    }
    expect(offbeat_functions_begin() == 0, "breakpoints can be planted again");
    expect(strcmp(offbeat_functions_end(), "") == 0, "nothing is named when nothing is entered");
    depth = 0;
    expect(algorithm_outer(1) == 6 && algorithm_unused(1) == 1 && depth == 4, "nothing is left behind");
    return failures ? 1 : 0;
}
