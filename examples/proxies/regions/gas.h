/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file gas.h
 * An ideal gas in a closed box, and the regions of its elements.
 *
 * Method: finite volumes of second order in space (limited slopes of the primitive fields, Rusanov's flux),
 * Euler's step in time. Mass and energy are conserved to rounding errors.
 */
#ifndef REGIONS_GAS_H
#define REGIONS_GAS_H

#include "regions/block.h"

/** Elements of a block, in no order, as a material's elements are in an unstructured mesh. */
typedef struct region {
    size_t *element; /**< places in a field */
    size_t count;
    int repetitions; /**< how often the equation of state is evaluated in a step */
} region;

typedef struct gas {
    block block;
    double *conserved, *primitive, *slopes; /**< groups: one, one, one for each direction */
    region *region;
    int regions;
    double time;
} gas;

typedef enum problem { BLAST, TUBE } problem;

/** How elements are divided into regions, after LULESH (Karlin et al., LLNL-TR-641973, 2013): runs of
 * elements have random lengths and regions. */
typedef struct region_settings {
    int regions;
    int growth; /**< region k = 1, 2, ... is chosen with a weight of k to this power */
    int cost; /**< half of the regions are evaluated 1 + cost times, and one in twenty 10 × (1 + cost) times
               */
} region_settings;

/** Creates the regions and the initial state. The block has been created. */
void gas_create(gas *g, problem problem, const region_settings *settings);
void gas_free(gas *g);

/** The equation of state: primitive fields from conserved ones, region by region. @return the longest stable
 * time step for this process's elements */
double gas_evaluate(gas *g);

/** The limited slopes of the primitive fields. */
void gas_find_slopes(gas *g);

/** One time step of the conserved fields. */
void gas_advance(gas *g, double time_step);

/** The sum of a conserved field over this process's elements. */
double gas_sum(const gas *g, int field);

/** A checksum of this process's conserved fields. */
uint64_t gas_checksum(const gas *g);

#endif
