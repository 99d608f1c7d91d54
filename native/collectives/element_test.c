/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The values are worth checking against: reductions are exact in the datatype itself in any order, and the
 * result tells a missing, repeated or misplaced contribution. Needs no MPI processes.
 */
#include "element.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tile.h"

static int failures;

static void expect(int holds, const char *promise, const char *datatype, const char *op, int p) {
    if (holds)
        return;
    failures++;
    printf("not true: %s (%s %s p=%d)\n", promise, datatype, op, p);
}

static const int processes[] = {1, 2, 3, 4, 7, 15, 16, 31, 64, 1000, 4096};
enum { PROCESSES = sizeof processes / sizeof *processes };

/** Folds in C's own arithmetic of the datatype, ranks in the order first, first + step, ... modulo p. */
static void fold_natively(offbeat_datatype datatype, offbeat_op op, int p, int first, int step, size_t index,
                          void *result) {
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
                offbeat_tile tile;
                offbeat_tile_folded(&tile, t, op, p, 0, p, 0, 8);
                size_t extent = offbeat_datatype_extent(t);
                for (size_t i = 0; i < 8; i++) {
                    unsigned char forward[8], backward[8];
                    fold_natively(t, op, p, 0, 1, i, forward);
                    fold_natively(t, op, p, p - 1, p - 1, i, backward);
                    int same = memcmp(forward, tile.bytes + i * extent, extent) == 0 &&
                               memcmp(backward, tile.bytes + i * extent, extent) == 0;
                    expect(same, "exact in any order", offbeat_datatype_name(t), offbeat_op_name(op), p);
                }
            }
}

/** Largest magnitude of any partial result of any subset, in any order: the sum, or product, of magnitudes.
 */
static double bound(offbeat_datatype datatype, offbeat_op op, int p, size_t index) {
    double result = op == OFFBEAT_PROD;
    for (int rank = 0; rank < p; rank++) {
        double x = fabs((double)offbeat_term(datatype, op, p, rank, index).first);
        result = op == OFFBEAT_PROD ? result * x : result + x;
    }
    return result;
}

static void no_partial_result_overflows(void) {
    const double held[OFFBEAT_DATATYPES] = {[OFFBEAT_BYTE] = 0x1p8,
                                            [OFFBEAT_INT] = 0x1p31,
                                            [OFFBEAT_LONG] = 0x1p63,
                                            [OFFBEAT_FLOAT] = 0x1p24,
                                            [OFFBEAT_DOUBLE] = 0x1p53};
    for (int k = 0; k < PROCESSES; k++)
        for (offbeat_datatype t = OFFBEAT_BYTE; t <= OFFBEAT_DOUBLE; t++)
            for (size_t i = 0; i < OFFBEAT_PERIOD; i += 10) {
                const char *name = offbeat_datatype_name(t);
                int p = processes[k];
                expect(bound(t, OFFBEAT_SUM, p, i) <= held[t] - (held[t] < 0x1p53), "sums stay in range",
                       name, "sum", p);
                expect(bound(t, OFFBEAT_PROD, p, i) < fmin(held[t], 0x1p24), "products stay in range", name,
                       "prod", p);
            }
}

/** How many of one period of results change when one rank's contribution is replaced by another's, or left
 * out. */
static int changed(offbeat_datatype t, offbeat_op op, int p, int rank, int other) {
    size_t extent = offbeat_datatype_extent(t);
    int differences = 0;
    offbeat_tile right;
    offbeat_tile_folded(&right, t, op, p, 0, p, 0, OFFBEAT_PERIOD);
    for (size_t i = 0; i < OFFBEAT_PERIOD; i++) {
        offbeat_value value = {0, 0};
        int begun = 0;
        for (int r = 0; r < p; r++) {
            int taken = r == rank ? other : r;
            if (taken < 0)
                continue;
            offbeat_value term = offbeat_term(t, op, p, taken, i);
            value = begun ? offbeat_fold(op, value, term) : term;
            begun = 1;
        }
        unsigned char wrong[OFFBEAT_LARGEST_EXTENT] = {0};
        offbeat_store(t, value, wrong);
        differences += memcmp(wrong, right.bytes + i * extent, extent) != 0;
    }
    return differences;
}

static void a_missing_or_repeated_rank_is_noticed(void) {
    for (offbeat_datatype t = OFFBEAT_BYTE; t < OFFBEAT_DATATYPES; t++)
        for (offbeat_op op = OFFBEAT_SUM; op < OFFBEAT_OPS; op++)
            for (int p = 2; offbeat_op_fits(op, t) && p <= 19; p++)
                for (int rank = 0; rank < p; rank++) {
                    const char *type = offbeat_datatype_name(t), *name = offbeat_op_name(op);
                    expect(changed(t, op, p, rank, -1) > 0, "a missing rank is noticed", type, name, p);
                    expect(changed(t, op, p, rank, (rank + 1) % p) > 0, "a repeated rank is noticed", type,
                           name, p);
                }
}

