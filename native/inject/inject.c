/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE /* getcpu */
#include "inject/inject.h"

#include "inject/delay_plan.h"

#include <errno.h>
#include <mpi.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* What a rank reports. */
enum { CALLS, OCCASIONS, DELAYS, DELAYED_NS, COUNTERS };

_Atomic int offbeat_inject_is_active;

static offbeat_inject_plan plan;
static offbeat_inject_place process;
static int chosen_function; /* the function whose calls are delayed */
static int functions;       /* how many there are */
static const char *(*name_of)(int function);
static _Atomic int64_t calls_of[OFFBEAT_INJECT_MAX_FUNCTIONS];
static _Atomic int64_t counters[COUNTERS];

int offbeat_inject_is_requested(void) {
    return offbeat_settings_value("OFFBEAT_INJECT_CALL") != NULL;
}

/* --- begin --- */

/* Opens the report for writing on rank 0; NULL if there is none, or if it cannot be written. */
static FILE *open_report(void) {
    FILE *report = plan.report != NULL ? fopen(plan.report, "w") : NULL;
    if (plan.report != NULL && report == NULL)
        fprintf(stderr, "offbeat: cannot write %s: %s\n", plan.report, strerror(errno));
    return report;
}

static void close_report(FILE *report) {
    const int is_incomplete = ferror(report);
    if (fclose(report) != 0 || is_incomplete)
        fprintf(stderr, "offbeat: cannot write %s: %s\n", plan.report, strerror(errno));
}

/* Writes a message as a JSON string. It may quote variables. */
static void write_text(FILE *report, const char *text) {
    fputc('"', report);
    for (; *text != '\0'; text++)
        if (*text == '"' || *text == '\\')
            fprintf(report, "\\%c", *text);
        else if ((unsigned char)*text < ' ')
            fprintf(report, "\\u%04x", (unsigned char)*text);
        else
            fputc(*text, report);
    fputc('"', report);
}

static void report_error(const char *error) {
    fprintf(stderr, "offbeat: %s; the program runs without delays\n", error);
    FILE *report = open_report();
    if (report == NULL)
        return;
    fputs("{\"error\": ", report);
    write_text(report, error);
    fputs("}\n", report);
    close_report(report);
}

static int find_function(char *error, size_t bytes) {
    for (chosen_function = 1; chosen_function < functions; chosen_function++)
        if (strcmp(name_of(chosen_function), plan.call) == 0)
            return 0;
    snprintf(error, bytes, "OFFBEAT_INJECT_CALL=%s is not a function that can be delayed", plan.call);
    return -1;
}

/* Whether all processes have a valid plan; the lowest rank whose plan is invalid says why. Collective. */
static int agree_on_plan(void) {
    char error[512];
    const int is_valid = offbeat_inject_plan_read(&plan, error, sizeof error) == 0 &&
                         find_function(error, sizeof error) == 0 &&
                         offbeat_inject_plan_check(&plan, process.size, error, sizeof error) == 0;
    int failed_rank = is_valid ? process.size : process.rank, lowest;
    PMPI_Allreduce(&failed_rank, &lowest, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (lowest == process.rank)
        report_error(error);
    return lowest == process.size;
}

/* The memory domain of this process is the NUMA node of its core now, on its shared-memory node. Collective.
 */
static void find_domain(void) {
    unsigned core = 0, numa_node = 0;
    MPI_Comm node, domain;
    getcpu(&core, &numa_node);
    PMPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, process.rank, MPI_INFO_NULL, &node);
    PMPI_Comm_split(node, (int)numa_node, process.rank, &domain);
    PMPI_Comm_rank(domain, &process.rank_in_domain);
    PMPI_Comm_size(domain, &process.domain_size);
    process.domain = process.rank;
    PMPI_Bcast(&process.domain, 1, MPI_INT, 0, domain);
    PMPI_Comm_free(&domain);
    PMPI_Comm_free(&node);
}

