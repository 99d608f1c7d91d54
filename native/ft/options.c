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
    "A distributed 3D FFT after the specification of the NAS Parallel Benchmarks' FT: one MPI_Alltoall an "
    "iteration.\n"
    "P is any number of processes up to the planes of the class; where it is a power of two, nothing is "
    "padded.\n"
    "\n"
    "  --class NAME            the problem: S (64 x 64 x 64), W (128 x 128 x 32), A (256 x 256 x 128),\n"
    "                          B (512 x 256 x 256), C (512 x 512 x 512), D (2048 x 1024 x 1024) [S]\n"
    "  --iterations N          instead of the class's own 6 (S, W, A), 20 (B, C) or 25 (D)\n"
    "  --repeat N              do all of it N times [1]\n"
    "  --imbalance SHAPE:TIME  before every MPI_Alltoall, delay each rank as the shape says, at most by "
    "TIME:\n"
    "                          no_delay ascending descending first_delayed last_delayed mid_delayed random\n"
    "                          half_delayed bell node_delayed; a time is 500us, 2ms, 0.1s\n"
    "  --imbalance FILE        the delays of a pattern file: one line a rank, in seconds\n"
    "  --seed N                of the shape random [1]\n"
    "  --ppn N                 processes a node, for the shape node_delayed\n"
    "  --delay-by spin|sleep   occupy the core while a delay passes, or leave it to others [spin]\n"
    "  --json                  the result as JSON on standard output, progress on standard error\n"
    "  --help                  this\n"
    "\n"
    "Exit status: 0 verified; 1 a checksum is not the published one; 2 something is wrong with the "
    "command.\n";

typedef struct {
    ft_options *options;
    const char *name, *value;
    char *why;
    size_t bytes;
} setting;

static int take_count(const setting *set, long least, int *count) {
    char *end;
    errno = 0;
    long number = strtol(set->value, &end, 10);
    if (end == set->value || *end != '\0' || errno != 0 || number < least || number > INT_MAX) {
        snprintf(set->why, set->bytes, "%s must be a whole number of %ld or more, not '%.60s'", set->name,
                 least, set->value);
        return -1;
    }
    *count = (int)number;
    return 0;
}

static int take_class(const setting *set) {
    set->options->problem = ft_problem_named(set->value);
    if (set->options->problem != NULL)
        return 0;
    snprintf(set->why, set->bytes, "there is no class '%.60s'; there are %s", set->value, FT_PROBLEM_NAMES);
    return -1;
}

static int take_iterations(const setting *set) {
    return take_count(set, 1, &set->options->iterations);
}

static int take_repeat(const setting *set) {
    return take_count(set, 1, &set->options->repeat);
}

static int take_imbalance(const setting *set) {
    return ft_imbalance_parse(set->value, &set->options->imbalance, set->why, set->bytes);
}

static int take_ppn(const setting *set) {
    return take_count(set, 1, &set->options->imbalance.draw.ppn);
}

static int take_seed(const setting *set) {
    char *end;
    errno = 0;
    unsigned long long seed = strtoull(set->value, &end, 10);
    if (*set->value < '0' || *set->value > '9' || *end != '\0' || errno != 0) {
        snprintf(set->why, set->bytes, "--seed must be a whole number from 0 to 2^64 - 1, not '%.60s'",
                 set->value);
        return -1;
    }
    set->options->imbalance.draw.seed = seed;
    return 0;
}

static int take_delay_by(const setting *set) {
    int sleeps = strcmp(set->value, "sleep") == 0;
    set->options->imbalance.by = sleeps ? FT_SLEEP : FT_SPIN;
    if (sleeps || strcmp(set->value, "spin") == 0)
        return 0;
    snprintf(set->why, set->bytes, "--delay-by must be spin or sleep, not '%.60s'", set->value);
    return -1;
}

static const struct {
    const char *name;
    int (*take)(const setting *set);
} known[] = {
    {"--class", take_class},       {"--iterations", take_iterations},
    {"--repeat", take_repeat},     {"--imbalance", take_imbalance},
    {"--seed", take_seed},         {"--ppn", take_ppn},
    {"--delay-by", take_delay_by},
};

/* Takes one option that has a value: "--name value" or "--name=value". @return words that it used, or -1 */
static int take_valued(char **words, setting *set) {
    size_t length = strcspn(words[0], "=");
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (strlen(known[i].name) != length || memcmp(known[i].name, words[0], length) != 0)
            continue;
        int is_joined = words[0][length] == '=';
        set->name = known[i].name;
        set->value = is_joined ? words[0] + length + 1 : words[1];
        if (set->value != NULL)
            return known[i].take(set) == 0 ? 2 - is_joined : -1;
        snprintf(set->why, set->bytes, "%s needs a value", set->name);
        return -1;
    }
    snprintf(set->why, set->bytes, "there is no option '%.60s'; --help lists what there is", words[0]);
    return -1;
}

int ft_options_parse(int argc, char **argv, ft_options *options, char *why, size_t bytes) {
    setting set = {.options = options, .why = why, .bytes = bytes};
    *options = (ft_options){.problem = ft_problem_named("S"), .repeat = 1, .imbalance.draw.seed = 1};
    for (int i = 1; i < argc;) {
        int used = 1;
        if (strcmp(argv[i], "--json") == 0)
            options->json = 1;
        else if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0)
            options->help = 1;
        else
            used = take_valued(argv + i, &set);
        if (used < 0)
            return -1;
        i += used;
    }
    if (options->iterations == 0)
        options->iterations = options->problem->iterations;
    return 0;
}
