/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file stencil.c
 * Heat in a box: Jacobi iterations with a stencil of 7 points. Each process has a block of the grid, and each
 * of its threads a slab of the block, a range of y. Neighbouring processes exchange the faces of their blocks
 * in one of several ways (exchange.c), and all ways compute the same in the same order. Runs of the ways take
 * turns, so that a disturbance of the machine affects all of them. The result of each run is compared with a
 * sequential computation.
 *
 * Exit status: 0; 1 if a result was wrong or a call of MPI did not return; 2 if the program cannot begin: an
 * option was refused, or MPI lacks MPI_THREAD_MULTIPLE or partitioned functions.
 */
#define _POSIX_C_SOURCE 200809L
#include "block.h"
#include "exchange.h"
#include "options.h"

#include <math.h>
#include <omp.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/** What a way needs, and what was measured of it. */
typedef struct subject {
    const way *way;
    exchange exchange;
    double *seconds; /**< of an iteration, by repetition */
    int is_wrong;
} subject;

typedef struct program {
    options options;
    int rank, threads, places[3];
    int shares_cores; /**< whether the node has more threads than cores */
    MPI_Comm grid;
    block block;
    subject subjects[MOST_WAYS];
    int count; /**< of subjects */
    uint64_t right_checksum;
} program;

