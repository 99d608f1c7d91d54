/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests of the values of elements: reductions are exact in the datatype itself in any order, and a missing,
 * repeated or misplaced contribution changes the result. Needs no MPI processes.
 */
#include "element.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failures;

static void expect(int condition, const char *claim, const char *datatype, const char *op, int p) {
    if (condition)
        return;
    failures++;
    printf("failed: %s (%s %s p=%d)\n", claim, datatype, op, p);
}

static const int processes[] = {1, 2, 3, 4, 7, 15, 16, 31, 64, 1000, 4096};
enum { PROCESSES = sizeof processes / sizeof *processes };

/** Reduces in C's arithmetic of the datatype, over ranks first, first + step, ... modulo p. */
static void reduce_natively(offbeat_datatype datatype, offbeat_op op, int p, int first, int step,
                            size_t index, void *result) {
    float f = 0;
    double d = 0;
    for (int i = 0; i < p; i++) {
        int rank = (int)(((int64_t)first + (int64_t)i * step) % p);
        double x = (double)offbeat_term(datatype, op, p, rank, index).first;
        if (i == 0)
            f = (float)x, d = x;
        else if (op == OFFBEAT_SUM)
            f += (float)x, d += x;
        else if (op == OFFBEAT_PROD)
            f *= (float)x, d *= x;
        else
            f = op == OFFBEAT_MAX ? fmaxf(f, (float)x) : fminf(f, (float)x),
            d = op == OFFBEAT_MAX ? fmax(d, x) : fmin(d, x);
    }
    if (datatype == OFFBEAT_FLOAT)
        memcpy(result, &f, sizeof f);
    else
        memcpy(result, &d, sizeof d);
}

static void floating_point_results_are_exact_in_any_order(void) {
    for (int k = 0; k < PROCESSES; k++)
        for (offbeat_datatype t = OFFBEAT_FLOAT; t <= OFFBEAT_DOUBLE; t++)
            for (offbeat_op op = OFFBEAT_SUM; op <= OFFBEAT_MIN; op++) {
                int p = processes[k];
                offbeat_content content;
                offbeat_content_of_reduction(&content, t, op, p, 0, p, 0, 8);
                size_t extent = offbeat_datatype_extent(t);
                for (size_t i = 0; i < 8; i++) {
                    unsigned char forward[8], backward[8];
                    reduce_natively(t, op, p, 0, 1, i, forward);
                    reduce_natively(t, op, p, p - 1, p - 1, i, backward);
                    int is_same = memcmp(forward, content.bytes + i * extent, extent) == 0 &&
                                  memcmp(backward, content.bytes + i * extent, extent) == 0;
                    expect(is_same, "exact in any order", offbeat_datatype_name(t), offbeat_op_name(op), p);
                }
            }
}

/** A bound of the magnitude of any partial result in any order: the sum or product of the magnitudes. */
static double magnitude_bound(offbeat_datatype datatype, offbeat_op op, int p, size_t index) {
    double result = op == OFFBEAT_PROD;
    for (int rank = 0; rank < p; rank++) {
        double x = fabs((double)offbeat_term(datatype, op, p, rank, index).first);
        result = op == OFFBEAT_PROD ? result * x : result + x;
    }
    return result;
}

static void no_partial_result_overflows(void) {
    const double exact_limits[OFFBEAT_DATATYPES] = {[OFFBEAT_BYTE] = 0x1p8,
                                                    [OFFBEAT_INT] = 0x1p31,
                                                    [OFFBEAT_LONG] = 0x1p63,
                                                    [OFFBEAT_FLOAT] = 0x1p24,
                                                    [OFFBEAT_DOUBLE] = 0x1p53};
    for (int k = 0; k < PROCESSES; k++)
        for (offbeat_datatype t = OFFBEAT_BYTE; t <= OFFBEAT_DOUBLE; t++)
            for (size_t i = 0; i < OFFBEAT_PERIOD; i += 10) {
                const char *name = offbeat_datatype_name(t);
                int p = processes[k];
                expect(magnitude_bound(t, OFFBEAT_SUM, p, i) <= exact_limits[t] - (exact_limits[t] < 0x1p53),
                       "sums stay in range", name, "sum", p);
                expect(magnitude_bound(t, OFFBEAT_PROD, p, i) < fmin(exact_limits[t], 0x1p24),
                       "products stay in range", name, "prod", p);
            }
}

