/* SPDX-License-Identifier: BSD-3-Clause */
#include "frame/report.h"

#include <inttypes.h>
#include <math.h>
#include <mpi.h>

/* Of the processes. */
typedef struct spread {
    double mean, lowest, highest;
} spread;

/* The time of an iteration: as a whole, and by phases. */
typedef struct iteration_times {
    spread total, phase[PHASES];
} iteration_times;

static const char *const phase_names[PHASES] = {"computation", "halo_exchange", "collective"};

void report_add_result(report *r, const char *name, const char *meaning, double value) {
    if (r->results < MOST_RESULTS)
        r->result[r->results++] = (result){name, meaning, value};
}

void report_add_table(report *r, table t) {
    if (r->tables < MOST_TABLES)
        r->table[r->tables++] = t;
}

uint64_t checksum_of_all(uint64_t own) {
    uint64_t sum = 0;
    MPI_Reduce(&own, &sum, 1, MPI_UINT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
    return sum;
}

static spread gather(double value, int processes) {
    spread s = {0};
    MPI_Reduce(&value, &s.mean, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    MPI_Reduce(&value, &s.lowest, 1, MPI_DOUBLE, MPI_MIN, 0, MPI_COMM_WORLD);
    MPI_Reduce(&value, &s.highest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    s.mean /= processes;
    return s;
}

static iteration_times gather_times(const timing *t, int processes) {
    const double iterations = t->iterations > 0 ? (double)t->iterations : 1;
    iteration_times times = {.total = gather(timing_total_s(t) / iterations, processes)};
    for (int i = 0; i < PHASES; i++)
        times.phase[i] = gather(t->phase_s[i] / iterations, processes);
    return times;
}

/* The figure of merit, by the time of the slowest process. */
static double rate(const report *r, const timing *t, const iteration_times *times) {
    const double time_s = times->total.highest * (double)t->iterations;
    return time_s > 0 ? r->work / time_s : 0;
}

static void print_spread(const char *name, spread s, double total) {
    printf("%-15s %12.2f %12.2f %12.2f %8.1f%%\n", name, s.mean * 1e6, s.lowest * 1e6, s.highest * 1e6,
           total > 0 ? 100 * s.mean / total : 0);
}

static void print_text(const report *r, const program *p, const timing *t, const iteration_times *times) {
    printf("%s on %d %s: %ld iterations\n\n", p->name, p->processes,
           p->processes == 1 ? "process" : "processes", t->iterations);
    printf("us/iteration            mean       lowest      highest    share\n");
    for (int i = 0; i < PHASES; i++)
        print_spread(phase_names[i], times->phase[i], times->total.mean);
    print_spread("all", times->total, times->total.mean);
    printf("\n%.4g %s\n", rate(r, t, times), r->rate_unit);
    for (int i = 0; i < r->results; i++)
        printf("%s: %.10g\n", r->result[i].meaning, r->result[i].value);
    if (r->checksum)
        printf("checksum of the fields: %016" PRIx64 "\n", r->checksum);
    for (int i = 0; i < r->tables; i++) {
        const table *one = &r->table[i];
        printf("\n%10s %12s\n", one->columns[0], one->columns[1]);
        for (int row = 0; row < one->rows; row++)
            printf("%10.6g %12.7g\n", one->values[0][row], one->values[1][row]);
    }
    if (!r->failure)
        printf("verified: %s\n", r->verified);
}

/* JSON has neither infinity nor NaN. */
static void write_number(double number) {
    if (isfinite(number))
        printf("%.17g", number);
    else
        printf("null");
}

static void write_spread(const char *name, spread s) {
    printf("\"%s\": {\"mean\": %.9g, \"lowest\": %.9g, \"highest\": %.9g}", name, s.mean, s.lowest,
           s.highest);
}

static void write_column(const table *t, int column) {
    printf("\"%s\": [", t->columns[column]);
    for (int row = 0; row < t->rows; row++) {
        printf("%s", row > 0 ? ", " : "");
        write_number(t->values[column][row]);
    }
    printf("]");
}

static void write_json(const report *r, const program *p, const timing *t, const iteration_times *times) {
    printf("{\"program\": \"%s\", \"processes\": %d, \"options\": ", p->name, p->processes);
    options_write_json(p->options, stdout);
    printf(", \"iterations\": %ld, \"iteration_s\": {", t->iterations);
    write_spread("all", times->total);
    for (int i = 0; i < PHASES; i++) {
        printf(", ");
        write_spread(phase_names[i], times->phase[i]);
    }
    printf("}, \"rate\": %.9g, \"rate_unit\": \"%s\"", rate(r, t, times), r->rate_unit);
    for (int i = 0; i < r->results; i++) {
        printf(", \"%s\": ", r->result[i].name);
        write_number(r->result[i].value);
    }
    if (r->checksum)
        printf(", \"checksum\": \"%016" PRIx64 "\"", r->checksum);
    for (int i = 0; i < r->tables; i++) {
        printf(", \"%s\": {", r->table[i].name);
        write_column(&r->table[i], 0);
        printf(", ");
        write_column(&r->table[i], 1);
        printf("}");
    }
    printf(", \"verified\": %s}\n", r->failure ? "false" : "true");
}

int report_print(const report *r, const program *p, const timing *t) {
    const iteration_times times = gather_times(t, p->processes);
    int failed = r->failure != NULL;
    MPI_Bcast(&failed, 1, MPI_INT, 0, MPI_COMM_WORLD);
    if (p->rank == 0) {
        (p->is_json ? write_json : print_text)(r, p, t, &times);
        fflush(stdout);
        if (failed)
            fprintf(stderr, "%s: not verified: %s\n", p->name, r->failure);
    }
    return failed;
}
