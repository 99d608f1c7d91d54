/* SPDX-License-Identifier: BSD-3-Clause */
#define _POSIX_C_SOURCE 200809L
#include "ft/imbalance.h"

#include "ft/duration.h"
#include "ft/pattern_file.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

int ft_imbalance_parse(const char *text, ft_imbalance *imbalance, char *why, size_t bytes) {
    size_t length = strcspn(text, ":");
    imbalance->text = text;
    imbalance->is_shape = ft_shape_exists(text, length);
    if (!imbalance->is_shape)
        return 0;
    if (text[length] == '\0') {
        snprintf(why, bytes, "the shape %s needs a skew: write --imbalance %s:TIME, such as %s:500us", text,
                 text, text);
        return -1;
    }
    memcpy(imbalance->shape, text, length);
    imbalance->shape[length] = '\0';
    return ft_duration_parse(text + length + 1, &imbalance->draw.skew_s, why, bytes);
}

static int read_file(const ft_imbalance *imbalance, int p, double *delays_s, char *why, size_t bytes) {
    FILE *file = fopen(imbalance->text, "r");
    if (file == NULL) {
        snprintf(why, bytes,
                 "--imbalance %s is neither SHAPE:TIME nor a pattern file that can be read (%s); the shapes "
                 "are %s",
                 imbalance->text, strerror(errno), ft_shape_names());
        return -1;
    }
    int status = ft_pattern_read(file, imbalance->text, p, delays_s, why, bytes);
    fclose(file);
    return status;
}

int ft_imbalance_delays(const ft_imbalance *imbalance, int p, double *delays_s, char *why, size_t bytes) {
    if (imbalance->is_shape)
        return ft_shape_draw(imbalance->shape, &imbalance->draw, p, delays_s, why, bytes);
    return read_file(imbalance, p, delays_s, why, bytes);
}

/* By a clock that nobody sets, so that a delay cannot become longer or shorter. */
static void spin(double delay_s) {
    struct timespec start, now;
    clock_gettime(CLOCK_MONOTONIC, &start);
    do
        clock_gettime(CLOCK_MONOTONIC, &now);
    while ((double)(now.tv_sec - start.tv_sec) + (double)(now.tv_nsec - start.tv_nsec) * 1e-9 < delay_s);
}

void ft_delay(double delay_s, ft_delay_by by) {
    if (delay_s <= 0.0)
        return;
    if (by == FT_SPIN) {
        spin(delay_s);
        return;
    }
    double whole = floor(delay_s);
    struct timespec left = {.tv_sec = (time_t)whole, .tv_nsec = (long)ceil((delay_s - whole) * 1e9)};
    if (left.tv_nsec >= 1000000000L)
        left = (struct timespec){.tv_sec = left.tv_sec + 1, .tv_nsec = 0};
    while (nanosleep(&left, &left) != 0 && errno == EINTR)
        ;
}
