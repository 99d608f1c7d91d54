/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file fft.c
 * Stockham's radix-2 transform: alternating between two arrays, it needs no bit reversal. A strip of several
 * interleaved lines is transformed at once, so that the innermost loop of every pass has unit stride,
 * whatever the stride of the lines in the array.
 */
#include "ft/fft.h"

#include <math.h>
#include <stdlib.h>

/* Lines per strip: two cache lines of 64 bytes; a strip of 1,024 points fits into most L2 caches. */
enum { STRIP = 8 };

struct ft_plan {
    size_t n;
    ft_complex *roots; /* exp(-2 pi i k / n) for k < n / 2 */
    ft_complex *strip; /* two arrays of n * STRIP */
};

ft_plan *ft_plan_create(size_t n) {
    const double turn = -2.0 * acos(-1.0);
    ft_plan *plan = calloc(1, sizeof *plan);
    if (plan == NULL)
        return NULL;
    plan->n = n;
    plan->roots = malloc((n / 2 + 1) * sizeof *plan->roots);
    plan->strip = malloc(2 * n * STRIP * sizeof *plan->strip);
    if (plan->roots == NULL || plan->strip == NULL) {
        ft_plan_free(plan);
        return NULL;
    }
    for (size_t k = 0; k < n / 2; k++) {
        double angle = turn * (double)k / (double)n;
        plan->roots[k] = (ft_complex){cos(angle), sin(angle)};
    }
    return plan;
}

void ft_plan_free(ft_plan *plan) {
    if (plan == NULL)
        return;
    free(plan->roots);
    free(plan->strip);
    free(plan);
}

/* sum[q] = a[q] + b[q] and difference[q] = (a[q] - b[q]) * root. */
static void butterflies(size_t count, ft_complex root, const ft_complex *restrict a,
                        const ft_complex *restrict b, ft_complex *restrict sum,
                        ft_complex *restrict difference) {
    for (size_t q = 0; q < count; q++) {
        double re = a[q].re - b[q].re, im = a[q].im - b[q].im;
        sum[q].re = a[q].re + b[q].re;
        sum[q].im = a[q].im + b[q].im;
        difference[q].re = re * root.re - im * root.im;
        difference[q].im = re * root.im + im * root.re;
    }
}

/*
 * Transforms one strip; the arrays change roles after every pass.
 *
 * Before a pass, `from` holds `stride` interleaved sequences of `length` points. The pass splits each into
 * two sequences of half the length, one of the even and one of the odd frequencies.
 *
 * @return the array that holds the result
 */
static ft_complex *transform_strip(const ft_plan *plan, ft_direction direction) {
    ft_complex *from = plan->strip, *to = plan->strip + plan->n * STRIP;
    for (size_t length = plan->n, stride = STRIP; length > 1; length /= 2, stride *= 2) {
        size_t half = length / 2;
        for (size_t k = 0; k < half; k++) {
            ft_complex root = plan->roots[k * (plan->n / length)];
            if (direction == FT_BACKWARD)
                root.im = -root.im;
            butterflies(stride, root, from + stride * k, from + stride * (k + half), to + stride * 2 * k,
                        to + stride * (2 * k + 1));
        }
        ft_complex *swapped = from;
        from = to;
        to = swapped;
    }
    return from;
}

void ft_transform(const ft_plan *plan, ft_direction direction, ft_complex *data, size_t element_stride,
                  size_t lines, size_t line_stride) {
    for (size_t line = 0; line < lines; line += STRIP) {
        size_t width = lines - line < STRIP ? lines - line : STRIP;
        ft_complex *corner = data + line * line_stride;
        for (size_t j = 0; j < plan->n; j++)
            for (size_t l = 0; l < STRIP; l++)
                plan->strip[j * STRIP + l] =
                    l < width ? corner[j * element_stride + l * line_stride] : (ft_complex){0.0, 0.0};
        const ft_complex *result = transform_strip(plan, direction);
        for (size_t j = 0; j < plan->n; j++)
            for (size_t l = 0; l < width; l++)
                corner[j * element_stride + l * line_stride] = result[j * STRIP + l];
    }
}
