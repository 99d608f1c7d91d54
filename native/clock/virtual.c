/* SPDX-License-Identifier: BSD-3-Clause */
#include "clock/virtual.h"

#include <stdio.h>
#include <string.h>

/*
 * Reads a decimal number ("-12.5") and moves the text behind it. Not strtod: that obeys the locale, and takes
 * "nan" and "0x1p3" for numbers.
 * @return 0, or -1 when there is none, or one of more than 18 digits before the point
 */
static int read_decimal(const char **text, double *value, int64_t *whole) {
    const char *at = *text;
    int is_negative = *at == '-', digits = 0;
    at += *at == '-' || *at == '+';
    int64_t before = 0;
    for (; *at >= '0' && *at <= '9'; at++, digits++) {
        if (digits >= 18)
            return -1;
        before = 10 * before + (*at - '0');
    }
    double fraction = 0, weight = 1;
    const char *point = at;
    if (*at == '.') {
        for (at++; *at >= '0' && *at <= '9'; at++)
            fraction += (weight /= 10) * (*at - '0');
        if (at == point + 1)
            return -1;
    }
    if (digits == 0)
        return -1;
    *whole = is_negative ? -before : before;
    *value = is_negative ? -((double)before + fraction) : (double)before + fraction;
    *text = at;
    return 0;
}

/* Reads "name=" when it stands there. */
static int read_name(const char **text, const char *name) {
    size_t length = strlen(name);
    if (strncmp(*text, name, length) != 0)
        return 0;
    *text += length;
    return 1;
}

/* Reads "A" then `separator` then "B". */
static int read_pair(const char **text, char separator, double *first, int64_t *first_whole, double *second) {
    int64_t unused;
    if (read_decimal(text, first, first_whole) != 0 || **text != separator)
        return -1;
    ++*text;
    return read_decimal(text, second, &unused);
}

static int read_step(const char **text, offbeat_virtual *bend) {
    double size, after_s;
    int64_t size_ns;
    if (bend->step_count == OFFBEAT_MOST_STEPS || read_pair(text, '@', &size, &size_ns, &after_s) != 0)
        return -1;
    bend->steps[bend->step_count].size_ns = size_ns;
    bend->steps[bend->step_count++].after_ns = after_s * 1e9;
    return 0;
}

static int read_wander(const char **text, offbeat_virtual *bend) {
    int64_t unused;
    double period_s;
    if (read_pair(text, '/', &bend->wander_ppm, &unused, &period_s) != 0 || period_s <= 0)
        return -1;
    bend->wander_period_ns = period_s * 1e9;
    return 0;
}

/* Reads one term of a rank's part. */
static int read_term(const char **text, offbeat_virtual *bend) {
    double value;
    int64_t whole;
    if (read_name(text, "offset="))
        return read_decimal(text, &value, &bend->offset_ns);
    if (read_name(text, "drift="))
        return read_decimal(text, &bend->drift_ppm, &whole);
    if (read_name(text, "wander="))
        return read_wander(text, bend);
    if (read_name(text, "step="))
        return read_step(text, bend);
    return -1;
}

/* Reads "RANK:term,term". */
static int read_part(const char **text, int rank, offbeat_virtual *bend) {
    double value;
    int64_t named_rank;
    offbeat_virtual read = {.epoch_ns = bend->epoch_ns};
    if (read_decimal(text, &value, &named_rank) != 0 || named_rank < 0 || **text != ':')
        return -1;
    do {
        ++*text;
        if (read_term(text, &read) != 0)
            return -1;
    } while (**text == ',');
    if (named_rank == rank)
        *bend = read;
    return 0;
}

int offbeat_virtual_parse(const char *text, int rank, offbeat_virtual *bend, char *why, size_t bytes) {
    const char *at = text;
    double value;
    memset(bend, 0, sizeof *bend);
    int rc = 0;
    if (read_name(&at, "epoch=")) {
        rc = read_decimal(&at, &value, &bend->epoch_ns);
        at += rc == 0 && *at == ';' && at[1] != '\0';
    }
    while (rc == 0 && *at != '\0') {
        rc = read_part(&at, rank, bend);
        if (rc == 0 && *at == ';' && at[1] != '\0')
            at++;
        else if (rc == 0 && *at != '\0')
            rc = -1;
    }
    if (rc != 0)
        snprintf(why, bytes,
                 "the virtual clocks cannot be read from '%.40s' on; right would be "
                 "virtual:epoch=NS;RANK:offset=NS,drift=PPM,wander=PPM/SECONDS,step=NS@SECONDS;RANK:...",
                 at);
    return rc;
}

/*
 * The integral of a rate that goes 0, 1, 0, -1, 0 evenly in each period, over `elapsed` periods, in periods;
 * it is the same in every period, as the rate's mean is 0.
 */
static double wandered(double elapsed) {
    double x = elapsed - (double)(int64_t)elapsed;
    if (x < 0)
        x += 1;
    if (x < 0.25)
        return 2 * x * x;
    if (x < 0.75)
        return 2 * x - 2 * x * x - 0.25;
    return 2 * (1 - x) * (1 - x);
}

int64_t offbeat_virtual_ns(const offbeat_virtual *bend, int64_t physical_ns) {
    const double elapsed_ns = (double)(physical_ns - bend->epoch_ns);
    double bent_ns = bend->drift_ppm * 1e-6 * elapsed_ns;
    if (bend->wander_period_ns > 0)
        bent_ns +=
            bend->wander_ppm * 1e-6 * bend->wander_period_ns * wandered(elapsed_ns / bend->wander_period_ns);
    int64_t shown_ns = physical_ns + bend->offset_ns + (int64_t)(bent_ns < 0 ? bent_ns - 0.5 : bent_ns + 0.5);
    for (int i = 0; i < bend->step_count; i++)
        if (elapsed_ns >= bend->steps[i].after_ns)
            shown_ns += bend->steps[i].size_ns;
    return shown_ns;
}
