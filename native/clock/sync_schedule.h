/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file sync_schedule.h
 * The methods of clock synchronisation, and the schedule of a synchronisation: which process synchronises
 * with which, in which order. Nothing here communicates.
 *
 * A schedule has up to two stages. In each stage the other members synchronise with the first member, either
 * along the binomial tree of HCA3 (any number of processes, ceil(log2 n) rounds) or one after another
 * (star). When every process performs its own steps in order, both sides of each step meet.
 */
#ifndef OFFBEAT_CLOCK_SYNC_SCHEDULE_H
#define OFFBEAT_CLOCK_SYNC_SCHEDULE_H

/* --- the binomial tree, with rank 0 as its root --- */

/*
 * The parent of a rank is the rank with its lowest set bit cleared; the children of a rank are at distances
 * that are powers of two below that bit. Depth and number of children are at most ceil(log2 p).
 */

/**
 * The distance between a rank and its parent; for rank 0 the smallest power of two that is at least @p size.
 * The children of the rank are rank + m for m = span/2, span/4, ... 1, as far as they are below @p size.
 */
static inline int offbeat_clock_tree_span(int rank, int size) {
    int span = 1;
    while (rank != 0 ? (rank & span) == 0 : span < size)
        span <<= 1;
    return span;
}

/** The parent of a rank other than 0. */
static inline int offbeat_clock_tree_parent(int rank) {
    return rank & (rank - 1);
}

/* --- methods --- */

/** How a client estimates its line. */
typedef enum offbeat_clock_estimator {
    OFFBEAT_INTERVAL_MIDDLE, /**< middle of the interval that one synchronisation allows; slope 0 */
    OFFBEAT_LEAST_SQUARES,   /**< line through fit points of one synchronisation */
    OFFBEAT_CONSTRAINED_LINE /**< most likely line that all constraints in the history allow */
} offbeat_clock_estimator;

typedef struct offbeat_sync_method {
    const char *name;
    offbeat_clock_estimator estimator;
    int is_star;     /**< every process synchronises with rank 0 in turn, instead of along a tree */
    int by_node;     /**< first one process per node, then the others with that process */
    int has_history; /**< constraints of earlier synchronisations are used */
    int exchanges;   /**< at most, between a client and its reference process */
    int fit_points;  /**< 0 unless OFFBEAT_LEAST_SQUARES */
} offbeat_sync_method;

/** The methods, the default first; the last entry has no name. */
extern const offbeat_sync_method offbeat_clock_methods[];

/** The method with a name; NULL when there is none. */
const offbeat_sync_method *offbeat_clock_method_named(const char *name);

/* --- the schedule --- */

typedef struct offbeat_clock_sync_step {
    int peer;         /**< rank */
    int is_reference; /**< this process is the reference process, else the client */
} offbeat_clock_sync_step;

/** The part of one process in one stage. */
typedef struct offbeat_clock_sync_stage {
    int is_star;
    int index, count;   /**< this process's index among the members; count 0: it is not a member */
    const int *members; /**< ranks of the members; NULL: member i is rank i. Not owned. */
} offbeat_clock_sync_stage;

typedef struct offbeat_clock_sync_schedule {
    offbeat_clock_sync_stage stages[2]; /**< a zeroed stage has no steps */
} offbeat_clock_sync_schedule;

/**
 * A step of this process.
 * @param number 0, 1, ...
 * @return 1, or 0 when there is no such step
 */
int offbeat_clock_sync_schedule_step(const offbeat_clock_sync_schedule *schedule, int number,
                                     offbeat_clock_sync_step *step);

#endif
