/* SPDX-License-Identifier: BSD-3-Clause */
#include "programs/delays.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

static const char unread[] = "the file of delays could not be read";

static const char *read_records(FILE *file, int rank, program_delays *delays) {
    const long entry = (long)sizeof(int64_t);
    int64_t bounds[2];
    if (fseek(file, rank * entry, SEEK_SET) != 0 || fread(bounds, sizeof bounds, 1, file) != 1 ||
        bounds[0] < 0 || bounds[1] < bounds[0])
        return unread;
    delays->count = (bounds[1] - bounds[0]) / (int64_t)sizeof *delays->records;
    if (delays->count == 0)
        return NULL;
    delays->records = malloc((size_t)delays->count * sizeof *delays->records);
    if (!delays->records)
        return "no memory for the delays";
    if (fseek(file, (long)bounds[0], SEEK_SET) != 0 ||
        fread(delays->records, sizeof *delays->records, (size_t)delays->count, file) != (size_t)delays->count)
        return unread;
    return NULL;
}

const char *program_delays_read(const char *path, int rank, program_delays *delays) {
    *delays = (program_delays){0};
    FILE *file = fopen(path, "rb");
    if (!file)
        return errno == ENOENT ? NULL : unread;
    const char *why = read_records(file, rank, delays);
    fclose(file);
    return why;
}

/* Whether a delay belongs before the step, or to it. */
static int is_due(const program_delay *delay, int64_t iteration, int step) {
    return delay->iteration < iteration || (delay->iteration == iteration && delay->step <= step);
}

int64_t program_delays_take(program_delays *delays, int64_t iteration, int step) {
    int64_t sum_ns = 0;
    for (; delays->next < delays->count; delays->next++) {
        const program_delay *delay = &delays->records[delays->next];
        if (!is_due(delay, iteration, step))
            break;
        if (delay->iteration == iteration && delay->step == step)
            sum_ns += delay->time_ns;
    }
    return sum_ns;
}

void program_delays_free(program_delays *delays) {
    free(delays->records);
    *delays = (program_delays){0};
}
