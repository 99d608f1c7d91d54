/* SPDX-License-Identifier: BSD-3-Clause */
/** @file arrival.c  What MPI_Parrived says of each partition. */
#include "conformance/message.h"

#include <stdint.h>

enum {
    TAG = 8,
    POLLS = 60,
    MOST_EACH = 7,        /**< all pairs of numbers of partitions up to this one are tried, */
    DRAWN_PAIRS = 12,     /**< and these from larger numbers, */
    MOST_PARTITIONS = 40, /**< up to this one */
    PATIENCE_S = 5        /**< after all partitions are ready; arrivals take microseconds */
};

static int arrived(const message *one, int partition) {
    int flag = 0;
    MUST(MPI_Parrived(one->request, partition, &flag));
    return flag;
}

/* The elements of the receiver's partition that lie in the sender's partitions before one of these. */
static int may_have_arrived(const message *one, int partition, int ready, int from) {
    const int total = one->partitions * one->count;
    return (partition + 1) * one->count <= ready * (total / from);
}

/* The sender has marked all partitions: each must arrive while the receiver only asks for arrivals. */
static void expect_arrivals(const message *one, int seed, int from) {
    for (int i = one->partitions - 1; i >= 0 && !one->is_send; i--) {
        const double deadline = PMPI_Wtime() + PATIENCE_S;
        while (!arrived(one, i))
            EXPECT(PMPI_Wtime() < deadline,
                   "partition %d of %d has not arrived %d s after the sender marked all %d", i,
                   one->partitions, PATIENCE_S, from);
        expect_elements(one, seed, i * one->count, (i + 1) * one->count);
    }
}

/* Partitions are marked in ascending order. After each, the receiver asks for its own in turn: none may have
 * arrived of which data is missing, and those that have must stay and have their data. At the end, all
 * arrive.
 */
static void one_by_one(int from, int to, int total) {
    message one = open_message(from, to, total, TAG);
    for (int seed = 0; seed < 2; seed++) {
        int seen[MOST_PARTITIONS] = {0};
        start(&one, seed);
        for (int ready = 0; ready <= from; ready++) {
            if (one.is_send && ready > 0)
                MUST(MPI_Pready(ready - 1, one.request));
            meet();
            for (int poll = 0; poll < POLLS && !one.is_send; poll++) {
                const int partition = poll % to, flag = arrived(&one, partition);
                EXPECT(!flag || may_have_arrived(&one, partition, ready, from),
                       "partition %d of %d has arrived, and the sender has marked %d of %d", partition, to,
                       ready, from);
                EXPECT(flag || !seen[partition], "partition %d of %d had arrived, and has not any more",
                       partition, to);
                if (flag)
                    expect_elements(&one, seed, partition * one.count, (partition + 1) * one.count);
                seen[partition] = flag;
            }
            meet();
        }
        expect_arrivals(&one, seed, from);
        complete(&one);
        expect_message(&one, seed);
    }
    close_message(&one);
}

/* 1 to MOST_PARTITIONS; always the same sequence, so that a check can be repeated. */
static int draw_partitions(uint32_t *state) {
    *state = *state * 1664525U + 1013904223U; /* Numerical Recipes, 2nd edition, chapter 7.1 */
    return 1 + (int)((*state >> 8) % MOST_PARTITIONS);
}

/* Tries pairs of numbers of partitions, with short and with long messages. */
static void each_pair(int (*is_chosen)(int from, int to)) {
    uint32_t state = 1;
    for (int from = 1; from <= MOST_EACH; from++)
        for (int to = 1; to <= MOST_EACH; to++)
            if (is_chosen(from, to))
                one_by_one(from, to, from * to * 2);
    for (int i = 0; i < DRAWN_PAIRS; i++) {
        const int from = draw_partitions(&state), to = draw_partitions(&state);
        if (is_chosen(from, to))
            one_by_one(from, to, from * to * (i % 2 ? 1 : 1 + 40000 / (from * to)));
    }
}

static int are_equal(int from, int to) {
    return from == to;
}

static int are_fewer(int from, int to) {
    return to < from;
}

static int are_more(int from, int to) {
    return to > from;
}

static void equal_counts(void) {
    each_pair(are_equal);
    one_by_one(MOST_PARTITIONS, MOST_PARTITIONS, 40000);
}

static void fewer_at_the_receiver(void) {
    each_pair(are_fewer);
}

static void more_at_the_receiver(void) {
    each_pair(are_more);
}

/* The receiver calls MPI_Parrived only, until all partitions have arrived: that must make progress. */
static void all_arrive_without_wait(void) {
    message one = open_message(6, 4, 4800, TAG);
    for (int seed = 0; seed < 5; seed++) {
        start(&one, seed);
        ready_all(&one, seed);
        expect_arrivals(&one, seed, 6);
        complete(&one);
        expect_message(&one, seed);
    }
    close_message(&one);
}

static void inactive_requests(void) {
    message one = open_message(4, 4, 40, TAG);
    for (int seed = 0; seed < 3; seed++) {
        EXPECT(one.is_send || arrived(&one, seed), "MPI_Parrived of an inactive request is false");
        transfer(&one, seed);
        EXPECT(one.is_send || arrived(&one, 3 - seed), "MPI_Parrived of a completed request is false");
    }
    close_message(&one);
}

static void null_requests(void) {
    int flag = 0;
    MUST(MPI_Parrived(PARTITIONED_REQUEST_NULL, 0, &flag));
    EXPECT(flag, "MPI_Parrived of the null request is false");
}

const conformance_case arrival_cases[] = {
    {"parrived", "4.2.2",
     "A partition arrives when it is ready, and not earlier, with its data, and stays so.", equal_counts, 0},
    {"parrived-fewer", "4.2.2", "The same holds for all pairs with fewer partitions at the receiver.",
     fewer_at_the_receiver, 0},
    {"parrived-more", "4.2.2", "The same holds for all pairs with more partitions at the receiver.",
     more_at_the_receiver, 0},
    {"parrived-progress", "4.2.2", "All partitions arrive while the receiver only calls MPI_Parrived.",
     all_arrive_without_wait, 0},
    {"parrived-inactive", "4.2.2", "MPI_Parrived of an inactive request is true.", inactive_requests, 0},
    {"parrived-null", "4.2.2", "MPI_Parrived of the null request is true.", null_requests, 0},
    {0},
};
