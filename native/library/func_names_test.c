/* SPDX-License-Identifier: BSD-3-Clause */
/** @file func_names_test.c  Functions of a stripped program are identified by their __func__ strings. */
#define _GNU_SOURCE
#include "library/symbols.h"

#include <stdio.h>
#include <string.h>

static int is_this_program(const char *path) {
    return strcmp(path, "/proc/self/exe") == 0;
}

static int is_algorithm(const char *symbol) {
    return strncmp(symbol, "algorithm_", 10) == 0 && symbol[10];
}

static const char *volatile last;

__attribute__((noinline)) int algorithm_tree(int x) {
    last = __func__;
    return x + 1;
}

__attribute__((noinline)) int algorithm_ring(int x) {
    last = __func__;
    return x + 2;
}

/* As if the compiler had inlined two algorithms into the function that selects one of them. */
__attribute__((noinline)) int select_algorithm(int x) {
    static const char first_name[] = "algorithm_first", other_name[] = "algorithm_other";
    last = x ? first_name : other_name;
    return x;
}

/* As if the compiler had inlined a function whose name begins with the name of its caller. */
__attribute__((noinline)) int algorithm_pipe(int x) {
    static const char part[] = "algorithm_pipe_part";
    last = x ? __func__ : part;
    return x;
}

static int failures;

static void expect(int condition, const char *claim) {
    if (condition)
        return;
    fprintf(stderr, "func_names_test: failed: %s\n", claim);
    failures++;
}

static const char *name_of(const offbeat_symbol_list *list, int (*function)(int)) {
    long i = offbeat_symbols_at(list, (uintptr_t)function);
    return i < 0 ? "" : list->items[i].name;
}

int main(int argc, char **argv) {
    (void)argv;
    offbeat_symbol_list list = offbeat_symbols_find_by_func_names(is_this_program, is_algorithm);
#if !defined(__x86_64__) && !defined(__aarch64__)
    expect(list.count == 0, "no names are found on other processors");
    return failures ? 1 : 0;
#endif
    expect(algorithm_tree(argc) + algorithm_ring(argc) + select_algorithm(argc) + algorithm_pipe(argc) > 0,
           "the functions run");
    expect(strcmp(name_of(&list, algorithm_tree), "algorithm_tree") == 0, "the first algorithm is named");
    expect(strcmp(name_of(&list, algorithm_ring), "algorithm_ring") == 0, "the second algorithm is named");
    expect(strcmp(name_of(&list, select_algorithm), "") == 0,
           "a function that refers to two names is omitted");
    expect(strcmp(name_of(&list, algorithm_pipe), "algorithm_pipe") == 0,
           "a function that refers to a continuation of its name keeps its own name");
    expect(list.count == 3, "no other function is named");
    offbeat_symbols_free(&list);
    return failures ? 1 : 0;
}
