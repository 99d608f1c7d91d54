/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file order.h
 * Who learns the shared clock from whom, and when: a process's meetings, one after another.
 *
 * An order has up to two stages. In each, the first member teaches the others: along the binomial tree of
 * HCA3 (any number of processes, ceil(log2 n) rounds), or each in turn. Both sides of a meeting find each
 * other when every process goes through its own list.
 */
#ifndef OFFBEAT_CLOCK_ORDER_H
#define OFFBEAT_CLOCK_ORDER_H

typedef struct offbeat_meeting {
    int peer;    /**< rank */
    int teaches; /**< whether this process is the one that knows */
} offbeat_meeting;

/** What one process does in one stage. */
typedef struct offbeat_stage {
    int is_star;        /**< the first member meets each other one in turn */
    int index, count;   /**< this process among the members; count 0: it is none of them */
    const int *members; /**< their ranks; NULL: member i is rank i. Borrowed. */
} offbeat_stage;

typedef struct offbeat_order {
    offbeat_stage stages[2]; /**< zeroed stages have no meetings */
} offbeat_order;

/**
 * The meetings of this process in turn.
 * @param number 0, 1, ...
 * @return 1, or 0 when there are no more
 */
int offbeat_order_meeting(const offbeat_order *order, int number, offbeat_meeting *meeting);

#endif
