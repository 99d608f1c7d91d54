/* SPDX-License-Identifier: BSD-3-Clause */
#define _POSIX_C_SOURCE 200809L
#include "trace/timestamp.h"

#include "trace/trace_file.h"

#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

static int64_t (*clock_ns)(void);
static _Atomic int64_t bound_ns; /* of all threads */

#ifdef __x86_64__

static const double FIT_NS = 1e6;       /* how long a fit is valid */
static const double RATE_NS = 1e9;      /* ns_per_tick is measured over the last second or more */
static const double MIN_RATE_NS = 1e7;  /* the shortest interval for the first measurement */
static const double MAX_ERROR_NS = 500; /* of a reading (else it was interrupted) or of a usable fit */
static const int64_t REORDERING_NS =
    300; /* a processor may read the TSC while an earlier load is under way */
static const double TWO_TO_32 = 4294967296.0;
enum { TRIES = 4 };

static _Atomic int tsc_enabled;
static offbeat_tracer_reading initial_reading; /* constant while tsc_enabled */

static int kernel_uses_tsc(void) {
    char name[16] = "";
    FILE *file = fopen("/sys/devices/system/clocksource/clocksource0/current_clocksource", "re");
    if (file == NULL)
        return 0;
    int is_read = fgets(name, sizeof name, file) != NULL;
    fclose(file);
    return is_read && strcmp(name, "tsc\n") == 0;
}

/* Reads the clock between two readings of the TSC; the best of TRIES. */
static offbeat_tracer_reading read_both(double ns_per_tick) {
    offbeat_tracer_reading best = {.error_ns = INFINITY};
    for (int i = 0; i < TRIES && best.error_ns > MAX_ERROR_NS / 10; i++) {
        uint64_t ticks_before = __rdtsc();
        int64_t ns = clock_ns();
        uint64_t ticks_after = __rdtsc();
        double half_ns = (double)(ticks_after - ticks_before) / 2 * ns_per_tick;
        if (half_ns < best.error_ns)
            best = (offbeat_tracer_reading){
                .ticks = ticks_before + (ticks_after - ticks_before) / 2, .ns = ns, .error_ns = half_ns};
    }
    return best;
}

static double rate_between(const offbeat_tracer_reading *start, const offbeat_tracer_reading *end) {
    return (double)(end->ns - start->ns) / (double)(end->ticks - start->ticks);
}

/* Upper bound of the fit's error while it was valid. */
static double error_of_fit(const offbeat_tracer_timestamps *timestamps, const offbeat_tracer_reading *now) {
    double elapsed_ticks = (double)(now->ticks - timestamps->start_ticks),
           valid = (double)timestamps->valid_ticks;
    double fitted_ns = elapsed_ticks * ((double)timestamps->scale / TWO_TO_32);
    double end_error_ns = fabs((double)(timestamps->start_ns - now->ns) + fitted_ns);
    double start_error_ns = fabs((double)(timestamps->start_ns - timestamps->start.ns));
    if (elapsed_ticks > valid) /* the fit expired before now: interpolate */
        end_error_ns = fmax(start_error_ns, end_error_ns * valid / elapsed_ticks);
    return fmax(end_error_ns, start_error_ns) + fmax(now->error_ns, timestamps->start.error_ns) + 1;
}

/* Raises the bound to an error that was observed; disables the TSC after one that is too large. */
static void raise_error_bound(double error_ns) {
    int64_t observed_ns = (int64_t)ceil(error_ns) + REORDERING_NS, known_ns = atomic_load(&bound_ns);
    while (observed_ns > known_ns && !atomic_compare_exchange_weak(&bound_ns, &known_ns, observed_ns))
        ;
    offbeat_tracer_file_raise_stamp_error(observed_ns);
    if (error_ns > MAX_ERROR_NS)
        atomic_store(&tsc_enabled, 0);
}

