/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file main.c
 * The driver: executes a worklist from rank 0's standard input.
 *
 *     mpirun -n P offbeat-driver [--check] [--samples FILE]
 *
 * Each line of the worklist is a command (command.h, verbs.h), and is answered by one line that begins with
 * "@offbeat ". "quit" ends the program, and so does the end of the input if the launcher forwards it (PRRTE
 * does not always). All other output of the library goes to standard error, so that it cannot corrupt an
 * answer.
 * --check answers "hello" and exits.
 */
#define _GNU_SOURCE
#include "benchmark/verbs.h"

#include "control/p2p_collectives.h"
#include "library/variables.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Redirects standard output to standard error before MPI can write to it. @return the original standard
 * output, which is the front end's pipe; NULL if it is closed */
static FILE *redirect_standard_output(void) {
    int pipe = dup(STDOUT_FILENO);
    dup2(STDERR_FILENO, STDOUT_FILENO);
    return pipe < 0 ? NULL : fdopen(pipe, "w");
}

/* Reads a line on rank 0 and broadcasts it. @return the line, which the caller frees; NULL at the end of the
 * input */
static char *next_line(const offbeat_session *session) {
    char *line = NULL;
    size_t capacity = 0;
    int64_t length = 0;
    if (session->rank == 0) {
        ssize_t bytes = getline(&line, &capacity, stdin);
        length = bytes > 0 ? bytes + 1 : 0;
    }
    offbeat_p2p_broadcast_idle_wait(&length, sizeof length, session->control);
    if (length == 0) {
        free(line);
        return NULL;
    }
    if (session->rank != 0)
        line = malloc((size_t)length);
    if (!line || length > INT_MAX)
        offbeat_fatal("no memory for a command");
    offbeat_p2p_broadcast(line, (size_t)length, session->control);
    return line;
}

static void dispatch(offbeat_session *session, const offbeat_command *command) {
    static const struct {
        const char *verb;
        void (*execute)(offbeat_session *session, const offbeat_command *command);
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
        /* The arguments of force are names of variables, which may equal the name of a key. */
        const char *error = verbs[i].execute == offbeat_force ? NULL : offbeat_command_error(command);
        if (error)
            offbeat_answer_failure(session, error);
        else
            verbs[i].execute(session, command);
        return;
    }
    if (strcmp(command->verb, "hello") == 0)
        offbeat_hello(session);
    else
        offbeat_answer_failure(session, "no such command");
}

static void execute_worklist(offbeat_session *session) {
    for (char *line; (line = next_line(session));) {
        offbeat_command command;
        if (offbeat_command_parse(line, &command) != 0)
            offbeat_fatal("no memory for a command");
        int is_quit = strcmp(command.verb, "quit") == 0;
        if (!is_quit)
            dispatch(session, &command);
        if (session->answers)
            fflush(session->answers);
        offbeat_command_free(&command);
        free(line);
        if (is_quit)
            return;
    }
}

/* @return the exit status */
static int refuse_argument(const char *argument) {
    fprintf(
        stderr,
        "offbeat-driver: unknown argument '%s', or one without its value; known: --check, --samples FILE\n",
        argument);
    return 2;
}

int main(int argc, char **argv) {
    FILE *answers = redirect_standard_output();
    offbeat_session session = {0};
    int is_check = 0;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--check") == 0)
            is_check = 1;
        else if (strcmp(argv[i], "--samples") == 0 && i + 1 < argc)
            session.samples = argv[++i];
        else
            return refuse_argument(argv[i]);
    }
    offbeat_variables_open();
    MPI_Init(&argc, &argv);
    offbeat_session_open(&session, answers);
    if (is_check)
        offbeat_hello(&session);
    else
        execute_worklist(&session);
    if (session.answers)
        fflush(session.answers);
    offbeat_session_close(&session);
    offbeat_variables_close();
    MPI_Finalize();
    return 0;
}
