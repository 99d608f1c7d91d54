/* SPDX-License-Identifier: BSD-3-Clause */
/** @file ft_test.c  Tests of the parts of offbeat-ft that need no MPI: transforms, random numbers, the
 * distribution of the grid and the verification. */
#include "ft/fft.h"
#include "ft/problem.h"
#include "ft/slabs.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_PROCESSES = 32 }; /* of a simulated job */

static int failures;

__attribute__((format(printf, 2, 3))) static void expect(int condition, const char *claim, ...) {
    if (condition)
        return;
    va_list values;
    va_start(values, claim);
    fputs("ft_test: failed: ", stderr);
    vfprintf(stderr, claim, values);
    fputc('\n', stderr);
    va_end(values);
    failures++;
}

static void *allocate(size_t elements) {
    void *memory = calloc(elements, sizeof(ft_complex));
    if (memory == NULL)
        exit(1);
    return memory;
}

static ft_complex *random_data(size_t elements) {
    uint64_t state = FT_SEED;
    ft_complex *data = allocate(elements);
    for (size_t i = 0; i < elements; i++)
        data[i] = (ft_complex){ft_random_next(&state) - 0.5, ft_random_next(&state) - 0.5};
    return data;
}

/* One frequency of one line, computed by the definition. */
static ft_complex direct_transform(const ft_complex *data, size_t n, size_t stride, ft_direction direction,
                                   size_t k) {
    const double turn = 2.0 * acos(-1.0);
    ft_complex sum = {0.0, 0.0};
    for (size_t j = 0; j < n; j++) {
        double angle = (int)direction * turn * (double)(j * k % n) / (double)n;
        ft_complex x = data[j * stride];
        sum.re += x.re * cos(angle) - x.im * sin(angle);
        sum.im += x.re * sin(angle) + x.im * cos(angle);
    }
    return sum;
}

/* Lines of n points, contiguous or interleaved. */
static void compare_with_definition(size_t n, size_t lines, ft_direction direction, int interleaved) {
    size_t element_stride = interleaved ? lines : 1, line_stride = interleaved ? 1 : n;
    ft_complex *before = random_data(n * lines), *after = random_data(n * lines);
    ft_plan *plan = ft_plan_create(n);
    double worst = 0.0;
    ft_transform(plan, direction, after, element_stride, lines, line_stride);
    for (size_t l = 0; l < lines; l++)
        for (size_t k = 0; k < n; k++) {
            ft_complex expected = direct_transform(before + l * line_stride, n, element_stride, direction, k);
            ft_complex actual = after[l * line_stride + k * element_stride];
            worst = fmax(worst, hypot(actual.re - expected.re, actual.im - expected.im));
        }
    expect(worst < 1e-13 * (double)n, "n = %zu, %zu lines: the transform equals its definition; error %g", n,
           lines, worst);
    ft_plan_free(plan);
    free(before);
    free(after);
}

static void transforms_equal_their_definition(void) {
    for (size_t n = 1; n <= 256; n *= 2)
        for (size_t lines = 1; lines <= 19; lines += 6)
            for (int interleaved = 0; interleaved <= 1; interleaved++) {
                compare_with_definition(n, lines, FT_FORWARD, interleaved);
                compare_with_definition(n, lines, FT_BACKWARD, interleaved);
            }
}

static void backward_inverts_forward_up_to_the_length(void) {
    enum { N = 2048, LINES = 3 };
    ft_complex *before = random_data(N * LINES), *after = random_data(N * LINES);
    ft_plan *plan = ft_plan_create(N);
    double worst = 0.0;
    ft_transform(plan, FT_FORWARD, after, 1, LINES, N);
    ft_transform(plan, FT_BACKWARD, after, 1, LINES, N);
    for (size_t i = 0; i < N * (size_t)LINES; i++)
        worst = fmax(worst, hypot(after[i].re / N - before[i].re, after[i].im / N - before[i].im));
    expect(worst < 1e-14, "forward and backward is the identity; error %g", worst);
    ft_plan_free(plan);
    free(before);
    free(after);
}

