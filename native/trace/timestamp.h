/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file timestamp.h
 * Timestamps of records, at half the cost of clock_gettime: the processor's time stamp counter (TSC),
 * converted by a linear function that is fitted to CLOCK_MONOTONIC every millisecond.
 *
 * The TSC is used only where the kernel's clock source is "tsc", that is, where the kernel holds it to be
 * constant and synchronous across cores. Elsewhere every timestamp reads the clock. The error is measured
 * whenever a fit expires, and the file's header holds the maximum. It includes the latency of an earlier load
 * from remote memory: waiting for such loads before the TSC is read would double the cost of a record.
 */
#ifndef OFFBEAT_TRACE_TIMESTAMP_H
#define OFFBEAT_TRACE_TIMESTAMP_H

#include <stdint.h>
#ifdef __x86_64__
#include <x86intrin.h>
#endif

/** For the code that runs in every traced call. */
#ifndef OFFBEAT_TRACER_INLINE
#define OFFBEAT_TRACER_INLINE static inline __attribute__((always_inline))
#endif

/** A simultaneous reading of TSC and clock. */
typedef struct offbeat_tracer_reading {
    uint64_t ticks;
    int64_t ns;
    double error_ns; /**< upper bound */
} offbeat_tracer_reading;

/** The fit of a thread. Zero-initialised means that there is none yet. */
typedef struct offbeat_tracer_timestamps {
    uint64_t start_ticks, valid_ticks; /**< where the fit starts and how long it is valid; 0: there is none */
    int64_t start_ns;
    uint64_t scale;     /**< nanoseconds per tick × 2^32 */
    double ns_per_tick; /**< 0: not measured yet */
    offbeat_tracer_reading start,
        rate_start; /**< at the start of the fit and of the measurement of ns_per_tick */
} offbeat_tracer_timestamps;

/**
 * Call it before every other function of this header.
 * @param clock_ns     reads the local clock
 * @param is_monotonic whether that is CLOCK_MONOTONIC: with other clocks every timestamp is a reading
 */
void offbeat_tracer_timestamps_init(int64_t (*clock_ns)(void), int is_monotonic);

/** The maximum error of all timestamps so far, in ns; 0: all are readings of the clock. Thread-safe. */
int64_t offbeat_tracer_timestamp_bound_ns(void);

/** A timestamp after the fit has expired; starts a new fit. */
int64_t offbeat_tracer_recalibrate(offbeat_tracer_timestamps *timestamps);

/** The time now. Timestamps of a thread never decrease. */
OFFBEAT_TRACER_INLINE int64_t offbeat_tracer_timestamp_ns(offbeat_tracer_timestamps *timestamps) {
#ifdef __x86_64__
    const uint64_t ticks = __rdtsc() - timestamps->start_ticks;
    if (ticks < timestamps->valid_ticks)
        return timestamps->start_ns + (int64_t)(ticks * timestamps->scale >> 32);
#endif
    return offbeat_tracer_recalibrate(timestamps);
}

#endif
