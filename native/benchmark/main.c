/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file main.c
 * The driver: a worklist in on rank 0's standard input, records out.
 *
 *     mpirun -n P offbeat-driver [--check] [--samples FILE]
 *
 * Each line of the worklist is a command (command.h, session.h); each is answered by one line that begins
 * with "@offbeat ". "quit" ends the program, and so does the end of the input where the launcher passes it on
 * (PRRTE does not always). Whatever else the library prints goes to standard error, so that it cannot break
 * an answer. --check answers "hello" and ends.
 */
#define _GNU_SOURCE
#include "benchmark/session.h"

#include "benchmark/subset.h"
#include "control/abandon.h"
#include "control/tree.h"
#include "library/variables.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Standard output becomes standard error before MPI can write to it; the front end's pipe is kept aside. */
static FILE *take_standard_output(void) {
    int pipe = dup(STDOUT_FILENO);
    dup2(STDERR_FILENO, STDOUT_FILENO);
    return pipe < 0 ? NULL : fdopen(pipe, "w");
}

/* Reads a line at rank 0 and gives it to all; NULL at the end of the input. The caller frees it. */
static char *next_line(const offbeat_session *session) {
    char *line = NULL;
    size_t room = 0;
    int64_t length = 0;
    if (session->rank == 0) {
        ssize_t got = getline(&line, &room, stdin);
        length = got > 0 ? got + 1 : 0;
    }
    offbeat_tree_broadcast_patiently(&length, sizeof length, session->control);
    if (length == 0) {
        free(line);
        return NULL;
    }
    if (session->rank != 0)
        line = malloc((size_t)length);
    if (!line || length > INT_MAX)
        offbeat_abandon("no memory for a command");
    offbeat_tree_broadcast(line, (size_t)length, session->control);
    return line;
}

static void obey(offbeat_session *session, const offbeat_command *command) {
    static const struct {
        const char *verb;
        void (*obey)(offbeat_session *session, const offbeat_command *command);
    } verbs[] = {
        {"force", offbeat_force},       {"variables", offbeat_list_variables},
        {"check", offbeat_check},       {"observe", offbeat_observe},
        {"measure", offbeat_measure},   {"fingerprint", offbeat_fingerprint},
        {"pingpong", offbeat_pingpong}, {"late", offbeat_late},
        {"stream", offbeat_stream},     {"local", offbeat_local},
        {"start", offbeat_start_by},    {"sync", offbeat_sync},
        {"accuracy", offbeat_accuracy},
    };
    for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++) {
        if (strcmp(command->verb, verbs[i].verb) != 0)
            continue;
        const char *fault = verbs[i].obey == offbeat_force ? NULL : offbeat_command_fault(command);
        if (fault)
            offbeat_answer_failure(session, fault);
        else
            verbs[i].obey(session, command);
        return;
    }
    if (strcmp(command->verb, "hello") == 0)
        offbeat_hello(session);
    else
        offbeat_answer_failure(session, "no such command");
}

static void serve(offbeat_session *session) {
    for (char *line; (line = next_line(session));) {
        offbeat_command command;
        if (offbeat_command_parse(line, &command) != 0)
            offbeat_abandon("no memory for a command");
        int ends = strcmp(command.verb, "quit") == 0;
        if (!ends)
            obey(session, &command);
        if (session->answers)
            fflush(session->answers);
        offbeat_command_free(&command);
        free(line);
        if (ends)
            return;
    }
}

static int open_session(offbeat_session *session, FILE *answers) {
    MPI_Comm_rank(MPI_COMM_WORLD, &session->rank);
    MPI_Comm_size(MPI_COMM_WORLD, &session->p);
    session->answers = session->rank == 0 ? answers : NULL;
    MPI_Comm_dup(MPI_COMM_WORLD, &session->control);
    MPI_Comm_dup(MPI_COMM_WORLD, &session->test);
    MPI_Comm_set_errhandler(session->test, MPI_ERRORS_RETURN);
    int error = offbeat_clock_create(session->control, &session->clock);
    if (error == MPI_SUCCESS)
        error = offbeat_start_context_create(session->clock, session->control,
                                             OFFBEAT_YIELD_IF_OVERSUBSCRIBED, &session->harmony);
    return error;
}

static void close_session(offbeat_session *session) {
    offbeat_subset_free(session);
    offbeat_start_context_free(&session->harmony);
    offbeat_clock_free(&session->clock);
    MPI_Comm_free(&session->test);
    MPI_Comm_free(&session->control);
}

/* @return the exit status of a program that was called wrongly */
static int refuse(const char *argument) {
    fprintf(
        stderr,
        "offbeat-driver: unknown argument '%s', or one without its value; known: --check, --samples FILE\n",
        argument);
    return 2;
}

int main(int argc, char **argv) {
    FILE *answers = take_standard_output();
    offbeat_session session = {0};
    int only_hello = 0;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--check") == 0)
            only_hello = 1;
        else if (strcmp(argv[i], "--samples") == 0 && i + 1 < argc)
            session.samples = argv[++i];
        else
            return refuse(argv[i]);
    }
    offbeat_variables_open();
    MPI_Init(&argc, &argv);
    if (open_session(&session, answers) != MPI_SUCCESS)
        offbeat_abandon(*offbeat_clock_error()
                            ? offbeat_clock_error()
                            : "the shared clock or the harmonised start could not be made");
    if (session.rank == 0 && !answers)
        offbeat_abandon("standard output is closed, and answers go there");
    if (only_hello)
        offbeat_hello(&session);
    else
        serve(&session);
    if (session.answers)
        fflush(session.answers);
    close_session(&session);
    offbeat_variables_close();
    MPI_Finalize();
    return 0;
}
