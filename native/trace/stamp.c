/* SPDX-License-Identifier: BSD-3-Clause */
#define _POSIX_C_SOURCE 200809L
#include "trace/stamp.h"

#include "trace/file.h"

#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

static int64_t (*clock_ns)(void);
static _Atomic int64_t bound_ns; /* over all threads */

#ifdef __x86_64__

static const double LINE_NS = 1e6; /* for how long a line holds */
static const double BASE_NS = 1e9; /* the rate is that of the last second, or since the last stamp before */
static const double SHORTEST_NS = 1e7; /* over less than that no rate is measured */
static const double WORST_NS = 500;    /* a reading that something came between, or a line of no use */
static const int64_t ORDER_NS = 300; /* a processor may read its counter while an earlier load is under way */
static const double TWO_TO_32 = 4294967296.0;
enum { TRIES = 4 };

static _Atomic int may_count;      /* whether the counter is used */
static offbeat_reading first_base; /* fixed while may_count */

static int is_kernels_clock(void) {
    char name[16] = "";
    FILE *file = fopen("/sys/devices/system/clocksource/clocksource0/current_clocksource", "re");
    if (file == NULL)
        return 0;
    int is_read = fgets(name, sizeof name, file) != NULL;
    fclose(file);
    return is_read && strcmp(name, "tsc\n") == 0;
}

/* The clock was read somewhere between two readings of the counter. @param rate of which the last is known */
static offbeat_reading read_both(double rate) {
    offbeat_reading best = {.wrong_ns = INFINITY};
    for (int i = 0; i < TRIES && best.wrong_ns > WORST_NS / 10; i++) {
        uint64_t before = __rdtsc();
        int64_t ns = clock_ns();
        uint64_t after = __rdtsc();
        double half_ns = (double)(after - before) / 2 * rate;
        if (half_ns < best.wrong_ns)
            best = (offbeat_reading){.ticks = before + (after - before) / 2, .ns = ns, .wrong_ns = half_ns};
    }
    return best;
}

static double rate_between(const offbeat_reading *from, const offbeat_reading *to) {
    return (double)(to->ns - from->ns) / (double)(to->ticks - from->ticks);
}

/* How far the line was from the clock while it held, at most. */
static double error_of(const offbeat_stamps *stamps, const offbeat_reading *now) {
    double elapsed = (double)(now->ticks - stamps->from_ticks), due = (double)stamps->due_ticks;
    double line_ns = elapsed * ((double)stamps->scale / TWO_TO_32);
    double off_ns = fabs((double)(stamps->from_ns - now->ns) + line_ns);
    double began_off_ns = fabs((double)(stamps->from_ns - stamps->from.ns));
    if (elapsed > due) /* nobody asked for long: it ended in between */
        off_ns = fmax(began_off_ns, off_ns * due / elapsed);
    return fmax(off_ns, began_off_ns) + fmax(now->wrong_ns, stamps->from.wrong_ns) + 1;
}

/* Puts an error on record; after one that is too large the counter isn't used any more. */
static void admit(double wrong_ns) {
    int64_t found_ns = (int64_t)ceil(wrong_ns) + ORDER_NS, known_ns = atomic_load(&bound_ns);
    while (found_ns > known_ns && !atomic_compare_exchange_weak(&bound_ns, &known_ns, found_ns))
        ;
    offbeat_trace_header *header = offbeat_file_header();
    if (header != NULL && header->stamps_wrong_ns < found_ns)
        header->stamps_wrong_ns = found_ns;
    if (wrong_ns > WORST_NS)
        atomic_store(&may_count, 0);
}

/* The last time that the line may have given. */
static int64_t end_of(const offbeat_stamps *stamps, uint64_t ticks) {
    uint64_t elapsed = ticks - stamps->from_ticks;
    if (elapsed > stamps->due_ticks)
        elapsed = stamps->due_ticks;
    return stamps->from_ns + (int64_t)(elapsed * stamps->scale >> 32);
}

static void measure_rate(offbeat_stamps *stamps, const offbeat_reading *now) {
    if (stamps->based.ticks == 0)
        stamps->based = first_base;
    double elapsed_ns = (double)(now->ns - stamps->based.ns);
    if (elapsed_ns < (stamps->rate > 0 ? BASE_NS : SHORTEST_NS))
        return;
    stamps->rate = rate_between(&stamps->based, now);
    if (elapsed_ns >= BASE_NS)
        stamps->based = *now;
}

/* From where the last line ended, if that is later, to where the clock will be. */
static void fit(offbeat_stamps *stamps, const offbeat_reading *now, int64_t last_ns) {
    const int64_t ahead_ns = last_ns > now->ns ? last_ns - now->ns : 0;
    const double to_go_ns = LINE_NS - (double)ahead_ns;
    stamps->from = *now;
    stamps->from_ticks = now->ticks;
    stamps->from_ns = now->ns + ahead_ns;
    stamps->due_ticks = (uint64_t)(LINE_NS / stamps->rate);
    stamps->scale = to_go_ns > 0 ? (uint64_t)(to_go_ns / (double)stamps->due_ticks * TWO_TO_32) : 0;
    admit(now->wrong_ns + (double)ahead_ns + 1);
}

/* The clock's own reading, where there is no line. */
static int64_t ask(offbeat_stamps *stamps, int64_t last_ns) {
    const int64_t ns = clock_ns();
    stamps->due_ticks = 0;
    stamps->from_ns = ns > last_ns ? ns : last_ns;
    return stamps->from_ns;
}

int64_t offbeat_stamp_anew(offbeat_stamps *stamps) {
    const int64_t last_ns = end_of(stamps, __rdtsc());
    if (!atomic_load_explicit(&may_count, memory_order_relaxed))
        return ask(stamps, last_ns);
    const offbeat_reading now = read_both(stamps->rate > 0 ? stamps->rate : 1);
    if (now.wrong_ns > WORST_NS)
        return ask(stamps, last_ns);
    if (stamps->due_ticks > 0)
        admit(error_of(stamps, &now));
    measure_rate(stamps, &now);
    if (!(stamps->rate > 0) || !atomic_load_explicit(&may_count, memory_order_relaxed))
        return ask(stamps, last_ns);
    fit(stamps, &now, last_ns);
    return stamps->from_ns;
}

void offbeat_stamps_begin(int64_t (*reader)(void), int is_monotonic) {
    clock_ns = reader;
    if (!is_monotonic || !is_kernels_clock())
        return;
    first_base = read_both(1);
    atomic_store(&may_count, 1);
}

#else

int64_t offbeat_stamp_anew(offbeat_stamps *stamps) {
    (void)stamps;
    return clock_ns();
}

void offbeat_stamps_begin(int64_t (*reader)(void), int is_monotonic) {
    (void)is_monotonic;
    clock_ns = reader;
}

#endif

int64_t offbeat_stamps_bound_ns(void) {
    return atomic_load(&bound_ns);
}