/** The number of results in one period that change if the contribution of @p rank is replaced by that of @p
 * other, or omitted for -1. */
static int changed_results(offbeat_datatype t, offbeat_op op, int p, int rank, int contributor_instead) {
    size_t extent = offbeat_datatype_extent(t);
    int differences = 0;
    offbeat_content correct;
    offbeat_content_of_reduction(&correct, t, op, p, 0, p, 0, OFFBEAT_PERIOD);
    for (size_t i = 0; i < OFFBEAT_PERIOD; i++) {
        offbeat_value value = {0, 0};
        int has_value = 0;
        for (int r = 0; r < p; r++) {
            int contributor = r == rank ? contributor_instead : r;
            if (contributor < 0)
                continue;
            offbeat_value term = offbeat_term(t, op, p, contributor, i);
            value = has_value ? offbeat_reduce_values(op, value, term) : term;
            has_value = 1;
        }
        unsigned char wrong[OFFBEAT_LARGEST_EXTENT] = {0};
        offbeat_store(t, value, wrong);
        differences += memcmp(wrong, correct.bytes + i * extent, extent) != 0;
    }
    return differences;
}

static void missing_and_repeated_ranks_change_the_result(void) {
    for (offbeat_datatype t = OFFBEAT_BYTE; t < OFFBEAT_DATATYPES; t++)
        for (offbeat_op op = OFFBEAT_SUM; op < OFFBEAT_OPS; op++)
            for (int p = 2; offbeat_op_fits(op, t) && p <= 19; p++)
                for (int rank = 0; rank < p; rank++) {
                    const char *type = offbeat_datatype_name(t), *name = offbeat_op_name(op);
                    expect(changed_results(t, op, p, rank, -1) > 0, "a missing rank changes the result", type,
                           name, p);
                    expect(changed_results(t, op, p, rank, (rank + 1) % p) > 0,
                           "a repeated rank changes the result", type, name, p);
                }
}

static void missing_ranks_change_every_element_of_sums_and_maps(void) {
    const offbeat_datatype types[] = {OFFBEAT_LONG, OFFBEAT_INT, OFFBEAT_FLOAT, OFFBEAT_DOUBLE};
    for (int p = 2; p <= 40; p += 19)
        for (int rank = 0; rank < p; rank++) {
            for (int k = 0; k < 4; k++)
                expect(changed_results(types[k], OFFBEAT_SUM, p, rank, -1) == OFFBEAT_PERIOD,
                       "every element changes", offbeat_datatype_name(types[k]), "sum", p);
            expect(changed_results(OFFBEAT_AFFINE, OFFBEAT_COMPOSE, p, rank, -1) == OFFBEAT_PERIOD,
                   "every element changes", "affine", "affine", p);
        }
}

static int equal(offbeat_value a, offbeat_value b) {
    return a.first == b.first && a.second == b.second;
}

static void affine_is_associative_but_not_commutative(void) {
    for (size_t i = 0; i < 3 * OFFBEAT_PERIOD; i++) {
        offbeat_value v[3];
        for (int rank = 0; rank < 3; rank++)
            v[rank] = offbeat_term(OFFBEAT_AFFINE, OFFBEAT_COMPOSE, 3, rank, i);
        offbeat_op op = OFFBEAT_COMPOSE;
        offbeat_value left = offbeat_reduce_values(op, offbeat_reduce_values(op, v[0], v[1]), v[2]);
        offbeat_value right = offbeat_reduce_values(op, v[0], offbeat_reduce_values(op, v[1], v[2]));
        expect(equal(left, right), "associative", "affine", "affine", 3);
        expect(!equal(offbeat_reduce_values(op, v[0], v[1]), offbeat_reduce_values(op, v[1], v[0])),
               "not commutative", "affine", "affine", 2);
    }
}

