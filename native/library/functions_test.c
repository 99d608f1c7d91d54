/* SPDX-License-Identifier: BSD-3-Clause */
/** @file functions_test.c  Breakpoints name the functions entered, in order, once each, and leave nothing
 * behind. */
#define _GNU_SOURCE
#include "library/family.h"
#include "library/functions.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* This program plays the library: its own functions are the algorithms. */
int offbeat_family_holds_algorithms(const char *path) {
    return strcmp(path, "/proc/self/exe") == 0;
}

int offbeat_family_is_algorithm(const char *symbol) {
    return strncmp(symbol, "algorithm_", 10) == 0;
}

static _Thread_local volatile int depth;

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

static void functions_are_named(int x) {
    for (int round = 0; round < 3; round++) {
        expect(offbeat_functions_begin() == 0, "breakpoints can be planted");
        int result = algorithm_outer(x);
        const char *seen = offbeat_functions_end();
        expect(result == 3 * (x + 1), "a function with a breakpoint computes what it computes without");
        expect(strcmp(seen, "algorithm_outer algorithm_inner") == 0,
               "functions are named once, in the order of entry");
    }
    expect(offbeat_functions_begin() == 0, "breakpoints can be planted again");
    expect(strcmp(offbeat_functions_end(), "") == 0, "nothing is named when nothing is entered");
    depth = 0;
    expect(algorithm_outer(1) == 6 && algorithm_unused(1) == 1 && depth == 4, "nothing is left behind");
}

static atomic_int is_over, calls;

static void *call_on(void *wrong) {
    for (; !is_over; calls++)
        *(int *)wrong += algorithm_outer(1) != 6;
    return wrong;
}

static void other_threads_go_on(void) {
    pthread_t thread;
    int wrong = 0, missed = 0;
    if (pthread_create(&thread, NULL, call_on, &wrong) != 0)
        return expect(0, "there can be another thread");
    for (int round = 0; round < 2000 || calls < 2000; round++)
        missed += offbeat_functions_begin() != 0 || offbeat_functions_end() == NULL;
    is_over = 1;
    pthread_join(thread, NULL);
    expect(!missed, "breakpoints can be planted while another thread runs");
    expect(!wrong, "another thread computes right while breakpoints come and go");
}

/* A breakpoint that is nobody's, and the signal alone. */
static void other_traps_kill(int is_sent) {
    pid_t child = fork();
    if (child == 0) {
        setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
        if (is_sent)
            raise(SIGTRAP);
#if defined(__x86_64__)
        __asm__ volatile("int3");
#elif defined(__aarch64__)
        __asm__ volatile("brk #0");
#endif
        _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    expect(WIFSIGNALED(status) && WTERMSIG(status) == SIGTRAP, "a trap that is not ours ends the program");
}

int main(int argc, char **argv) {
    (void)argv;
#if !defined(__x86_64__) && !defined(__aarch64__)
    expect(offbeat_functions_count() == 0, "no breakpoints are promised on this processor");
    return failures ? 1 : 0;
#endif
    expect(offbeat_functions_count() == 3, "all functions that are algorithms are found");
    functions_are_named(argc);
    other_threads_go_on();
    other_traps_kill(0);
    other_traps_kill(1);
    return failures ? 1 : 0;
}
