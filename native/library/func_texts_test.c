/* SPDX-License-Identifier: BSD-3-Clause */
/** @file func_texts_test.c  Functions of a program without symbols are found by the text of their own name.
 */
#define _GNU_SOURCE
#include "library/func_texts.h"

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

/* What a compiler makes of two algorithms inlined into their chooser: it is neither of them. */
__attribute__((noinline)) int choose(int x) {
    static const char one[] = "algorithm_first", other[] = "algorithm_other";
    last = x ? one : other;
    return x;
}

/* An algorithm with a part of its own inlined: the name that the other begins with. */
__attribute__((noinline)) int algorithm_pipe(int x) {
    static const char part[] = "algorithm_pipe_part";
    last = x ? __func__ : part;
    return x;
}

static int failures;

static void expect(int holds, const char *sentence) {
    if (holds)
        return;
    fprintf(stderr, "func_texts_test: not true: %s\n", sentence);
    failures++;
}

static const char *name_of(const offbeat_symbol_list *list, int (*function)(int)) {
    long i = offbeat_symbols_at(list, (uintptr_t)function);
    return i < 0 ? "" : list->items[i].name;
}

int main(int argc, char **argv) {
    (void)argv;
    offbeat_symbol_list list = offbeat_func_texts_find(is_this_program, is_algorithm);
#if !defined(__x86_64__) && !defined(__aarch64__)
    expect(list.count == 0, "no names are promised on this processor");
    return failures ? 1 : 0;
#endif
    expect(algorithm_tree(argc) + algorithm_ring(argc) + choose(argc) + algorithm_pipe(argc) > 0, "they run");
    expect(strcmp(name_of(&list, algorithm_tree), "algorithm_tree") == 0, "a function is found by its name");
    expect(strcmp(name_of(&list, algorithm_ring), "algorithm_ring") == 0, "and so is another");
    expect(strcmp(name_of(&list, choose), "") == 0, "a function that refers to two names gets neither");
    expect(strcmp(name_of(&list, algorithm_pipe), "algorithm_pipe") == 0,
           "a function that refers to a part of itself keeps its own name");
    expect(list.count == 3, "nothing else is found");
    offbeat_symbols_free(&list);
    return failures ? 1 : 0;
}