static void a_jump_equals_as_many_steps(void) {
    uint64_t stepped = FT_SEED;
    for (uint64_t steps = 0; steps <= 5000; steps++) {
        expect(ft_random_jump(FT_SEED, steps) == stepped, "a jump by %llu equals as many steps",
               (unsigned long long)steps);
        ft_random_next(&stepped);
    }
    uint64_t far = UINT64_C(123456789012), further = ft_random_jump(FT_SEED, far);
    expect(ft_random_jump(further, 987654321) == ft_random_jump(FT_SEED, far + 987654321),
           "two jumps equal one of their total length");
    expect(ft_random_jump(FT_SEED, UINT64_C(1) << 44) == FT_SEED, "the sequence has a period of 2^44");
}

static void random_numbers_are_between_0_and_1(void) {
    uint64_t state = FT_SEED;
    double sum = 0.0;
    for (int i = 0; i < 100000; i++) {
        double number = ft_random_next(&state);
        expect(number > 0.0 && number < 1.0, "%g is between 0 and 1", number);
        sum += number;
    }
    expect(fabs(sum / 1e5 - 0.5) < 0.005, "the mean is about one half; it is %g", sum / 1e5);
}

/* As MPI_Alltoall: block `to` of process `from` becomes block `from` of process `to`. */
static void exchange(const ft_slabs *slabs, ft_complex *const *sent, ft_complex *const *received) {
    for (int from = 0; from < slabs->p; from++)
        for (int to = 0; to < slabs->p; to++)
            memcpy(received[to] + slabs->block * (size_t)from, sent[from] + slabs->block * (size_t)to,
                   slabs->block * sizeof **sent);
}

/* Elements of a plane of the whole array. */
static size_t plane_size(const ft_slabs *slabs) {
    return slabs->depth * slabs->columns * slabs->width;
}

/* Number of wrong elements in the pencils of one process; each element of the array holds its own index. */
static int misplaced(const ft_slabs *slabs, const ft_complex *pencils) {
    size_t first = ft_part_first(slabs->columns, slabs->p, slabs->rank) * slabs->width;
    size_t width = ft_part_size(slabs->columns, slabs->p, slabs->rank) * slabs->width;
    int wrong = 0;
    for (size_t line = 0; line < slabs->planes * slabs->depth; line++)
        for (size_t i = 0; i < width; i++)
            wrong +=
                pencils[line * width + i].re != (double)(line * slabs->columns * slabs->width + first + i);
    return wrong;
}

/* The processes of a simulated job; each holds a part of an array whose elements hold their own index. */
typedef struct {
    int p;
    ft_slabs slabs[MAX_PROCESSES];
    ft_complex *grid[MAX_PROCESSES], *sent[MAX_PROCESSES], *received[MAX_PROCESSES];
} simulated_job;

static size_t first_of_slab(const ft_slabs *slabs) {
    return ft_part_first(slabs->planes, slabs->p, slabs->rank) * plane_size(slabs);
}

static size_t size_of_slab(const ft_slabs *slabs) {
    return ft_part_size(slabs->planes, slabs->p, slabs->rank) * plane_size(slabs);
}

static simulated_job create_job(ft_slabs array, int p) {
    simulated_job job = {.p = p};
    array.p = p;
    for (int rank = 0; rank < p; rank++) {
        ft_slabs *slabs = &job.slabs[rank];
        array.rank = rank;
        *slabs = ft_slabs_with_blocks(array);
        job.grid[rank] = allocate(ft_slabs_elements(slabs));
        job.sent[rank] = allocate(ft_slabs_elements(slabs));
        job.received[rank] = allocate(ft_slabs_elements(slabs));
        for (size_t i = 0; i < size_of_slab(slabs); i++)
            job.grid[rank][i].re = (double)(first_of_slab(slabs) + i);
    }
    return job;
}

