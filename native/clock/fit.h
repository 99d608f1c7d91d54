/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file fit.h
 * A line through offsets by least squares, each the quickest of several exchanges (HCA3, JK).
 */
#ifndef OFFBEAT_CLOCK_FIT_H
#define OFFBEAT_CLOCK_FIT_H

#include "clock/exchange.h"
#include "clock/polygon.h"

/** Begin with only exchanges_a_point set. */
typedef struct offbeat_fit {
    int exchanges_a_point;
    int exchanges;         /**< of the point that is being measured */
    offbeat_exchange best; /**< the quickest of those */
    int points;
    int64_t at_ns, offset_ns; /**< the first point, from which the sums count */
    double sum_x, sum_y, sum_xx, sum_xy;
} offbeat_fit;

/** Takes an exchange in; every exchanges_a_point of them are one point. */
void offbeat_fit_add(offbeat_fit *fit, const offbeat_exchange *exchange);

/**
 * The line through all finished points (through the quickest exchange where none is), counted from a moment
 * and an offset. Its slope stays within the drift limit.
 */
offbeat_line offbeat_fit_line(const offbeat_fit *fit, int64_t at_ns, int64_t offset_ns);

#endif
