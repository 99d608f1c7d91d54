/* SPDX-License-Identifier: BSD-3-Clause */
/** @file report.h  What a program prints at its end: tables for a person, or one JSON object on one line. */
#ifndef FRAME_REPORT_H
#define FRAME_REPORT_H

#include "frame/program.h"
#include "frame/timing.h"

#include <stdint.h>

enum { MOST_RESULTS = 8, MOST_TABLES = 2 };

/** A number that the run produced. */
typedef struct result {
    const char *name; /**< a JSON key, with its unit: "mass_error" */
    const char *meaning;
    double value;
} result;

/** Rows of two numbers. */
typedef struct table {
    const char *name, *columns[2]; /**< JSON keys */
    int rows;
    const double *values[2]; /**< a column each */
} table;

/** A run. The first three members and the verdict are set by the program, the others by report_add.... */
typedef struct report {
    const char *rate_unit; /**< of the figure of merit: "MLUP/s" */
    double work;           /**< of all iterations and processes, in that unit × s */
    uint64_t checksum;     /**< of the final fields, equal for every number of processes; 0: none */
    const char *verified;  /**< what was checked */
    const char *failure;   /**< what is wrong, a sentence; NULL if all is right */
    int results, tables;
    result result[MOST_RESULTS];
    table table[MOST_TABLES];
} report;

void report_add_result(report *r, const char *name, const char *meaning, double value);
void report_add_table(report *r, table t);

/** Gathers the times of all processes and prints the run on rank 0. Collective.
 * @return the exit status: 0, or 1 if the report has a failure */
int report_print(const report *r, const program *p, const timing *t);

/** Adds a value at a place to a checksum. The sum over all places, in any order, is the checksum of a field.
 */
static inline uint64_t checksum_add(uint64_t sum, uint64_t place, double value) {
    union {
        double value;
        uint64_t bits;
    } both = {value};
    return sum + both.bits * (2 * place + 1);
}

/** The sum of all processes' checksums, on rank 0. Collective. */
uint64_t checksum_of_all(uint64_t own);

#endif
