/* SPDX-License-Identifier: BSD-3-Clause */
/** @file verdict.c  How a case that is not right ends: a wrong result, an error, a crash, a hang. */
#define _POSIX_C_SOURCE 200809L
#include "conformance/conformance.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char *volatile current_call = "";

static const char wait_state[] = "waiting for the other process";

void conformance_enter(const char *call) {
    current_call = call;
}

void conformance_check_code(int code, const char *call) {
    char text[MPI_MAX_ERROR_STRING];
    int length;
    if (code == MPI_SUCCESS)
        return;
    MPI_Error_string(code, text, &length);
    conformance_answer("wrong", "%s fails: %s", call, text);
}

/* Without stdio and malloc, as a signal handler calls it. The line is one write, so that the lines of two
 * processes do not mix. */
static void write_answer(const char *verdict, const char *observation) {
    char line[1200];
    int length =
        snprintf(line, sizeof line, "@offbeat {\"ok\":true,\"verdict\":\"%s\",\"found\":\"rank %d: ", verdict,
                 world.rank);
    for (const char *c = observation; *c && length < (int)sizeof line - 4; c++)
        line[length++] = *c == '"' ? '\'' : *c == '\\' ? '/' : *c < 0x20 ? ' ' : *c;
    memcpy(line + length, "\"}\n", 3);
    if (write(STDOUT_FILENO, line, (size_t)length + 3) < 0)
        _exit(1);
}

static void wait_for_the_end(void) {
    for (;;)
        pause();
}

void conformance_answer(const char *verdict, const char *format, ...) {
    char text[1000];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    alarm(0);
    write_answer(verdict, text);
    wait_for_the_end();
    _exit(1); /* not reached */
}

static void on_signal(int number) {
    char text[400];
    const char *call = *current_call ? current_call : "the case's own code";
    alarm(0);
    if (number == SIGALRM && current_call == wait_state)
        wait_for_the_end(); /* the other process knows in which call it hangs */
    if (number == SIGALRM)
        snprintf(text, sizeof text, "in %s", call);
    else
        snprintf(text, sizeof text, "signal %d in %s", number, call);
    write_answer(number == SIGALRM ? "hangs" : "crashes", text);
    wait_for_the_end();
}

void conformance_watch(unsigned seconds) {
    static const int signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGABRT, SIGILL, SIGALRM};
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = on_signal;
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
        sigaction(signals[i], &action, NULL);
    alarm(seconds);
}

void meet(void) {
    conformance_enter(wait_state);
    PMPI_Sendrecv(NULL, 0, MPI_BYTE, world.peer, 1, NULL, 0, MPI_BYTE, world.peer, 1, world.control,
                  MPI_STATUS_IGNORE);
    conformance_enter("");
}