static void blocks_of_different_ranks_and_offsets_differ(void) {
    for (offbeat_datatype t = OFFBEAT_BYTE; t < OFFBEAT_DATATYPES; t++)
        for (int rank = 1; rank < 256; rank++)
            for (size_t i = 0; i < OFFBEAT_PERIOD; i++)
                expect(offbeat_label(t, 0, i).first != offbeat_label(t, rank, i).first, "ranks differ",
                       offbeat_datatype_name(t), "", rank);
    for (offbeat_datatype t = OFFBEAT_BYTE; t < OFFBEAT_DATATYPES; t++)
        for (size_t shift = 1; shift <= 1 << 20; shift *= 2) {
            offbeat_content original, shifted_content;
            offbeat_content_of_rank(&original, t, 3, 0, 100);
            offbeat_content_of_rank(&shifted_content, t, 3, shift, 100);
            expect(offbeat_content_count_wrong(&original, shifted_content.bytes, 100) > 90,
                   "offsets a power of two apart differ", offbeat_datatype_name(t), "", (int)shift);
        }
}

static void one_changed_bit_in_a_buffer_is_one_wrong_element(void) {
    for (offbeat_datatype t = OFFBEAT_BYTE; t < OFFBEAT_DATATYPES; t++)
        for (size_t count = 1; count < 1100; count += 109) {
            size_t extent = offbeat_datatype_extent(t);
            unsigned char *buffer = malloc(count * extent);
            offbeat_content content;
            offbeat_content_of_rank(&content, t, 5, 17, count);
            offbeat_content_write(&content, buffer, count);
            int is_same = offbeat_content_count_wrong(&content, buffer, count) == 0;
            for (size_t i = 0; i < count; i++) {
                offbeat_value value = offbeat_label(t, 5, 17 + i);
                unsigned char element[OFFBEAT_LARGEST_EXTENT];
                offbeat_store(t, value, element);
                is_same = is_same && memcmp(element, buffer + i * extent, extent) == 0;
            }
            expect(is_same, "a written buffer has the value of each index", offbeat_datatype_name(t), "",
                   (int)count);
            buffer[count * extent - 1] ^= 1;
            expect(offbeat_content_count_wrong(&content, buffer, count) == 1,
                   "one wrong bit is one wrong element", offbeat_datatype_name(t), "", (int)count);
            offbeat_content_invert(&content);
            offbeat_content_write(&content, buffer, count);
            offbeat_content_invert(&content);
            expect(offbeat_content_count_wrong(&content, buffer, count) == count,
                   "inverted, every element is wrong", offbeat_datatype_name(t), "", (int)count);
            free(buffer);
        }
}

static void names_are_found_and_undefined_operations_refused(void) {
    for (offbeat_datatype t = OFFBEAT_BYTE; t < OFFBEAT_DATATYPES; t++)
        expect(offbeat_datatype_find(offbeat_datatype_name(t)) == t, "found by name",
               offbeat_datatype_name(t), "", 0);
    for (offbeat_op op = OFFBEAT_SUM; op < OFFBEAT_OPS; op++)
        expect(offbeat_op_find(offbeat_op_name(op)) == op, "found by name", "", offbeat_op_name(op), 0);
    expect(offbeat_datatype_find("quad") == OFFBEAT_DATATYPES, "unknown", "quad", "", 0);
    expect(offbeat_datatype_find(NULL) == OFFBEAT_DATATYPES, "unknown", "NULL", "", 0);
    expect(offbeat_op_find("xor") == OFFBEAT_OPS, "unknown", "", "xor", 0);
    expect(!offbeat_op_fits(OFFBEAT_BXOR, OFFBEAT_DOUBLE), "refused", "double", "bxor", 0);
    expect(!offbeat_op_fits(OFFBEAT_COMPOSE, OFFBEAT_LONG), "refused", "long", "affine", 0);
    expect(!offbeat_op_fits(OFFBEAT_SUM, OFFBEAT_AFFINE), "refused", "affine", "sum", 0);
}

int main(void) {
    floating_point_results_are_exact_in_any_order();
    no_partial_result_overflows();
    missing_and_repeated_ranks_change_the_result();
    missing_ranks_change_every_element_of_sums_and_maps();
    affine_is_associative_but_not_commutative();
    blocks_of_different_ranks_and_offsets_differ();
    one_changed_bit_in_a_buffer_is_one_wrong_element();
    names_are_found_and_undefined_operations_refused();
    printf(failures == 0 ? "element_test: ok\n" : "element_test: FAILED\n");
    return failures != 0;
}
