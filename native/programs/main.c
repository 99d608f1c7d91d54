/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file main.c
 * The executor of programs of many iterations.
 *
 *     mpirun -n P offbeat-program FOLDER
 *
 * FOLDER holds the file `plan` (programs/plan.h), and `delays` if there are any (programs/delays.h). Each
 * process writes its times to FOLDER/rank-N.times (programs/record.h); all nodes must see the folder. At the
 * end, rank 0 prints "@offbeat " and a JSON object: {"ok":true}, or "why" there is no run.
 */
#define _GNU_SOURCE
#include "control/p2p_collectives.h"
#include "programs/executor.h"
#include "protocol/answer.h"
#include "work/work.h"

#include <limits.h>
#include <mpi.h>
#include <offbeat/harmonize.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A run of this process. */
typedef struct run {
    const char *folder;
    int rank, p;
    MPI_Comm control_comm; /* of offbeat's own messages */
    program_plan plan;
    program_delays delays;
    program_record record;
    program_executor *executor;
    offbeat_clock *clock;
    offbeat_start_context *starts;
} run;

/* FOLDER/NAME in static storage. */
static const char *path_of(const run *r, const char *name) {
    static char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/%s", r->folder, name);
    return path;
}

/* Reads the whole file on rank 0. @return the text, which the caller frees; NULL if it cannot be read */
static char *read_plan(const run *r) {
    char *text = NULL;
    size_t capacity = 0;
    FILE *file = fopen(path_of(r, "plan"), "r");
    if (!file)
        return NULL;
    if (getdelim(&text, &capacity, '\0', file) < 0) {
        free(text);
        text = NULL;
    }
    fclose(file);
    return text;
}

/* Reads the plan on rank 0 and sends it to all. Collective. @return the text, which the caller frees */
static char *share_plan(const run *r) {
    char *text = r->rank == 0 ? read_plan(r) : NULL;
    int64_t length = text ? (int64_t)strlen(text) + 1 : 0;
    offbeat_p2p_broadcast(&length, sizeof length, r->control_comm);
    if (length == 0 || length > INT_MAX)
        return NULL;
    if (r->rank != 0)
        text = malloc((size_t)length);
    if (!text)
        offbeat_fatal("no memory for the plan");
    offbeat_p2p_broadcast(text, (size_t)length, r->control_comm);
    return text;
}

static const char *parse_plan(run *r) {
    char *text = share_plan(r);
    if (!text)
        return "the file 'plan' could not be read in the folder of the run";
    const char *why = program_plan_parse(text, r->rank, &r->plan);
    free(text);
    return !why && r->plan.ranks != r->p ? "the plan is for another number of processes" : why;
}

static const char *open_record(run *r) {
    char name[64];
    program_record_header header = {
        .rank = r->rank,
        .ranks = r->p,
        .phases = program_plan_phases(&r->plan),
        .alone = r->plan.alone,
        .iterations = r->plan.iterations,
        .domain = offbeat_work_domain(),
    };
    gethostname(header.host, sizeof header.host - 1);
    snprintf(name, sizeof name, "rank-%d.times", r->rank);
    return program_record_open(path_of(r, name), &header, &r->record);
}

/* Everything before the first message of the program; the plan was parsed. Collective.
 * @return NULL, or this process's error */
static const char *prepare(run *r) {
    const char *why = program_delays_read(path_of(r, "delays"), r->rank, &r->delays);
    if (!why)
        r->executor = program_executor_create(&r->plan, &why);
    return why ? why : open_record(r);
}

static void open_clock(run *r) {
    int error = offbeat_clock_create(r->control_comm, &r->clock);
    if (error == MPI_SUCCESS)
        error = offbeat_start_context_create(r->clock, r->control_comm, OFFBEAT_YIELD_IF_OVERSUBSCRIBED,
                                             &r->starts);
    if (error != MPI_SUCCESS)
        offbeat_fatal(*offbeat_clock_error()
                          ? offbeat_clock_error()
                          : "the shared clock or the harmonised start could not be created");
}

/* Synchronises clocks again after the iterations, so that the drift during the run is known. Collective. */
static void record_end(run *r) {
    program_record_header *header = r->record.header;
    if (offbeat_clock_sync(r->clock) != MPI_SUCCESS)
        offbeat_fatal("an MPI error in a synchronisation of clocks");
    header->end_local_ns = offbeat_clock_local_ns(r->clock);
    header->end_global_ns = offbeat_clock_global_ns(r->clock, header->end_local_ns);
}

static void execute(run *r) {
    open_clock(r);
    program_executor_warm_up(r->executor);
    program_executor_alone(r->executor, r->starts, r->clock, &r->record);
    program_executor_iterate(r->executor, r->starts, r->clock, &r->delays, &r->record);
    record_end(r);
    offbeat_start_context_free(&r->starts);
    offbeat_clock_free(&r->clock);
}

static void close_run(run *r) {
    program_executor_free(r->executor);
    program_delays_free(&r->delays);
    program_plan_free(&r->plan);
    if (r->record.header)
        program_record_close(&r->record);
    MPI_Comm_free(&r->control_comm);
}

/* The first error of any process. Collective. @return NULL on all processes, or on all of them a message;
 * rank 0's own, if it has one */
static const char *agree(const run *r, const char *why) {
    static char message[600], text[512];
    int64_t failed_rank = why ? r->rank : INT64_MAX;
    offbeat_p2p_allreduce(&failed_rank, 1, OFFBEAT_MIN, r->control_comm);
    if (failed_rank == INT64_MAX)
        return NULL;
    if (failed_rank != 0 && r->rank == failed_rank) {
        snprintf(text, sizeof text, "%s", why);
        MPI_Send(text, sizeof text, MPI_CHAR, 0, 0, r->control_comm);
    }
    if (failed_rank != 0 && r->rank == 0) {
        MPI_Recv(text, sizeof text, MPI_CHAR, (int)failed_rank, 0, r->control_comm, MPI_STATUS_IGNORE);
        snprintf(message, sizeof message, "rank %lld: %s", (long long)failed_rank, text);
        return message;
    }
    return why ? why : "another process could not prepare the run";
}

/* The verb of the plan's first line, which is answered. */
static const offbeat_verb *run_verb(void) {
    const offbeat_verb *verb = offbeat_verbs;
    while (verb->program != OFFBEAT_EXECUTOR || strcmp(verb->name, "run") != 0)
        verb++;
    return verb;
}

int main(int argc, char **argv) {
    run r = {.folder = argc == 2 ? argv[1] : NULL};
    if (!r.folder) {
        fputs("usage: mpirun -n P offbeat-program FOLDER\n", stderr);
        return 2;
    }
    MPI_Init(&argc, &argv);
    MPI_Pcontrol(PROGRAM_PAUSE_TRACE);
    MPI_Comm_rank(MPI_COMM_WORLD, &r.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &r.p);
    MPI_Comm_dup(MPI_COMM_WORLD, &r.control_comm);
    offbeat_answer answer = {.stream = r.rank == 0 ? stdout : NULL};
    const char *why = agree(&r, parse_plan(&r));
    if (!why) /* all processes create communicators, or none */
        why = agree(&r, prepare(&r));
    if (why)
        offbeat_answer_failure(&answer, why);
    else {
        execute(&r);
        offbeat_answer_begin(&answer, run_verb());
        offbeat_answer_end(&answer);
    }
    close_run(&r);
    MPI_Finalize();
    return why ? 1 : 0;
}
