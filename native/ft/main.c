/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file main.c
 * offbeat-ft: an application whose time goes into MPI_Alltoall, for trying out offbeat on it.
 *
 *     mpirun -n P offbeat-ft [--class S] [--imbalance SHAPE:TIME] [--json] ...
 *
 * Exit status: 0 verified, 1 a checksum is wrong, 2 the command cannot be meant.
 */
#include "ft/calls.h"
#include "ft/imbalance.h"
#include "ft/options.h"
#include "ft/report.h"
#include "ft/slabs.h"
#include "ft/solver.h"

#include <stdio.h>
#include <stdlib.h>

enum { SENTENCE = 1024, BAD_INPUT = 2 };

/* Memory that the program cannot do without. */
static void *needed(void *memory, const ft_job *job) {
    if (memory == NULL) {
        fprintf(stderr,
                "offbeat-ft: rank %d is out of memory; start more processes, or take a smaller class\n",
                job->rank);
        MPI_Abort(job->comm, 1);
    }
    return memory;
}

/* Every rank comes to the same opinion; one says it. @return the exit status */
static int refuse(const ft_job *job, const char *why) {
    if (job->rank == 0)
        fprintf(stderr, "offbeat-ft: %s\n", why);
    return BAD_INPUT;
}

/* What the number of processes allows. @return 0, or -1 with a sentence */
static int check_processes(const ft_options *options, int p, char *why, size_t bytes) {
    const ft_problem *problem = options->problem;
    ft_slabs slabs = ft_slabs_cut(problem->nz, problem->nx * problem->ny, p, 0);
    if ((size_t)p > problem->nz)
        snprintf(why, bytes, "class %s has %zu planes, so that at most %zu processes can share them, not %d",
                 problem->name, problem->nz, problem->nz, p);
    else if (slabs.block > ft_largest_block())
        snprintf(why, bytes,
                 "class %s on %d %s has blocks of %zu elements, more than MPI_Alltoall can count;"
                 " start more processes",
                 problem->name, p, p == 1 ? "process" : "processes", slabs.block);
    else
        return 0;
    return -1;
}

/* The delays of all ranks. A pattern file is read by rank 0, which tells the others. @return 0, or -1 */
static int agree_on_delays(const ft_options *options, ft_job *job, double *delays_s, char *why,
                           size_t bytes) {
    const ft_imbalance *imbalance = &options->imbalance;
    int fault = 0;
    if (imbalance->text == NULL)
        return 0;
    if (imbalance->is_shape)
        return ft_imbalance_delays(imbalance, job->p, delays_s, why, bytes);
    if (job->rank == 0)
        fault = ft_imbalance_delays(imbalance, job->p, delays_s, why, bytes);
    ft_broadcast(job, FT_PATTERN_FOUND, &fault, 1, MPI_INT);
    if (fault == 0)
        ft_broadcast(job, FT_PATTERN, delays_s, job->p, MPI_DOUBLE);
    return fault;
}

/* What the line on an iteration is written from. */
typedef struct {
    FILE *out;
    const ft_options *options;
    int number;
    ft_repetition *repetition;
} progress;

static void note_iteration(void *context, int iteration, ft_complex sum) {
    progress *p = context;
    p->repetition->sums[iteration - 1] = sum;
    if (ft_problem_agrees(p->options->problem, iteration, sum) == 0)
        p->repetition->agrees = 0;
    ft_report_iteration(p->out, p->options, p->number, iteration, sum);
}

static ft_repetition *repeat(const ft_options *options, ft_job *job, const double *delays_s) {
    ft_solver *solver = needed(ft_solver_create(options->problem, job->p, job->rank), job);
    ft_repetition *all = needed(calloc((size_t)options->repeat, sizeof *all), job);
    for (int i = 0; i < options->repeat; i++) {
        all[i].agrees = 1;
        all[i].sums = needed(calloc((size_t)options->iterations, sizeof *all[i].sums), job);
        all[i].times = needed(calloc((size_t)job->p, sizeof *all[i].times), job);
        progress context = {options->json ? stderr : stdout, options, i, &all[i]};
        ft_run run = {.iterations = options->iterations,
                      .delay_s = delays_s[job->rank],
                      .by = options->imbalance.by,
                      .progress = note_iteration,
                      .context = &context};
        ft_solve(solver, job, &run);
        double own[] = {run.times.total_s, run.times.alltoall_s, run.times.delay_s};
        ft_gather(job, FT_TIMES, own, &all[i].times[0].total_s, 3);
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
            ft_report_words(stdout, &result);
        if (failed)
            fprintf(stderr,
                    "offbeat-ft: verification failed: not all checksums are those that were published for"
                    " class %s\n",
                    options->problem->name);
    }
    free_repetitions(options, repetitions);
    return failed;
}

static int obey(int argc, char **argv, ft_job *job) {
    char why[SENTENCE];
    ft_options options;
    if (ft_options_parse(argc, argv, &options, why, sizeof why) != 0)
        return refuse(job, why);
    if (options.help) {
        if (job->rank == 0)
            fputs(ft_options_help, stdout);
        return 0;
    }
    if (check_processes(&options, job->p, why, sizeof why) != 0)
        return refuse(job, why);
    double *delays_s = needed(calloc((size_t)job->p, sizeof *delays_s), job);
    int status = agree_on_delays(&options, job, delays_s, why, sizeof why) != 0
                     ? refuse(job, why)
                     : run_benchmark(&options, job, delays_s);
    free(delays_s);
    return status;
}

int main(int argc, char **argv) {
    ft_job job = {.comm = MPI_COMM_WORLD};
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(job.comm, &job.rank);
    MPI_Comm_size(job.comm, &job.p);
    int status = obey(argc, argv, &job);
    MPI_Finalize();
    return status;
}
