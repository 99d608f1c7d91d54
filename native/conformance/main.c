/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file main.c
 * Runs cases in two processes. Commands, one line each on the standard input of rank 0:
 *
 *     cases           the cases, and what launched them
 *     run NAME S      one case; it hangs if it takes more than S seconds
 *     quit
 *
 * Answers are lines that begin with "@offbeat ", as those of the driver. A case that is wrong, crashes or
 * hangs answers from any process; the front end then kills the launch.
 */
#include "conformance/conformance.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const conformance_case *const files[] = {
    counts_cases,
    matching_cases,
    communicators_cases,
    datatypes_cases,
    completion_cases,
    iterations_cases,
    arrival_cases,
    progress_cases,
    threads_cases,
    misuse_cases,
    NULL,
};

enum { LONGEST = 200 };

struct conformance_world world;
static int thread_level;

static const conformance_case *find(const char *name) {
    for (const conformance_case *const *file = files; *file; file++)
        for (const conformance_case *entry = *file; entry->name; entry++)
            if (strcmp(entry->name, name) == 0)
                return entry;
    return NULL;
}

static void list_cases(void) {
    printf("@offbeat {\"ok\":true,\"cases\":[");
    for (const conformance_case *const *file = files; *file; file++)
        for (const conformance_case *entry = *file; entry->name; entry++)
            printf("%s{\"name\":\"%s\",\"section\":\"%s\",\"promise\":\"%s\",\"required\":%s,\"misuse\":%s}",
                   entry == counts_cases ? "" : ",", entry->name, entry->section, entry->promise,
                   entry->flags & CASE_QUALITY ? "false" : "true",
                   entry->flags & CASE_MISUSE ? "true" : "false");
    printf("]}\n");
    fflush(stdout);
}

static void refuse(const char *why) {
    printf("@offbeat {\"ok\":false,\"why\":\"%s\"}\n", why);
    fflush(stdout);
}

static void run_case(const conformance_case *entry, unsigned seconds) {
    const char *verdict = "skipped";
    if (!(entry->flags & CASE_THREADS) || thread_level == MPI_THREAD_MULTIPLE) {
        conformance_watch(seconds);
        entry->run();
        meet();
        conformance_watch(0);
        verdict = "right";
    }
    if (world.rank == 0) {
        printf("@offbeat {\"ok\":true,\"verdict\":\"%s\",\"found\":\"%s\"}\n", verdict,
               *verdict == 's' ? "the MPI library has no MPI_THREAD_MULTIPLE" : "");
        fflush(stdout);
    }
}

/* The next command, from the standard input of rank 0. @return 0 at the end */
static int next_line(char line[LONGEST]) {
    if (world.rank == 0 && (!fgets(line, LONGEST, stdin) || strncmp(line, "quit", 4) == 0))
        line[0] = '\0';
    if (world.rank == 0)
        PMPI_Send(line, LONGEST, MPI_CHAR, 1, 0, world.control);
    else
        PMPI_Recv(line, LONGEST, MPI_CHAR, 0, 0, world.control, MPI_STATUS_IGNORE);
    return line[0] != '\0';
}

static void execute(char *line) {
    char name[LONGEST] = "";
    unsigned seconds = 0;
    if (strncmp(line, "cases", 5) == 0) {
        if (world.rank == 0)
            list_cases();
        return;
    }
    const conformance_case *entry =
        sscanf(line, "run %199s %u", name, &seconds) == 2 ? find(name) : NULL; // NOLINT(cert-err34-c)
    if (entry)
        run_case(entry, seconds);
    else if (world.rank == 0)
        refuse("commands are: cases; run NAME SECONDS; quit");
}

int main(int argc, char **argv) {
    int processes;
    char line[LONGEST] = "";
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &thread_level);
    MPI_Comm_rank(MPI_COMM_WORLD, &world.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &processes);
    if (processes != 2) {
        fprintf(stderr, "Cases need 2 processes, and there are %d.\n", processes);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    world.peer = 1 - world.rank;
    MPI_Comm_dup(MPI_COMM_WORLD, &world.control);
    MPI_Comm_dup(MPI_COMM_WORLD, &world.comm);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(world.comm, MPI_ERRORS_RETURN);
    ATTACH(world.comm);
    while (next_line(line))
        execute(line);
    MPI_Finalize();
    return 0;
}