void offbeat_inject_begin(const char *(*name_of_function)(int function), int function_count) {
    MPI_Comm parent = MPI_COMM_NULL;
    if (!offbeat_inject_is_requested())
        return;
    PMPI_Comm_get_parent(&parent);
    if (parent != MPI_COMM_NULL)
        return;
    name_of = name_of_function;
    functions = function_count;
    PMPI_Comm_rank(MPI_COMM_WORLD, &process.rank);
    PMPI_Comm_size(MPI_COMM_WORLD, &process.size);
    if (!agree_on_plan())
        return;
    if (plan.pick == OFFBEAT_INJECT_EACH_DOMAIN)
        find_domain();
    atomic_store(&offbeat_inject_is_active, 1);
}

/* --- calls --- */

static int64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

void offbeat_inject_wait(int64_t delay_ns) {
    const int64_t start_ns = now_ns();
    int64_t waited_ns;
    do
        waited_ns = now_ns() - start_ns;
    while (waited_ns < delay_ns);
    atomic_fetch_add_explicit(&counters[DELAYS], 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&counters[DELAYED_NS], waited_ns, memory_order_relaxed);
}

int64_t offbeat_inject_enter(int function) {
    const uint64_t number =
        (uint64_t)atomic_fetch_add_explicit(&calls_of[function], 1, memory_order_relaxed) + 1;
    if (function != chosen_function || !offbeat_inject_is_occasion(&plan, number))
        return 0;
    atomic_fetch_add_explicit(&counters[OCCASIONS], 1, memory_order_relaxed);
    const int64_t delay_ns = offbeat_inject_delay_ns(&plan, &process, number);
    if (delay_ns == 0 || !plan.is_before)
        return delay_ns;
    offbeat_inject_wait(delay_ns);
    return 0;
}

/* --- the report --- */

static void write_report(const int64_t *calls, const int64_t *of_ranks) {
    FILE *report = open_report();
    const char *separator = "";
    if (report == NULL)
        return;
    fputs("{\"functions\": {", report);
    for (int function = 1; function < functions; function++)
        if (calls[function] > 0) {
            fprintf(report, "%s\"%s\": %lld", separator, name_of(function), (long long)calls[function]);
            separator = ", ";
        }
    fputs("},\n\"ranks\": [", report);
    for (int rank = 0; rank < process.size; rank++) {
        const int64_t *of_rank = of_ranks + (size_t)rank * COUNTERS;
        fprintf(report, "%s\n[%lld, %lld, %lld, %lld]", rank > 0 ? "," : "", (long long)of_rank[CALLS],
                (long long)of_rank[OCCASIONS], (long long)of_rank[DELAYS], (long long)of_rank[DELAYED_NS]);
    }
    fputs("]}\n", report);
    close_report(report);
}

void offbeat_inject_end(void) {
    int64_t own_calls[OFFBEAT_INJECT_MAX_FUNCTIONS], calls[OFFBEAT_INJECT_MAX_FUNCTIONS],
        rank_counters[COUNTERS], *of_ranks = NULL;
    if (!atomic_exchange(&offbeat_inject_is_active, 0))
        return;
    counters[CALLS] = calls_of[chosen_function];
    for (int i = 0; i < COUNTERS; i++)
        rank_counters[i] = counters[i];
    for (int i = 0; i < functions; i++)
        own_calls[i] = calls_of[i];
    if (process.rank == 0) {
        of_ranks = malloc((size_t)process.size * sizeof rank_counters);
        if (of_ranks == NULL) {
            fputs("offbeat: there is no memory for the report of the delays\n", stderr);
            PMPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
        }
    }
    PMPI_Reduce(own_calls, calls, functions, MPI_INT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
    PMPI_Gather(rank_counters, COUNTERS, MPI_INT64_T, of_ranks, COUNTERS, MPI_INT64_T, 0, MPI_COMM_WORLD);
    if (process.rank == 0)
        write_report(calls, of_ranks);
    free(of_ranks);
}