/* The largest timestamp that the fit may have returned until now. */
static int64_t last_timestamp(const offbeat_tracer_timestamps *timestamps, uint64_t ticks) {
    uint64_t elapsed_ticks = ticks - timestamps->start_ticks;
    if (elapsed_ticks > timestamps->valid_ticks)
        elapsed_ticks = timestamps->valid_ticks;
    return timestamps->start_ns + (int64_t)(elapsed_ticks * timestamps->scale >> 32);
}

static void measure_rate(offbeat_tracer_timestamps *timestamps, const offbeat_tracer_reading *now) {
    if (timestamps->rate_start.ticks == 0)
        timestamps->rate_start = initial_reading;
    double elapsed_ns = (double)(now->ns - timestamps->rate_start.ns);
    if (elapsed_ns < (timestamps->ns_per_tick > 0 ? RATE_NS : MIN_RATE_NS))
        return;
    timestamps->ns_per_tick = rate_between(&timestamps->rate_start, now);
    if (elapsed_ns >= RATE_NS)
        timestamps->rate_start = *now;
}

/* Starts a fit at the last timestamp or now, whichever is later; at its end it meets the expected clock. */
static void start_fit(offbeat_tracer_timestamps *timestamps, const offbeat_tracer_reading *now,
                      int64_t last_ns) {
    const int64_t ahead_ns = last_ns > now->ns ? last_ns - now->ns : 0;
    const double fitted_ns = FIT_NS - (double)ahead_ns;
    timestamps->start = *now;
    timestamps->start_ticks = now->ticks;
    timestamps->start_ns = now->ns + ahead_ns;
    timestamps->valid_ticks = (uint64_t)(FIT_NS / timestamps->ns_per_tick);
    timestamps->scale =
        fitted_ns > 0 ? (uint64_t)(fitted_ns / (double)timestamps->valid_ticks * TWO_TO_32) : 0;
    raise_error_bound(now->error_ns + (double)ahead_ns + 1);
}

/* A reading of the clock, without a fit. */
static int64_t read_clock(offbeat_tracer_timestamps *timestamps, int64_t last_ns) {
    const int64_t ns = clock_ns();
    timestamps->valid_ticks = 0;
    timestamps->start_ns = ns > last_ns ? ns : last_ns;
    return timestamps->start_ns;
}

int64_t offbeat_tracer_recalibrate(offbeat_tracer_timestamps *timestamps) {
    const int64_t last_ns = last_timestamp(timestamps, __rdtsc());
    if (!atomic_load_explicit(&tsc_enabled, memory_order_relaxed))
        return read_clock(timestamps, last_ns);
    const offbeat_tracer_reading now = read_both(timestamps->ns_per_tick > 0 ? timestamps->ns_per_tick : 1);
    if (now.error_ns > MAX_ERROR_NS)
        return read_clock(timestamps, last_ns);
    if (timestamps->valid_ticks > 0)
        raise_error_bound(error_of_fit(timestamps, &now));
    measure_rate(timestamps, &now);
    if (!(timestamps->ns_per_tick > 0) || !atomic_load_explicit(&tsc_enabled, memory_order_relaxed))
        return read_clock(timestamps, last_ns);
    start_fit(timestamps, &now, last_ns);
    return timestamps->start_ns;
}

void offbeat_tracer_timestamps_init(int64_t (*reader)(void), int is_monotonic) {
    clock_ns = reader;
    if (!is_monotonic || !kernel_uses_tsc())
        return;
    initial_reading = read_both(1);
    atomic_store(&tsc_enabled, 1);
}

#else

int64_t offbeat_tracer_recalibrate(offbeat_tracer_timestamps *timestamps) {
    (void)timestamps;
    return clock_ns();
}

void offbeat_tracer_timestamps_init(int64_t (*reader)(void), int is_monotonic) {
    (void)is_monotonic;
    clock_ns = reader;
}

#endif

int64_t offbeat_tracer_timestamp_bound_ns(void) {
    return atomic_load(&bound_ns);
}
