/* SPDX-License-Identifier: BSD-3-Clause */
/** @file functions_test.c  Breakpoints record each function entered once, in order, and are removed
 * completely. */
#define _GNU_SOURCE
#include "library/functions.h"
#include "library/mpi_implementation.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* This program takes the place of the MPI library: its own functions are the algorithms. */
int offbeat_mpi_holds_algorithms(const char *path) {
    return strcmp(path, "/proc/self/exe") == 0;
}

int offbeat_mpi_is_algorithm(const char *symbol) {
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

static void expect(int condition, const char *claim) {
    if (condition)
        return;
    fprintf(stderr, "functions_test: failed: %s\n", claim);
    failures++;
}

static void entered_functions_are_recorded(int x) {
    for (int round = 0; round < 3; round++) {
        expect(offbeat_functions_begin() == 0, "breakpoints can be set");
        int result = algorithm_outer(x);
        const char *names = offbeat_functions_end();
        expect(result == 3 * (x + 1), "a breakpoint does not change the result of a function");
        expect(strcmp(names, "algorithm_outer algorithm_inner") == 0,
               "functions are recorded once, in the order of entry");
    }
    expect(offbeat_functions_begin() == 0, "breakpoints can be set again");
    expect(strcmp(offbeat_functions_end(), "") == 0, "nothing is recorded if no function is entered");
    depth = 0;
    expect(algorithm_outer(1) == 6 && algorithm_unused(1) == 1 && depth == 4, "all breakpoints are removed");
}

static atomic_int must_stop, calls;

static void *call_repeatedly(void *errors) {
    for (; !must_stop; calls++)
        *(int *)errors += algorithm_outer(1) != 6;
    return errors;
}

static void other_threads_are_not_disturbed(void) {
    pthread_t thread;
    int errors = 0, begin_failures = 0;
    if (pthread_create(&thread, NULL, call_repeatedly, &errors) != 0)
        return expect(0, "a thread can be created");
    for (int round = 0; round < 2000 || calls < 2000; round++)
        begin_failures += offbeat_functions_begin() != 0 || offbeat_functions_end() == NULL;
    must_stop = 1;
    pthread_join(thread, NULL);
    expect(!begin_failures, "breakpoints can be set while another thread runs");
    expect(!errors, "results of another thread are correct while breakpoints are set and removed");
}

/* A trap instruction of the program's own, or a SIGTRAP sent by raise(). */
static void other_traps_end_the_program(int is_sent) {
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
    expect(WIFSIGNALED(status) && WTERMSIG(status) == SIGTRAP,
           "a SIGTRAP that is not due to a breakpoint ends the program");
}

int main(int argc, char **argv) {
    (void)argv;
#if !defined(__x86_64__) && !defined(__aarch64__)
    expect(offbeat_functions_begin() != 0, "there are no breakpoints on other processors");
    return failures ? 1 : 0;
#endif
    entered_functions_are_recorded(argc);
    other_threads_are_not_disturbed();
    other_traps_end_the_program(0);
    other_traps_end_the_program(1);
    return failures ? 1 : 0;
}
