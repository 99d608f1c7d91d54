/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file main.c
 * offbeat-ft: an application whose time goes into MPI_Alltoall, for trying out offbeat on it.
 *
 *     mpirun -n P offbeat-ft [--class S] [--imbalance FILE] [--json] ...
 *
 * Exit status: 0 verified, 1 a checksum is wrong, 2 invalid command line or pattern file.
 */
#include "ft/calls.h"
#include "ft/imbalance.h"
#include "ft/options.h"
#include "ft/report.h"
#include "ft/solver.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MESSAGE_BYTES = 1024, BAD_INPUT = 2 };

/* Ends the job if an allocation failed. */
static void *checked(void *memory, const ft_job *job) {
    if (memory == NULL) {
        fprintf(stderr,
                "offbeat-ft: rank %d is out of memory; start more processes, or take a smaller class\n",
                job->rank);
        MPI_Abort(job->comm, 1);
    }
    return memory;
}

/* All ranks detect the same error; rank 0 reports it. @return the exit status */
static int refuse(const ft_job *job, const char *why) {
    if (job->rank == 0)
        fprintf(stderr, "offbeat-ft: %s\n", why);
    return BAD_INPUT;
}

static size_t least(size_t a, size_t b) {
    return a < b ? a : b;
}

/* @return 0, or -1 and an error message if the class cannot run on p processes */
static int check_processes(const ft_options *options, int p, char *why, size_t bytes) {
    const ft_problem *problem = options->problem;
    size_t block = ft_solver_largest_block(problem, options->rows, options->columns);
    if ((long)options->rows * options->columns != p)
        snprintf(why, bytes, "--processes %dx%d needs %ld processes, but %d %s started", options->rows,
                 options->columns, (long)options->rows * options->columns, p, p == 1 ? "was" : "were");
    else if ((size_t)options->rows > problem->nz)
        snprintf(why, bytes, "class %s has %zu planes, so that at most %zu processes can share them, not %d",
                 problem->name, problem->nz, problem->nz, options->rows);
    else if ((size_t)options->columns > least(problem->nx, problem->ny))
        snprintf(why, bytes,
                 "class %s has %zu lines a plane along x, and %zu along y, so that a row can have at"
                 " most %zu processes, not %d",
                 problem->name, problem->ny, problem->nx, least(problem->nx, problem->ny), options->columns);
    else if (block > ft_largest_block())
        snprintf(why, bytes,
                 "class %s on %d %s has blocks of %zu elements, more than MPI_Alltoall can count;"
                 " start more processes",
                 problem->name, p, p == 1 ? "process" : "processes", block);
    else
        return 0;
    return -1;
}

static int read_pattern(const char *path, int p, double *delays_s, char *why, size_t bytes) {
    FILE *file = fopen(path, "r");
    if (file == NULL) {
        snprintf(why, bytes,
                 "the pattern file %s cannot be read: %s; write one with offbeat pattern make SHAPE --p %d"
                 " --skew TIME --output FILE",
                 path, strerror(errno), p);
        return -1;
    }
    int status = ft_pattern_read(file, path, p, delays_s, why, bytes);
    fclose(file);
    return status;
}

/* Reads the pattern file on rank 0 and broadcasts the delays of all ranks; without a pattern file all delays
 * are 0. Collective. @return 0, or -1 on all ranks and an error message on rank 0 */
static int share_delays(const ft_options *options, ft_job *job, double *delays_s, char *why, size_t bytes) {
    int status = 0;
    if (options->pattern_path == NULL)
        return 0;
    if (job->rank == 0)
        status = read_pattern(options->pattern_path, job->p, delays_s, why, bytes);
    ft_broadcast(job, FT_PATTERN_FOUND, &status, 1, MPI_INT);
    if (status == 0)
        ft_broadcast(job, FT_PATTERN, delays_s, job->p, MPI_DOUBLE);
    return status;
}

/* Context of the callback that reports an iteration. */
typedef struct {
    FILE *out;
    const ft_options *options;
    int number;
    ft_repetition *repetition;
} progress;

