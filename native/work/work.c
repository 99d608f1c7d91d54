/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "work/work.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include <sys/syscall.h>

enum {
    LINE = 8,             /* doubles of a cache line */
    LINE_FLOPS = 2 * LINE /* operations of the traffic of a line */
};

/* Operations of one step of the registers: 8 of them with 2 doubles each, a product and a sum. */
enum { STEP_FLOPS = 8 * 2 * 2 };

/* The memory of arrays relative to the last-level cache. */
enum { CACHES = 4 };

/* The default size of arrays where the caches are unknown or small. */
static const size_t least_bytes = (size_t)64 << 20;

struct offbeat_work {
    double *a, *b;
    size_t lines; /* of each array */
    size_t next;  /* line with which the next run begins */
};

/* Two doubles in a register of any x86-64 and AArch64 processor. */
typedef double pair __attribute__((vector_size(16)));

/* Independent chains of operations, enough to hide the latency of each. */
typedef struct registers {
    pair r0, r1, r2, r3, r4, r5, r6, r7;
} registers;

offbeat_work *offbeat_work_create(size_t bytes) {
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    const size_t array_bytes = (bytes / 2 / page + 1) * page;
    offbeat_work *work = calloc(1, sizeof *work);
    if (!work)
        return NULL;
    void *a = NULL, *b = NULL;
    const int is_too_much = array_bytes / page >= (size_t)sysconf(_SC_PHYS_PAGES) / 2;
    if (is_too_much || posix_memalign(&a, page, array_bytes) != 0 ||
        posix_memalign(&b, page, array_bytes) != 0) {
        free(a);
        free(work);
        return NULL;
    }
    *work = (offbeat_work){.a = a, .b = b, .lines = array_bytes / (LINE * sizeof(double))};
    for (size_t i = 0; i < work->lines * LINE; i++) {
        work->a[i] = 1.0;
        work->b[i] = 0.5;
    }
    return work;
}

void offbeat_work_free(offbeat_work *work) {
    if (!work)
        return;
    free(work->a);
    free(work->b);
    free(work);
}

/* Values stay near 1: neither infinite nor denormal ones, whose operations take longer. */
static const double factor = 0.5;

static inline __attribute__((always_inline)) void draw_line(double *restrict a, const double *restrict b) {
    for (int i = 0; i < LINE; i++)
        a[i] = b[i] + factor * a[i];
}

static inline __attribute__((always_inline)) void step(registers *r) {
    const pair m = {0.5, 0.5}, c = {0.5, 0.5};
    r->r0 = r->r0 * m + c;
    r->r1 = r->r1 * m + c;
    r->r2 = r->r2 * m + c;
    r->r3 = r->r3 * m + c;
    r->r4 = r->r4 * m + c;
    r->r5 = r->r5 * m + c;
    r->r6 = r->r6 * m + c;
    r->r7 = r->r7 * m + c;
}

static inline __attribute__((always_inline)) void steps(registers *r, int64_t count) {
    for (int64_t i = 0; i < count; i++) {
        step(r);
        __asm__ volatile("" ::: "memory"); /* the compiler must not compute the fixed point instead */
    }
}

/* Keeps the results of operations, which nothing else reads. */
static volatile double kept_result;

static void keep(const registers *r) {
    const pair sum = r->r0 + r->r1 + r->r2 + r->r3 + r->r4 + r->r5 + r->r6 + r->r7;
    kept_result = sum[0] + sum[1];
}

static registers start_values(void) {
    const pair start = {1.5, 0.75};
    return (registers){start, start, start, start, start, start, start, start};
}

static void operate(int64_t flops) {
    registers r = start_values();
    steps(&r, flops / STEP_FLOPS);
    keep(&r);
}

/* Lines between which operations are executed. */
typedef struct mixture {
    int64_t steps_per_line, remainder, lines; /* steps of each line, and of all lines together beyond that */
    int64_t carried_steps;
} mixture;

static void draw(double *restrict a, const double *restrict b, size_t lines) {
    for (size_t i = 0; i < lines * LINE; i += LINE)
        draw_line(a + i, b + i);
}

static void draw_and_operate(double *restrict a, const double *restrict b, size_t lines, mixture *mix) {
    registers r = start_values();
    for (size_t i = 0; i < lines * LINE; i += LINE) {
        draw_line(a + i, b + i);
        mix->carried_steps += mix->remainder;
        const int64_t one_more = mix->carried_steps >= mix->lines;
        mix->carried_steps -= one_more ? mix->lines : 0;
        steps(&r, mix->steps_per_line + one_more);
    }
    keep(&r);
}

void offbeat_work_run(offbeat_work *work, int64_t memory_bytes, int64_t flops) {
    const int64_t lines = (memory_bytes + OFFBEAT_WORK_LINE_TRAFFIC / 2) / OFFBEAT_WORK_LINE_TRAFFIC;
    const int64_t more = (flops - lines * LINE_FLOPS) / STEP_FLOPS;
    if (lines == 0) {
        operate(flops);
        return;
    }
    mixture mix = {.steps_per_line = more / lines, .remainder = more % lines, .lines = lines};
    for (int64_t left = lines; left > 0;) {
        const size_t until_end = work->lines - work->next;
        const size_t now = (size_t)left < until_end ? (size_t)left : until_end;
        double *a = work->a + work->next * LINE, *b = work->b + work->next * LINE;
        if (more > 0)
            draw_and_operate(a, b, now, &mix);
        else
            draw(a, b, now);
        work->next = (work->next + now) % work->lines;
        left -= (int64_t)now;
    }
}

void offbeat_work_evict(offbeat_work *work) {
    offbeat_work_run(work, (int64_t)(work->lines / 2) * OFFBEAT_WORK_LINE_TRAFFIC, 0);
}

static int64_t core_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

void offbeat_work_busy(int64_t duration_ns) {
    if (duration_ns <= 0)
        return;
    const int64_t end_ns = core_ns() + duration_ns;
    registers r = start_values();
    do
        steps(&r, 4);
    while (core_ns() < end_ns);
    keep(&r);
}

/* The size of the largest cache of the first core in bytes; 0 if the system does not say it. */
static size_t largest_cache_bytes(void) {
    size_t largest = 0;
    for (int index = 0; index < 10; index++) {
        char path[80], text[32] = "", *unit;
        snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%d/size", index);
        FILE *file = fopen(path, "r");
        if (!file)
            break;
        const int is_read = fgets(text, sizeof text, file) != NULL;
        fclose(file);
        size_t size = is_read ? strtoul(text, &unit, 10) : 0;
        size <<= is_read && *unit == 'M' ? 20 : 10; /* "32768K" */
        largest = size > largest ? size : largest;
    }
    return largest;
}

size_t offbeat_work_default_bytes(void) {
    const size_t bytes = CACHES * largest_cache_bytes();
    return bytes > least_bytes ? bytes : least_bytes;
}

int offbeat_work_domain(void) {
    unsigned core = 0, domain = 0;
    return syscall(SYS_getcpu, &core, &domain, NULL) == 0 ? (int)domain : 0;
}
