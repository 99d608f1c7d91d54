/* SPDX-License-Identifier: BSD-3-Clause */
#include "ft/options.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const ft_options_help =
    "Usage: mpirun -n P offbeat-ft [OPTIONS]\n"
    "\n"
    "A distributed 3D FFT after the specification of the NAS Parallel Benchmarks' FT: one "
    "MPI_Alltoall\n"
    "an iteration, or two on a grid of processes. P is any number of processes up to the planes of the\n"
    "class; where it is a power of two, nothing is padded.\n"
    "\n"
    "  --class NAME            the problem: S (64 x 64 x 64), W (128 x 128 x 32), A (256 x 256 x 128),\n"
    "                          B (512 x 256 x 256), C (512 x 512 x 512), D (2048 x 1024 x 1024) [S]\n"
    "  --iterations N          number of iterations [6 for S, W and A, 20 for B and C, 25 for D]\n"
    "  --repeat N              solve the problem N times [1]\n"
    "  --processes RxC         a grid of R rows and C columns of processes: one MPI_Alltoall within each "
    "row,\n"
    "                          and one within each column; Px1 and 1xP have one of all processes [Px1]\n"
    "  --imbalance FILE        before every MPI_Alltoall, delay each rank by its line of a pattern file, in\n"
    "                          seconds; 'offbeat pattern make' writes such files\n"
    "  --delay-by spin|sleep   occupy the core during a delay, or leave it to other processes [spin]\n"
    "  --json                  the result as JSON on standard output, progress on standard error\n"
    "  --help                  print this help\n"
    "\n"
    "Exit status: 0 verified; 1 a checksum differs from the published one; 2 invalid command line or pattern "
    "file.\n";

typedef struct {
    ft_options *options;
    const char *name, *value;
    char *why;
    size_t bytes;
} setting;

static int parse_count(const setting *set, int *count) {
    char *end;
    errno = 0;
    long number = strtol(set->value, &end, 10);
    if (end == set->value || *end != '\0' || errno != 0 || number < 1 || number > INT_MAX) {
        snprintf(set->why, set->bytes, "%s must be a whole number of 1 or more, not '%.60s'", set->name,
                 set->value);
        return -1;
    }
    *count = (int)number;
    return 0;
}

static int set_class(const setting *set) {
    set->options->problem = ft_problem_named(set->value);
    if (set->options->problem != NULL)
        return 0;
    snprintf(set->why, set->bytes, "there is no class '%.60s'; there are %s", set->value, FT_PROBLEM_NAMES);
    return -1;
}

static int set_iterations(const setting *set) {
    return parse_count(set, &set->options->iterations);
}

static int set_repeat(const setting *set) {
    return parse_count(set, &set->options->repeat);
}

static int set_processes(const setting *set) {
    char *between, *end;
    long rows = strtol(set->value, &between, 10), columns = 0;
    end = between;
    if (*between == 'x')
        columns = strtol(between + 1, &end, 10);
    if (*end != '\0' || rows < 1 || columns < 1 || rows > INT_MAX || columns > INT_MAX) {
        snprintf(set->why, set->bytes, "%s must be rows x columns, such as 2x4, not '%.60s'", set->name,
                 set->value);
        return -1;
    }
    set->options->rows = (int)rows;
    set->options->columns = (int)columns;
    return 0;
}

static int set_imbalance(const setting *set) {
    set->options->pattern_path = set->value;
    return 0;
}

static int set_delay_by(const setting *set) {
    int sleeps = strcmp(set->value, "sleep") == 0;
    set->options->delay_by = sleeps ? FT_SLEEP : FT_SPIN;
    if (sleeps || strcmp(set->value, "spin") == 0)
        return 0;
    snprintf(set->why, set->bytes, "--delay-by must be spin or sleep, not '%.60s'", set->value);
    return -1;
}

static const struct {
    const char *name;
    int (*parse)(const setting *set);
} options_with_value[] = {
    {"--class", set_class},         {"--iterations", set_iterations}, {"--repeat", set_repeat},
    {"--processes", set_processes}, {"--imbalance", set_imbalance},   {"--delay-by", set_delay_by},
};

/* Parses "--name value" or "--name=value". @return the number of arguments used, or -1 */
static int parse_option_with_value(char **arguments, setting *set) {
    size_t length = strcspn(arguments[0], "=");
    for (size_t i = 0; i < sizeof options_with_value / sizeof *options_with_value; i++) {
        if (strlen(options_with_value[i].name) != length ||
            memcmp(options_with_value[i].name, arguments[0], length) != 0)
            continue;
        int is_joined = arguments[0][length] == '=';
        set->name = options_with_value[i].name;
        set->value = is_joined ? arguments[0] + length + 1 : arguments[1];
        if (set->value != NULL)
            return options_with_value[i].parse(set) == 0 ? 2 - is_joined : -1;
        snprintf(set->why, set->bytes, "%s needs a value", set->name);
        return -1;
    }
    snprintf(set->why, set->bytes, "there is no option '%.60s'; see --help", arguments[0]);
    return -1;
}

int ft_options_parse(int argc, char **argv, ft_options *options, char *why, size_t bytes) {
    setting set = {.options = options, .why = why, .bytes = bytes};
    *options = (ft_options){.problem = ft_problem_named("S"), .repeat = 1};
    for (int i = 1; i < argc;) {
        int used = 1;
        if (strcmp(argv[i], "--json") == 0)
            options->json = 1;
        else if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0)
            options->help = 1;
        else
            used = parse_option_with_value(argv + i, &set);
        if (used < 0)
            return -1;
        i += used;
    }
    if (options->iterations == 0)
        options->iterations = options->problem->iterations;
    return 0;
}