static void report_iteration(void *context, int iteration, ft_complex sum) {
    progress *p = context;
    p->repetition->sums[iteration - 1] = sum;
    if (ft_problem_agrees(p->options->problem, iteration, sum) == 0)
        p->repetition->agrees = 0;
    ft_report_iteration(p->out, p->options, p->number, iteration, sum);
}

static ft_repetition *repeat(const ft_options *options, ft_job *job, const double *delays_s) {
    ft_solver *solver = checked(ft_solver_create(options->problem, job), job);
    ft_repetition *all = checked(calloc((size_t)options->repeat, sizeof *all), job);
    for (int i = 0; i < options->repeat; i++) {
        all[i].agrees = 1;
        all[i].sums = checked(calloc((size_t)options->iterations, sizeof *all[i].sums), job);
        all[i].times = checked(calloc((size_t)job->p, sizeof *all[i].times), job);
        progress context = {options->json ? stderr : stdout, options, i, &all[i]};
        ft_run run = {.iterations = options->iterations,
                      .delay_s = delays_s[job->rank],
                      .by = options->delay_by,
                      .progress = report_iteration,
                      .context = &context};
        ft_solve(solver, job, &run);
        double rank_times[] = {run.times.total_s, run.times.alltoall_s, run.times.delay_s};
        ft_gather(job, FT_TIMES, rank_times, &all[i].times[0].total_s, 3);
    }
    ft_solver_free(solver);
    return all;
}

static void free_repetitions(const ft_options *options, ft_repetition *all) {
    for (int i = 0; i < options->repeat; i++) {
        free(all[i].sums);
        free(all[i].times);
    }
    free(all);
}

/* Runs the benchmark and reports. @return the exit status, the same at every rank */
static int run_benchmark(const ft_options *options, ft_job *job, const double *delays_s) {
    ft_repetition *repetitions = repeat(options, job, delays_s);
    ft_result result = {options, job, delays_s, repetitions};
    int failed = job->rank == 0 && !ft_verified(&result);
    ft_broadcast(job, FT_VERDICT, &failed, 1, MPI_INT);
    if (job->rank == 0) {
        if (options->json)
            ft_report_json(stdout, &result);
        else
            ft_report_text(stdout, &result);
        if (failed)
            fprintf(stderr,
                    "offbeat-ft: verification failed: not all checksums are the published ones of"
                    " class %s\n",
                    options->problem->name);
    }
    free_repetitions(options, repetitions);
    return failed;
}

/* Collective if there are several rows and several columns. */
static void create_process_grid(const ft_options *options, ft_job *job) {
    job->rows = options->rows;
    job->columns = options->columns;
    job->row = job->column = job->comm;
    if (job->rows == 1 || job->columns == 1)
        return;
    MPI_Comm_split(job->comm, job->rank / job->columns, job->rank, &job->row);
    MPI_Comm_split(job->comm, job->rank % job->columns, job->rank, &job->column);
}

static void free_process_grid(ft_job *job) {
    if (job->row != job->comm)
        MPI_Comm_free(&job->row);
    if (job->column != job->comm)
        MPI_Comm_free(&job->column);
}

static int run_program(int argc, char **argv, ft_job *job) {
    char why[MESSAGE_BYTES];
    ft_options options;
    if (ft_options_parse(argc, argv, &options, why, sizeof why) != 0)
        return refuse(job, why);
    if (options.help) {
        if (job->rank == 0)
            fputs(ft_options_help, stdout);
        return 0;
    }
    if (options.rows == 0) {
        options.rows = job->p;
        options.columns = 1;
    }
    if (check_processes(&options, job->p, why, sizeof why) != 0)
        return refuse(job, why);
    create_process_grid(&options, job);
    double *delays_s = checked(calloc((size_t)job->p, sizeof *delays_s), job);
    int status = share_delays(&options, job, delays_s, why, sizeof why) != 0
                     ? refuse(job, why)
                     : run_benchmark(&options, job, delays_s);
    free(delays_s);
    free_process_grid(job);
    return status;
}

int main(int argc, char **argv) {
    ft_job job = {.comm = MPI_COMM_WORLD};
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(job.comm, &job.rank);
    MPI_Comm_size(job.comm, &job.p);
    int status = run_program(argc, argv, &job);
    MPI_Finalize();
    return status;
}
