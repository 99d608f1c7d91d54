/* SPDX-License-Identifier: BSD-3-Clause */
#include "ft/report.h"

#include "protocol/answer.h"

#include <math.h>

/* Time of one repetition: that of the slowest rank. */
static double repetition_time(const ft_result *result, int repetition) {
    const ft_times *times = result->repetitions[repetition].times;
    double longest_s = 0.0;
    for (int rank = 0; rank < result->job->p; rank++)
        if (times[rank].total_s > longest_s)
            longest_s = times[rank].total_s;
    return longest_s;
}

/* Time of one repetition in MPI_Alltoall: the mean of the ranks. */
static double repetition_alltoall_time(const ft_result *result, int repetition) {
    double sum_s = 0.0;
    for (int rank = 0; rank < result->job->p; rank++)
        sum_s += result->repetitions[repetition].times[rank].alltoall_s;
    return sum_s / result->job->p;
}

static double sum_of_repetitions(const ft_result *result,
                                 double (*time)(const ft_result *result, int repetition)) {
    double sum_s = 0.0;
    for (int repetition = 0; repetition < result->options->repeat; repetition++)
        sum_s += time(result, repetition);
    return sum_s;
}

/* Number of iterations that have a published sum. */
static int checked_iterations(const ft_options *options) {
    int published = options->problem->iterations;
    return options->iterations < published ? options->iterations : published;
}

int ft_verified(const ft_result *result) {
    int agreeing = 0;
    for (int repetition = 0; repetition < result->options->repeat; repetition++)
        agreeing += result->repetitions[repetition].agrees;
    return agreeing == result->options->repeat;
}

void ft_report_iteration(FILE *out, const ft_options *options, int repetition, int iteration,
                         ft_complex sum) {
    static const char *const verdicts[] = {"no published checksum", "NOT the published checksum",
                                           "as published"};
    int agrees = ft_problem_agrees(options->problem, iteration, sum);
    if (options->repeat > 1)
        fprintf(out, "repetition %d of %d, ", repetition + 1, options->repeat);
    fprintf(out, "iteration %d of %d: checksum %.10f %+.10fi, %s\n", iteration, options->iterations, sum.re,
            sum.im, verdicts[agrees + 1]);
    fflush(out);
}

static void report_calls(FILE *out, const ft_job *job) {
    fputs("Collective calls of each rank:\n", out);
    for (int site = 0; site < FT_SITES; site++) {
        const ft_count *count = &job->counts[site];
        if (count->calls > 0)
            fprintf(out, "  %-13s %6ld of %zu bytes (%s)\n", ft_site_function((ft_site)site), count->calls,
                    count->bytes, ft_site_purpose((ft_site)site));
    }
}

void ft_report_text(FILE *out, const ft_result *result) {
    const ft_options *options = result->options;
    double total_s = sum_of_repetitions(result, repetition_time);
    double alltoall_s = sum_of_repetitions(result, repetition_alltoall_time);
    fprintf(out, "Class %s on %d %s", options->problem->name, result->job->p,
            result->job->p == 1 ? "process" : "processes");
    if (result->job->columns > 1)
        fprintf(out, " (%d x %d)", result->job->rows, result->job->columns);
    fprintf(out, ": %.6f s, of which %.6f s (%.0f%%) in MPI_Alltoall (mean of the ranks).\n", total_s,
            alltoall_s, total_s > 0.0 ? 100.0 * alltoall_s / total_s : 0.0);
    report_calls(out, result->job);
    if (ft_verified(result))
        fprintf(out, "Verified: %d checksums agree with the published ones.\n",
                checked_iterations(options) * options->repeat);
    fflush(out);
}

static void write_times(FILE *out, const ft_result *result, int repetition, int delays) {
    const ft_times *times = result->repetitions[repetition].times;
    for (int rank = 0; rank < result->job->p; rank++)
        fprintf(out, "%s%.9f", rank > 0 ? ", " : "", delays ? times[rank].delay_s : times[rank].alltoall_s);
}

/* JSON has neither infinity nor NaN, which a wrong transform may produce. */
static void write_number(FILE *out, double number) {
    if (isfinite(number))
        fprintf(out, "%.17g", number);
    else
        fputs("null", out);
}

static void write_sums(FILE *out, const ft_complex *sums, int count) {
    for (int i = 0; i < count; i++) {
        fputs(i > 0 ? ", [" : "[", out);
        write_number(out, sums[i].re);
        fputs(", ", out);
        write_number(out, sums[i].im);
        fputc(']', out);
    }
}

static void write_repetition(FILE *out, const ft_result *result, int repetition) {
    const ft_repetition *one = &result->repetitions[repetition];
    fprintf(out, "{\"time_s\": %.9f, \"alltoall_s\": [", repetition_time(result, repetition));
    write_times(out, result, repetition, 0);
    fputs("], \"delay_s\": [", out);
    write_times(out, result, repetition, 1);
    fputs("], \"checksums\": [", out);
    write_sums(out, one->sums, result->options->iterations);
    fprintf(out, "], \"verified\": %s}", one->agrees ? "true" : "false");
}

static void write_imbalance(FILE *out, const ft_result *result) {
    const ft_options *options = result->options;
    if (options->pattern_path == NULL) {
        fputs("null", out);
        return;
    }
    fputs("{\"pattern\": ", out);
    offbeat_json_text(options->pattern_path, out);
    fprintf(out, ", \"by\": \"%s\", \"delays_s\": [", options->delay_by == FT_SLEEP ? "sleep" : "spin");
    for (int rank = 0; rank < result->job->p; rank++)
        fprintf(out, "%s%.17g", rank > 0 ? ", " : "", result->delays_s[rank]);
    fputs("]}", out);
}

static void write_calls(FILE *out, const ft_job *job) {
    int written = 0;
    for (int site = 0; site < FT_SITES; site++)
        if (job->counts[site].calls > 0)
            fprintf(out, "%s{\"call\": \"%s\", \"purpose\": \"%s\", \"calls\": %ld, \"bytes\": %zu}",
                    written++ > 0 ? ", " : "", ft_site_function((ft_site)site),
                    ft_site_purpose((ft_site)site), job->counts[site].calls, job->counts[site].bytes);
}

void ft_report_json(FILE *out, const ft_result *result) {
    const ft_options *options = result->options;
    const ft_problem *problem = options->problem;
    fprintf(out,
            "{\"class\": \"%s\", \"size\": [%zu, %zu, %zu], \"processes\": %d, \"rows\": %d, "
            "\"columns\": %d, \"iterations\": %d, ",
            problem->name, problem->nx, problem->ny, problem->nz, result->job->p, result->job->rows,
            result->job->columns, options->iterations);
    fputs("\"imbalance\": ", out);
    write_imbalance(out, result);
    fprintf(out, ", \"time_s\": %.9f, \"alltoall_s\": %.9f, \"calls\": [",
            sum_of_repetitions(result, repetition_time),
            sum_of_repetitions(result, repetition_alltoall_time));
    write_calls(out, result->job);
    fputs("], \"repetitions\": [", out);
    for (int repetition = 0; repetition < options->repeat; repetition++) {
        fputs(repetition > 0 ? ", " : "", out);
        write_repetition(out, result, repetition);
    }
    fprintf(out, "], \"checked\": %d, \"verified\": %s}\n", checked_iterations(options),
            ft_verified(result) ? "true" : "false");
    fflush(out);
}
