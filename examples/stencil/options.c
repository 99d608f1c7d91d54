/* SPDX-License-Identifier: BSD-3-Clause */
#include "options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char usage[] =
    "usage: stencil [OPTION VALUE]...\n"
    "  --grid ZxYxX        cells of the grid (default: 32x256x256)\n"
    "  --processes ZxYxX   processes in each direction, 0 where MPI chooses (default: 0x0x0)\n"
    "  --iterations N      iterations of a run (default: 20)\n"
    "  --repetitions N     runs of each way, in turn with the other ways (default: 11)\n"
    "  --ways WAY,...      of plain, offbeat, mpi; speed-ups are over the first (default: plain,offbeat)\n"
    "  --imbalance F       the last thread of each process computes each cell F times (default: 1)\n"
    "  --sleep US          the last thread of each process first sleeps for US microseconds (default: 0)\n"
    "  --messages N        messages a face, or learned (default: one for each thread)\n"
    "  --timeout S         seconds that an iteration may take, and each call of MPI before and after\n"
    "                      (default: 60)";

/* @return whether the text is a whole number from lowest to highest */
static int read_number(const char *text, long lowest, long highest, long *number) {
    char *end;
    *number = strtol(text, &end, 10);
    return end != text && *end == '\0' && *number >= lowest && *number <= highest;
}

static int read_count(const char *text, int *count) {
    long number;
    if (!read_number(text, 1, 1000000, &number))
        return 0;
    *count = (int)number;
    return 1;
}

/* ZxYxX */
static int read_three(const char *text, long lowest, int three[3]) {
    for (int d = 0; d < 3; d++) {
        char *end;
        long number = strtol(text, &end, 10);
        if (end == text || number < lowest || number > 100000 || *end != (d < 2 ? 'x' : '\0'))
            return 0;
        three[d] = (int)number;
        text = end + 1;
    }
    return 1;
}

static int read_factor(const char *text, double *factor) {
    char *end;
    *factor = strtod(text, &end);
    return end != text && *end == '\0' && *factor >= 1 && *factor <= 1000;
}

static int read_ways(char *text, options *o) {
    int count = 0;
    memset(o->ways, 0, sizeof o->ways);
    for (char *name = strtok(text, ","); name; name = strtok(NULL, ",")) {
        if (count == MOST_WAYS)
            return 0;
        o->ways[count++] = name;
    }
    return count > 0;
}

static int read_option(options *o, const char *name, char *value) {
    if (strcmp(name, "--grid") == 0)
        return read_three(value, 1, o->grid);
    if (strcmp(name, "--processes") == 0)
        return read_three(value, 0, o->processes);
    if (strcmp(name, "--iterations") == 0)
        return read_count(value, &o->iterations);
    if (strcmp(name, "--repetitions") == 0)
        return read_count(value, &o->repetitions);
    if (strcmp(name, "--ways") == 0)
        return read_ways(value, o);
    if (strcmp(name, "--imbalance") == 0)
        return read_factor(value, &o->imbalance);
    if (strcmp(name, "--sleep") == 0)
        return read_number(value, 0, 10000000, &o->sleep_us);
    if (strcmp(name, "--timeout") == 0)
        return read_number(value, 1, 86400, &o->timeout_s);
    o->messages = value;
    return strcmp(name, "--messages") == 0;
}

const char *options_read(options *o, int argc, char **argv) {
    static char error[200];
    *o = (options){
        .grid = {32, 256, 256}, .iterations = 20, .repetitions = 11, .imbalance = 1, .timeout_s = 60};
    o->ways[0] = "plain";
    o->ways[1] = "offbeat";
    for (int i = 1; i < argc; i += 2) {
        if (strcmp(argv[i], "--help") == 0 || strncmp(argv[i], "--", 2) != 0)
            return usage;
        if (i + 1 == argc || !read_option(o, argv[i], argv[i + 1])) {
            snprintf(error, sizeof error, "%.50s %.50s is no valid option: see stencil --help", argv[i],
                     i + 1 == argc ? "without a value" : argv[i + 1]);
            return error;
        }
    }
    return NULL;
}
