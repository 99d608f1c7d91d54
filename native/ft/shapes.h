/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file shapes.h
 * The shapes of artificial arrival patterns: those of offbeat's reference page on patterns, and drawn alike.
 */
#ifndef OFFBEAT_FT_SHAPES_H
#define OFFBEAT_FT_SHAPES_H

#include <stddef.h>
#include <stdint.h>

/** What a shape is drawn for. */
typedef struct {
    double skew_s;
    uint64_t seed; /**< matters to random only */
    int ppn;       /**< processes a node, in blocks; matters to node_delayed only; 0: not known */
} ft_draw;

/** Whether there is a shape of the name that begins at @p name and has @p length characters. */
int ft_shape_exists(const char *name, size_t length);

/** The names of all shapes, separated by commas, for sentences. */
const char *ft_shape_names(void);

/**
 * Draws a shape that exists: @p p delays in seconds, the smallest 0 and the largest the skew.
 *
 * With one process every shape is 0.
 *
 * @param why gets a sentence of less than @p bytes where it cannot be drawn
 * @return 0, or -1
 */
int ft_shape_draw(const char *name, const ft_draw *draw, int p, double *delays_s, char *why, size_t bytes);

#endif
