/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file main.c
 * The driver: executes a worklist from rank 0's standard input.
 *
 *     mpirun -n P offbeat-driver [--check] [--threads] [--samples FILE]
 *     offbeat-driver --protocol
 *
 * Each line of the worklist is a command (protocol/protocol.c), and is answered by one line that begins with
 * "@offbeat ". "quit" ends the program, and so does the end of the input if the launcher forwards it (PRRTE
 * does not always). All other output of the library goes to standard error, so that it cannot corrupt an
 * answer.
 * --threads asks for MPI_THREAD_MULTIPLE, which partitioned sends of several threads need. --check answers
 * "hello" and exits. --protocol prints verbs and keys as JSON and exits, without MPI.
 */
#define _GNU_SOURCE
#include "benchmark/session.h"

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
    offbeat_p2p_broadcast_idle_wait(&length, sizeof length, session->control_comm);
    if (length == 0) {
        free(line);
        return NULL;
    }
    if (session->rank != 0)
        line = malloc((size_t)length);
    if (!line || length > INT_MAX)
        offbeat_fatal("no memory for a command");
    offbeat_p2p_broadcast(line, (size_t)length, session->control_comm);
    return line;
}

static void execute(offbeat_session *session, const offbeat_command *command) {
    static const struct {
        const char *verb;
        void (*execute)(offbeat_session *session, const offbeat_command *command);
    } verbs[] = {
        {"force", offbeat_force},
        {"variables", offbeat_list_variables},
        {"check", offbeat_check},
        {"call", offbeat_call_drawn},
        {"bits", offbeat_answer_bits},
        {"observe", offbeat_observe},
        {"measure", offbeat_measure},
        {"fingerprint", offbeat_fingerprint},
        {"pingpong", offbeat_pingpong},
        {"late", offbeat_late},
        {"stream", offbeat_stream},
        {"local", offbeat_local},
        {"work", offbeat_time_work},
        {"start", offbeat_start_by},
        {"sync", offbeat_sync},
        {"accuracy", offbeat_accuracy},
        {"hello", offbeat_hello},
        {"partitioned", offbeat_partitioned},
        {"approaches", offbeat_list_approaches},
    };
    session->verb = command->verb;
    for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++)
        if (strcmp(command->verb->name, verbs[i].verb) == 0) {
            verbs[i].execute(session, command);
            return;
        }
    offbeat_fatal("the protocol has a verb that the driver cannot execute");
}

/* Executes one line. @return whether it was "quit" */
static int execute_line(offbeat_session *session, char *line, long number) {
    offbeat_command command;
    const char *why = offbeat_command_parse(line, number, OFFBEAT_DRIVER, &command);
    int is_quit = !why && strcmp(command.verb->name, "quit") == 0;
    if (why)
        offbeat_answer_failure(&session->answer, why);
    else if (!is_quit)
        execute(session, &command);
    offbeat_command_free(&command);
    return is_quit;
}

static void execute_worklist(offbeat_session *session) {
    int is_quit = 0;
    for (long number = 1; !is_quit; number++) {
        char *line = next_line(session);
        is_quit = !line || execute_line(session, line, number);
        free(line);
    }
}

/* @return the exit status */
static int refuse_argument(const char *argument) {
    fprintf(stderr,
            "offbeat-driver: unknown argument '%s', or one without its value; known: --check, --protocol,"
            " --threads, --samples FILE\n",
            argument);
    return 2;
}

int main(int argc, char **argv) {
    if (argc == 2 && strcmp(argv[1], "--protocol") == 0) {
        offbeat_protocol_print(stdout);
        return 0;
    }
    FILE *answers = redirect_standard_output();
    offbeat_session session = {0};
    int is_check = 0, has_threads = 0, level;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--check") == 0)
            is_check = 1;
        else if (strcmp(argv[i], "--threads") == 0)
            has_threads = 1;
        else if (strcmp(argv[i], "--samples") == 0 && i + 1 < argc)
            session.samples = argv[++i];
        else
            return refuse_argument(argv[i]);
    }
    offbeat_variables_open();
    if (has_threads)
        MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    else
        MPI_Init(&argc, &argv);
    offbeat_session_open(&session, answers);
    char check[] = "hello";
    if (is_check)
        execute_line(&session, check, 1);
    else
        execute_worklist(&session);
    offbeat_session_close(&session);
    offbeat_variables_close();
    MPI_Finalize();
    return 0;
}