static void missing_ranks_are_noticed_in_every_element_of_sums_and_maps(void) {
    const offbeat_datatype types[] = {OFFBEAT_LONG, OFFBEAT_INT, OFFBEAT_FLOAT, OFFBEAT_DOUBLE};
    for (int p = 2; p <= 40; p += 19)
        for (int rank = 0; rank < p; rank++) {
            for (int k = 0; k < 4; k++)
                expect(changed(types[k], OFFBEAT_SUM, p, rank, -1) == OFFBEAT_PERIOD,
                       "noticed in every element", offbeat_datatype_name(types[k]), "sum", p);
            expect(changed(OFFBEAT_AFFINE, OFFBEAT_COMPOSE, p, rank, -1) == OFFBEAT_PERIOD,
                   "noticed in every element", "affine", "affine", p);
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
        offbeat_value left = offbeat_fold(op, offbeat_fold(op, v[0], v[1]), v[2]);
        offbeat_value right = offbeat_fold(op, v[0], offbeat_fold(op, v[1], v[2]));
        expect(equal(left, right), "associative", "affine", "affine", 3);
        expect(!equal(offbeat_fold(op, v[0], v[1]), offbeat_fold(op, v[1], v[0])), "not commutative",
               "affine", "affine", 2);
    }
}

static void blocks_of_different_ranks_and_places_differ(void) {
    for (offbeat_datatype t = OFFBEAT_BYTE; t < OFFBEAT_DATATYPES; t++)
        for (int rank = 1; rank < 256; rank++)
            for (size_t i = 0; i < OFFBEAT_PERIOD; i++)
                expect(offbeat_label(t, 0, i).first != offbeat_label(t, rank, i).first, "ranks differ",
                       offbeat_datatype_name(t), "", rank);
    for (offbeat_datatype t = OFFBEAT_BYTE; t < OFFBEAT_DATATYPES; t++)
        for (size_t shift = 1; shift <= 1 << 20; shift *= 2) {
            offbeat_tile here, there;
            offbeat_tile_moved(&here, t, 3, 0, 100);
            offbeat_tile_moved(&there, t, 3, shift, 100);
            expect(offbeat_tile_compare(&here, there.bytes, 100) > 90, "places a power of two apart differ",
                   offbeat_datatype_name(t), "", (int)shift);
        }
}

static void a_laid_buffer_compares_equal_until_one_bit_changes(void) {
    for (offbeat_datatype t = OFFBEAT_BYTE; t < OFFBEAT_DATATYPES; t++)
        for (size_t count = 1; count < 1100; count += 109) {
            size_t extent = offbeat_datatype_extent(t);
            unsigned char *buffer = malloc(count * extent);
            offbeat_tile tile;
            offbeat_tile_moved(&tile, t, 5, 17, count);
            offbeat_tile_lay(&tile, buffer, count);
            int same = offbeat_tile_compare(&tile, buffer, count) == 0;
            for (size_t i = 0; i < count; i++) {
                offbeat_value value = offbeat_label(t, 5, 17 + i);
                unsigned char element[OFFBEAT_LARGEST_EXTENT];
                offbeat_store(t, value, element);
                same = same && memcmp(element, buffer + i * extent, extent) == 0;
            }
            expect(same, "a laid buffer holds each index's value", offbeat_datatype_name(t), "", (int)count);
            buffer[count * extent - 1] ^= 1;
            expect(offbeat_tile_compare(&tile, buffer, count) == 1, "one wrong bit is one wrong element",
                   offbeat_datatype_name(t), "", (int)count);
            offbeat_tile_invert(&tile);
            offbeat_tile_lay(&tile, buffer, count);
            offbeat_tile_invert(&tile);
            expect(offbeat_tile_compare(&tile, buffer, count) == count, "inverted, every element is wrong",
                   offbeat_datatype_name(t), "", (int)count);
            free(buffer);
        }
}

static void names_are_found_and_unfitting_operations_refused(void) {
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
    a_missing_or_repeated_rank_is_noticed();
    missing_ranks_are_noticed_in_every_element_of_sums_and_maps();
    affine_is_associative_but_not_commutative();
    blocks_of_different_ranks_and_places_differ();
    a_laid_buffer_compares_equal_until_one_bit_changes();
    names_are_found_and_unfitting_operations_refused();
    printf(failures == 0 ? "element_test: ok\n" : "element_test: FAILED\n");
    return failures != 0;
}
