/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file method.h
 * The table of methods: who learns from whom, how often, and which line is believed.
 */
#ifndef OFFBEAT_CLOCK_METHOD_H
#define OFFBEAT_CLOCK_METHOD_H

typedef enum offbeat_belief {
    OFFBEAT_MIDDLE,  /**< the middle of the offsets that one sync allows, and no rate */
    OFFBEAT_FITTED,  /**< least squares through the quickest of several exchanges each */
    OFFBEAT_CONFINED /**< the likeliest line of all that the remembered limits allow */
} offbeat_belief;

typedef struct offbeat_method {
    const char *name;
    offbeat_belief belief;
    int is_star;   /**< everybody learns from rank 0 in turn, instead of along a tree */
    int by_node;   /**< first one process of each node, then the others from it */
    int remembers; /**< limits of earlier syncs count */
    int exchanges; /**< of one process with its teacher in a sync, at most */
    int fit_points;
} offbeat_method;

/** The methods, the default first; ended by one without a name. */
extern const offbeat_method offbeat_methods[];

/** The method of a name; NULL when there is none. */
const offbeat_method *offbeat_method_named(const char *name);

#endif
