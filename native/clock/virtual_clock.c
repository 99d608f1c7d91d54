/* SPDX-License-Identifier: BSD-3-Clause */
#include "clock/virtual_clock.h"

#include <stdio.h>
#include <string.h>

/*
 * Reads a decimal number ("-12.5") and advances the text past it. strtod would depend on the locale and
 * accept "nan" and "0x1p3".
 * @param[out] integer the part before the point
 * @return 0, or -1 when there is no number, or more than 18 digits before the point
 */
static int read_decimal(const char **text, double *value, int64_t *integer) {
    const char *cursor = *text;
    int is_negative = *cursor == '-', digits = 0;
    cursor += *cursor == '-' || *cursor == '+';
    int64_t magnitude = 0;
    for (; *cursor >= '0' && *cursor <= '9'; cursor++, digits++) {
        if (digits >= 18)
            return -1;
        magnitude = 10 * magnitude + (*cursor - '0');
    }
    double fraction = 0, weight = 1;
    const char *point = cursor;
    if (*cursor == '.') {
        for (cursor++; *cursor >= '0' && *cursor <= '9'; cursor++)
            fraction += (weight /= 10) * (*cursor - '0');
        if (cursor == point + 1)
            return -1;
    }
    if (digits == 0)
        return -1;
    *integer = is_negative ? -magnitude : magnitude;
    *value = is_negative ? -((double)magnitude + fraction) : (double)magnitude + fraction;
    *text = cursor;
    return 0;
}

/* Skips a prefix such as "name=". @return whether the text begins with it */
static int skip_prefix(const char **text, const char *name) {
    size_t length = strlen(name);
    if (strncmp(*text, name, length) != 0)
        return 0;
    *text += length;
    return 1;
}

/* Reads two numbers with a separator between them. */
static int read_pair(const char **text, char separator, double *first, int64_t *first_integer,
                     double *second) {
    int64_t integer_part;
    if (read_decimal(text, first, first_integer) != 0 || **text != separator)
        return -1;
    ++*text;
    return read_decimal(text, second, &integer_part);
}

static int read_step(const char **text, offbeat_clock_distortion *distortion) {
    double size, after_s;
    int64_t size_ns;
    if (distortion->step_count == OFFBEAT_MOST_STEPS || read_pair(text, '@', &size, &size_ns, &after_s) != 0)
        return -1;
    distortion->steps[distortion->step_count].size_ns = size_ns;
    distortion->steps[distortion->step_count++].after_ns = after_s * 1e9;
    return 0;
}

static int read_wander(const char **text, offbeat_clock_distortion *distortion) {
    int64_t integer_part;
    double period_s;
    if (read_pair(text, '/', &distortion->wander_ppm, &integer_part, &period_s) != 0 || period_s <= 0)
        return -1;
    distortion->wander_period_ns = period_s * 1e9;
    return 0;
}

/* Reads one term, such as "drift=2.5". */
static int read_term(const char **text, offbeat_clock_distortion *distortion) {
    double value;
    int64_t integer;
    if (skip_prefix(text, "offset="))
        return read_decimal(text, &value, &distortion->offset_ns);
    if (skip_prefix(text, "drift="))
        return read_decimal(text, &distortion->drift_ppm, &integer);
    if (skip_prefix(text, "wander="))
        return read_wander(text, distortion);
    if (skip_prefix(text, "step="))
        return read_step(text, distortion);
    return -1;
}

/* Reads "RANK:term,term" and keeps it when RANK is `rank`. */
static int read_rank(const char **text, int rank, offbeat_clock_distortion *distortion) {
    double value;
    int64_t named_rank;
    offbeat_clock_distortion new_distortion = {.epoch_ns = distortion->epoch_ns};
    if (read_decimal(text, &value, &named_rank) != 0 || named_rank < 0 || **text != ':')
        return -1;
    do {
        ++*text;
        if (read_term(text, &new_distortion) != 0)
            return -1;
    } while (**text == ',');
    if (named_rank == rank)
        *distortion = new_distortion;
    return 0;
}

int offbeat_clock_virtual_parse(const char *text, int rank, offbeat_clock_distortion *distortion, char *why,
                                size_t bytes) {
    const char *cursor = text;
    double value;
    memset(distortion, 0, sizeof *distortion);
    int rc = 0;
    if (skip_prefix(&cursor, "epoch=")) {
        rc = read_decimal(&cursor, &value, &distortion->epoch_ns);
        cursor += rc == 0 && *cursor == ';' && cursor[1] != '\0';
    }
    while (rc == 0 && *cursor != '\0') {
        rc = read_rank(&cursor, rank, distortion);
        if (rc == 0 && *cursor == ';' && cursor[1] != '\0')
            cursor++;
        else if (rc == 0 && *cursor != '\0')
            rc = -1;
    }
    if (rc != 0)
        snprintf(why, bytes,
                 "the virtual clocks are invalid from '%.40s' on; the format is "
                 "virtual:epoch=NS;RANK:offset=NS,drift=PPM,wander=PPM/SECONDS,step=NS@SECONDS;RANK:...",
                 cursor);
    return rc;
}

/* The integral of a triangle wave with amplitude 1 and period 1 that starts at 0. It is periodic, as the mean
 * of the wave is 0. */
static double triangle_wave_integral(double periods) {
    double x = periods - (double)(int64_t)periods;
    if (x < 0)
        x += 1;
    if (x < 0.25)
        return 2 * x * x;
    if (x < 0.75)
        return 2 * x - 2 * x * x - 0.25;
    return 2 * (1 - x) * (1 - x);
}

int64_t offbeat_clock_virtual_ns(const offbeat_clock_distortion *distortion, int64_t physical_ns) {
    const double elapsed_ns = (double)(physical_ns - distortion->epoch_ns);
    double deviation_ns = distortion->drift_ppm * 1e-6 * elapsed_ns;
    if (distortion->wander_period_ns > 0)
        deviation_ns += distortion->wander_ppm * 1e-6 * distortion->wander_period_ns *
                        triangle_wave_integral(elapsed_ns / distortion->wander_period_ns);
    int64_t virtual_ns = physical_ns + distortion->offset_ns +
                         (int64_t)(deviation_ns < 0 ? deviation_ns - 0.5 : deviation_ns + 0.5);
    for (int i = 0; i < distortion->step_count; i++)
        if (elapsed_ns >= distortion->steps[i].after_ns)
            virtual_ns += distortion->steps[i].size_ns;
    return virtual_ns;
}
