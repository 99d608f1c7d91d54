/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file limits.h
 * What is taken for granted about clocks; every bound rests on it, and on nothing else.
 */
#ifndef OFFBEAT_CLOCK_LIMITS_H
#define OFFBEAT_CLOCK_LIMITS_H

/**
 * How fast two clocks can run apart: one part in this many. Each is within 200 ppm of true time (quartzes are
 * specified to 100 or better, ntpd slews by 500 at most and only after a disturbance), so they are within 400
 * of each other, and a little for (1 + 200e-6) / (1 - 200e-6).
 */
enum { OFFBEAT_DRIFT_DIVISOR = 2490 };

/** The same as a rate: seconds a second. */
#define OFFBEAT_DRIFT_LIMIT (1.0 / OFFBEAT_DRIFT_DIVISOR)

/**
 * How fast the rate between two clocks can change: 50 ppb a second, here in 1/ns. A quartz changes its rate
 * by up to some 0.5 ppm a kelvin away from its turning point, and a node that begins to compute warms up by
 * some 0.1 K a second.
 */
#define OFFBEAT_WANDER_LIMIT 50e-18

#endif
