/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file limits.h
 * The two assumptions about hardware clocks on which every error bound rests. There is no third.
 */
#ifndef OFFBEAT_CLOCK_LIMITS_H
#define OFFBEAT_CLOCK_LIMITS_H

/**
 * The largest relative drift between two clocks is 1 / OFFBEAT_DRIFT_DIVISOR. Each clock runs within 200 ppm
 * of true time (quartz oscillators are specified to 100 ppm or better; ntpd slews by up to 500 ppm, but only
 * after a disturbance). Two clocks are therefore within 400 ppm of each other, plus a little for
 * (1 + 200e-6) / (1 - 200e-6).
 */
enum { OFFBEAT_DRIFT_DIVISOR = 2490 };

/** The same limit as a rate, in seconds per second. */
#define OFFBEAT_DRIFT_LIMIT (1.0 / OFFBEAT_DRIFT_DIVISOR)

/**
 * The largest change of the drift between two clocks: 50 ppb per second, here in 1/ns. The rate of a quartz
 * changes by up to about 0.5 ppm per kelvin away from its turning point, and a node that starts to compute
 * warms up by about 0.1 K per second.
 */
#define OFFBEAT_WANDER_LIMIT 50e-18

#endif
