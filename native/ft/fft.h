/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file fft.h
 * One-dimensional discrete Fourier transforms of many lines of a larger array, in place.
 *
 * The length is a power of two. Nothing is normalised: forward and then backward multiplies by the length.
 */
#ifndef OFFBEAT_FT_FFT_H
#define OFFBEAT_FT_FFT_H

#include <stddef.h>

/** A complex number as MPI sends it: two doubles. */
typedef struct {
    double re, im;
} ft_complex;

/** The sign of the exponent in exp(± 2 pi i j k / n). */
typedef enum { FT_FORWARD = -1, FT_BACKWARD = 1 } ft_direction;

/** Roots of unity and work arrays, for lines of one length. */
typedef struct ft_plan ft_plan;

/** @param n a power of two, 1 or more @return NULL without memory */
ft_plan *ft_plan_create(size_t n);

/** Frees a plan; NULL is allowed. */
void ft_plan_free(ft_plan *plan);

/**
 * Transforms @p lines lines of the plan's length. Element j of line l is data[j * element_stride + l *
 * line_stride].
 */
void ft_transform(const ft_plan *plan, ft_direction direction, ft_complex *data, size_t element_stride,
                  size_t lines, size_t line_stride);

#endif