static void fail(const program *p, const char *error) {
    fprintf(stderr, "stencil: rank %d: %s\n", p->rank, error);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static double *allocate(const program *p, int count) {
    double *values = calloc((size_t)count, sizeof *values);
    if (!values)
        fail(p, "there is no memory for the times");
    return values;
}

/* --- the time limit --- */

static char timeout_error[120];

/* The handler of the alarm. A library may hang inside a call, where the program can check no time. */
static void end_after_timeout(int number) {
    const ssize_t written = write(STDERR_FILENO, timeout_error, strlen(timeout_error));
    (void)number;
    (void)written;
    _exit(1);
}

static void restart_limit(const program *p) {
    alarm((unsigned)p->options.timeout_s);
}

/* From here on, the time limit holds for what follows until the limit is restarted: of the way w, if it is
 * not NULL. */
static void limit(const program *p, const way *w, const char *failed) {
    alarm(0); /* the handler reads the text */
    snprintf(timeout_error, sizeof timeout_error, "stencil: rank %d: %s%s%s%s within %ld s\n", p->rank,
             w ? "the way " : "", w ? w->name : "", w ? " " : "", failed, p->options.timeout_s);
    restart_limit(p);
}

/* --- an iteration --- */

/* Gives the core to other threads. Where threads share cores, sched_yield returns to a thread that polls
 * before it lets one compute. */
static void await(const program *p) {
    if (p->shares_cores)
        nanosleep(&(struct timespec){0, 1000}, NULL);
    else
        sched_yield();
}

/* Packs what a slab has of a face, and marks it as ready: a part, or, normal to Y, the whole face of the
 * first or last slab. */
static void send_part(const program *p, subject *s, int i, int slab) {
    exchange *e = &s->exchange;
    int number = e->faces[i].face, first = slab, last = slab;
    if (number / 2 == Y) {
        if (slab != (number % 2 ? e->parts - 1 : 0))
            return;
        first = 0;
        last = e->parts - 1;
    }
    for (int part = first; part <= last; part++) {
        box cells = block_face(&p->block, number, part, e->parts, 0);
        block_pack(&p->block, cells, exchange_part(e, e->faces[i].sent, i, part));
        s->way->ready(e, i, part);
    }
}

static int is_lowest_plane(const face *f) {
    return f->face == 2 * Z;
}

static void compute_slab(program *p, subject *s, int slab) {
    block *b = &p->block;
    box rows = block_face(b, 2 * Z, slab, p->threads, 0);
    int is_late = slab == p->threads - 1;
    double extra = is_late ? p->options.imbalance - 1 : 0;
    if (is_late && p->options.sleep_us > 0)
        nanosleep(&(struct timespec){p->options.sleep_us / 1000000, p->options.sleep_us % 1000000 * 1000},
                  NULL);
    for (int z = 1; z <= b->n[Z]; z++) {
        int times = 1 + (int)(floor(z * extra) - floor((z - 1) * extra));
        for (int i = 0; i < times; i++)
            block_relax(b, z, rows.lo[Y], rows.hi[Y]);
        for (int i = 0; z == 1 && i < s->exchange.count; i++)
            if (is_lowest_plane(&s->exchange.faces[i]))
                send_part(p, s, i, slab);
    }
    for (int i = 0; i < s->exchange.count; i++)
        if (!is_lowest_plane(&s->exchange.faces[i]))
            send_part(p, s, i, slab);
}

static void receive_parts(program *p, subject *s, int part) {
    exchange *e = &s->exchange;
    for (int i = 0; i < e->count; i++) {
        while (!s->way->arrived(e, i, part))
            await(p);
        box cells = block_face(&p->block, e->faces[i].face, part, e->parts, 1);
        block_unpack(&p->block, cells, exchange_part(e, e->faces[i].received, i, part));
    }
}

/* All ways wait in the same manner, so that their times can be compared. */
static void complete(const program *p, subject *s) {
    while (!s->way->complete(&s->exchange))
        await(p);
}

static void iterate(program *p, subject *s) {
    restart_limit(p);
    s->way->start(&s->exchange);
#pragma omp parallel num_threads(p->threads)
    {
        int step = omp_get_num_threads();
        for (int slab = omp_get_thread_num(); slab < p->threads; slab += step)
            compute_slab(p, s, slab);
        if (s->way->send) {
#pragma omp barrier
#pragma omp master
            {
                s->way->send(&s->exchange);
                complete(p, s);
            }
#pragma omp barrier
        }
        for (int part = omp_get_thread_num(); part < p->threads; part += step)
            receive_parts(p, s, part);
    }
    complete(p, s);
    block_advance(&p->block);
}

/* --- runs --- */

/* The time limit does not hold here: the whole grid may take long. */
static void compute_sequentially(program *p) {
    alarm(0);
    const int one[3] = {1, 1, 1}, zero[3] = {0, 0, 0};
    block whole;
    if (!block_create(&whole, p->options.grid, one, zero))
        fail(p, "there is no memory for the sequential computation");
    block_heat(&whole);
    for (int i = 0; i < p->options.iterations; i++) {
        for (int z = 1; z <= whole.n[Z]; z++)
            block_relax(&whole, z, 1, whole.n[Y] + 1);
        block_advance(&whole);
    }
    p->right_checksum = block_checksum(&whole);
    block_free(&whole);
}

/* @return seconds of an iteration, of the slowest process */
static double run(program *p, subject *s) {
    block_heat(&p->block);
    limit(p, s->way, "did not begin a run");
    MPI_Barrier(p->grid);
    limit(p, s->way, "did not end an iteration");
    double begin = MPI_Wtime();
    for (int i = 0; i < p->options.iterations; i++)
        iterate(p, s);
    double seconds = (MPI_Wtime() - begin) / p->options.iterations, longest;
    MPI_Allreduce(&seconds, &longest, 1, MPI_DOUBLE, MPI_MAX, p->grid);
    uint64_t own = block_checksum(&p->block), sum;
    MPI_Allreduce(&own, &sum, 1, MPI_UINT64_T, MPI_SUM, p->grid);
    s->is_wrong |= sum != p->right_checksum;
    return longest;
}

/* One run of each way that is not timed, and then the repetitions, forwards and backwards in turn. A way with
 * a wrong result does not run again. */
static void run_all(program *p) {
    for (int i = 0; i < p->count; i++)
        run(p, &p->subjects[i]);
    for (int repetition = 0; repetition < p->options.repetitions; repetition++)
        for (int i = 0; i < p->count; i++) {
            subject *s = &p->subjects[repetition % 2 ? p->count - 1 - i : i];
            if (!s->is_wrong)
                s->seconds[repetition] = run(p, s);
        }
    alarm(0);
}

/* --- the table --- */

static int compare(const void *left, const void *right) {
    double one = *(const double *)left, other = *(const double *)right;
    return (one > other) - (one < other);
}

/* How many of the lowest and of the highest values lie outside an interval that contains the median with a
 * probability of 95%; -1 if even the lowest and the highest value are too close. */
static int outside_interval(int count) {
    double probability = pow(0.5, count), below = probability;
    int outside = -1;
    while (2 * below <= 0.05) {
        outside++;
        probability *= (double)(count - outside) / (outside + 1);
        below += probability;
    }
    return outside;
}

static void print_median(double *values, int count, const char *format) {
    qsort(values, (size_t)count, sizeof *values, compare);
    printf(format, (values[(count - 1) / 2] + values[count / 2]) / 2);
}

/* The speed-up over the first way: the median over the repetitions, and its interval. */
static void print_speed_up(const program *p, const subject *s, double *values) {
    int count = p->options.repetitions, outside = outside_interval(count);
    for (int i = 0; i < count; i++)
        values[i] = p->subjects[0].seconds[i] / s->seconds[i];
    print_median(values, count, "%10.2f");
    if (outside >= 0)
        printf("  (%.2f to %.2f)", values[outside], values[count - 1 - outside]);
}

static void print_way(const program *p, const subject *s, double *values) {
    printf("%-8s %-6s", s->way->name, s->is_wrong ? "WRONG" : "right");
    if (!s->is_wrong) {
        for (int i = 0; i < p->options.repetitions; i++)
            values[i] = s->seconds[i] * 1e6;
        print_median(values, p->options.repetitions, "%13.1f");
        if (s > p->subjects && !p->subjects[0].is_wrong)
            print_speed_up(p, s, values);
    }
    printf("\n");
}

static void print_table(const program *p) {
    const options *o = &p->options;
    double *values = allocate(p, o->repetitions);
    printf("grid %dx%dx%d, processes %dx%dx%d with %d threads each, %d iterations, %d repetitions\n",
           o->grid[Z], o->grid[Y], o->grid[X], p->places[Z], p->places[Y], p->places[X], p->threads,
           o->iterations, o->repetitions);
    if (o->imbalance > 1)
        printf("the last thread of each process computes each cell %g times\n", o->imbalance);
    if (o->sleep_us > 0)
        printf("the last thread of each process sleeps for %ld us in each iteration\n", o->sleep_us);
    if (p->shares_cores)
        printf("threads share cores: a waiting thread sleeps between its tests\n");
    printf("checksum of the sequential computation: %016llx\n\n", (unsigned long long)p->right_checksum);
    printf("way      result us/iteration  speed-up  (95%% interval)\n");
    for (int i = 0; i < p->count; i++)
        print_way(p, &p->subjects[i], values);
    printf("\nplain: a face is one message, sent when the last thread has finished\n"
           "offbeat, mpi: each thread marks its part of a face as ready when it has finished\n"
           "right: in each run equal to the sequential computation, bit by bit\n");
    free(values);
}

/* --- the program --- */

/* Each thread of a process, and each process of a node, needs a core. */
static int threads_share_cores(const program *p) {
    MPI_Comm node;
    int processes;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    MPI_Comm_size(node, &processes);
    MPI_Comm_free(&node);
    return p->threads > omp_get_num_procs() || (long)processes * p->threads > sysconf(_SC_NPROCESSORS_ONLN);
}

/* Decides how many processes each direction has. @return NULL, or a sentence about what is wrong */
static const char *place_processes(program *p, int size) {
    int product = 1, is_free = 0, place[3];
    for (int d = 0; d < 3; d++) {
        p->places[d] = p->options.processes[d];
        product *= p->places[d] ? p->places[d] : 1;
        is_free |= p->places[d] == 0;
    }
    if (size % product != 0 || (!is_free && size != product))
        return "--processes does not fit the number of processes that were launched";
    MPI_Dims_create(size, 3, p->places);
    MPI_Cart_create(MPI_COMM_WORLD, 3, p->places, (int[]){0, 0, 0}, 0, &p->grid);
    MPI_Cart_coords(p->grid, p->rank, 3, place);
    for (int d = 0; d < 3; d++)
        if (p->options.grid[d] / p->places[d] < (d == Y ? p->threads : 1))
            return "--grid is too small: a process needs a cell in each direction, and in Y as many as it "
                   "has threads";
    if (!block_create(&p->block, p->options.grid, p->places, place))
        fail(p, "there is no memory for the block of the grid");
    return NULL;
}

static const char *open_ways(program *p) {
    static char threads[12];
    snprintf(threads, sizeof threads, "%d", p->threads);
    for (; p->options.ways[p->count]; p->count++)
        if (!way_find(p->options.ways[p->count]))
            return "--ways has an unknown way, or this MPI library has no MPI_Psend_init, which the way mpi "
                   "needs";
    for (int i = 0; i < p->count; i++) {
        subject *s = &p->subjects[i];
        s->way = way_find(p->options.ways[i]);
        s->seconds = allocate(p, p->options.repetitions);
        limit(p, s->way, "did not create its requests");
        if (!exchange_create(&s->exchange, s->way, &p->block, p->grid, p->threads,
                             p->options.messages ? p->options.messages : threads))
            fail(p, "there is no memory for the faces");
    }
    return NULL;
}

static int close_ways(program *p) {
    int is_wrong = 0;
    for (int i = 0; i < p->count; i++) {
        is_wrong |= p->subjects[i].is_wrong;
        limit(p, p->subjects[i].way, "did not free its requests");
        exchange_free(&p->subjects[i].exchange, p->subjects[i].way);
        free(p->subjects[i].seconds);
    }
    block_free(&p->block);
    limit(p, NULL, "MPI_Comm_free did not return");
    MPI_Comm_free(&p->grid);
    return is_wrong;
}

int main(int argc, char **argv) {
    program p = {.grid = MPI_COMM_WORLD, .threads = omp_get_max_threads()};
    int size, provided, status = 2;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &p.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    signal(SIGALRM, end_after_timeout);
    const char *error = options_read(&p.options, argc, argv);
    if (!error && provided < MPI_THREAD_MULTIPLE)
        error = "this MPI library does not provide MPI_THREAD_MULTIPLE";
    if (!error) {
        limit(&p, NULL, "the communicators were not created");
        p.shares_cores = threads_share_cores(&p);
        error = place_processes(&p, size);
    }
    if (!error)
        error = open_ways(&p);
    if (!error) {
        compute_sequentially(&p);
        run_all(&p);
        if (p.rank == 0)
            print_table(&p);
        status = close_ways(&p);
    } else if (p.rank == 0)
        fprintf(stderr, "stencil: %s\n", error);
    limit(&p, NULL, "MPI_Finalize did not return");
    MPI_Finalize();
    return status;
}