static void transpose_to_pencils(simulated_job *job) {
    for (int rank = 0; rank < job->p; rank++)
        ft_slab_to_blocks(&job->slabs[rank], job->grid[rank], job->sent[rank]);
    exchange(job->slabs, job->sent, job->received);
    for (int rank = 0; rank < job->p; rank++) {
        ft_blocks_to_pencils(&job->slabs[rank], job->received[rank], job->grid[rank]);
        expect(misplaced(&job->slabs[rank], job->grid[rank]) == 0, "p = %d: rank %d has its own columns",
               job->p, rank);
    }
}

static void transpose_to_slabs(simulated_job *job) {
    for (int rank = 0; rank < job->p; rank++)
        ft_pencils_to_blocks(&job->slabs[rank], job->grid[rank], job->sent[rank]);
    exchange(job->slabs, job->sent, job->received);
    for (int rank = 0; rank < job->p; rank++) {
        const ft_slabs *slabs = &job->slabs[rank];
        int wrong = 0;
        ft_blocks_to_slab(slabs, job->received[rank], job->grid[rank]);
        for (size_t i = 0; i < size_of_slab(slabs); i++)
            wrong += job->grid[rank][i].re != (double)(first_of_slab(slabs) + i);
        expect(wrong == 0, "p = %d: rank %d has its own planes again", job->p, rank);
    }
}

static void transpose_there_and_back(ft_slabs array, int p) {
    simulated_job job = create_job(array, p);
    transpose_to_pencils(&job);
    transpose_to_slabs(&job);
    for (int rank = 0; rank < p; rank++) {
        free(job.grid[rank]);
        free(job.sent[rank]);
        free(job.received[rank]);
    }
}

static void transposes_are_correct_on_any_number_of_processes(void) {
    for (int p = 1; p <= MAX_PROCESSES; p++) {
        transpose_there_and_back((ft_slabs){.planes = MAX_PROCESSES, .depth = 1, .columns = 64, .width = 1},
                                 p);
        transpose_there_and_back((ft_slabs){.planes = (size_t)p, .depth = 3, .columns = 35, .width = 2}, p);
    }
    ft_slabs even =
        ft_slabs_with_blocks((ft_slabs){.planes = 64, .depth = 1, .columns = 64, .width = 64, .p = 16});
    expect(ft_slabs_elements(&even) == 64L * 64 * 64 / 16, "there is no padding if the array divides evenly");
    ft_slabs paper = ft_slabs_with_blocks(
        (ft_slabs){.planes = 1024, .depth = 1, .columns = 1024, .width = 2048, .p = 1024});
    expect(paper.block * sizeof(ft_complex) == 32768, "class D on 1,024 processes has blocks of 32 KiB");
}

static void sums_are_verified_to_twelve_digits(void) {
    const ft_problem *problem = ft_problem_named("S");
    ft_complex published = problem->sums[2], near = published, wrong = published, nan_sum = published;
    near.im += 5e-10;
    wrong.im += 1e-9;
    nan_sum.re = NAN;
    expect(ft_problem_agrees(problem, 3, near) == 1, "a sum with a relative error of 7e-13 agrees");
    expect(ft_problem_agrees(problem, 3, wrong) == 0, "a sum with a relative error of 1.4e-12 disagrees");
    expect(ft_problem_agrees(problem, 3, nan_sum) == 0, "NaN disagrees");
    expect(ft_problem_agrees(problem, 2, published) == 0, "each iteration has its own sum");
    expect(ft_problem_agrees(problem, 7, published) == -1, "class S has no seventh sum");
    expect(ft_problem_named("X") == NULL && ft_problem_named("SS") == NULL, "unknown classes are refused");
}

int main(void) {
    transforms_equal_their_definition();
    backward_inverts_forward_up_to_the_length();
    a_jump_equals_as_many_steps();
    random_numbers_are_between_0_and_1();
    transposes_are_correct_on_any_number_of_processes();
    sums_are_verified_to_twelve_digits();
    return failures != 0;
}
