/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file imbalance.h
 * The imbalance that is added on purpose: each rank is late by a delay of its own before every transpose.
 */
#ifndef OFFBEAT_FT_IMBALANCE_H
#define OFFBEAT_FT_IMBALANCE_H

#include "ft/shapes.h"

/** How a delay passes: by computing, which occupies the core as an imbalance of work does, or asleep. */
typedef enum { FT_SPIN, FT_SLEEP } ft_delay_by;

/** What the option --imbalance and those beside it ask for; all zero: nobody is late. */
typedef struct {
    const char *text; /**< as it was typed; NULL: no imbalance */
    int is_shape;     /**< SHAPE:TIME; else the path of a pattern file */
    char shape[32];
    ft_draw draw;
    ft_delay_by by;
} ft_imbalance;

/**
 * Takes the text of the option apart. What begins with the name of a shape is a shape.
 *
 * @param why gets a sentence of less than @p bytes
 * @return 0, or -1
 */
int ft_imbalance_parse(const char *text, ft_imbalance *imbalance, char *why, size_t bytes);

/**
 * The delays of all ranks in seconds, from the shape or the file.
 *
 * @param why gets a sentence of less than @p bytes
 * @return 0, or -1
 */
int ft_imbalance_delays(const ft_imbalance *imbalance, int p, double *delays_s, char *why, size_t bytes);

/** Lets a delay pass; returns at once when it is 0. */
void ft_delay(double delay_s, ft_delay_by by);

#endif
