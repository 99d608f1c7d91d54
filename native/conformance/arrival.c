/* SPDX-License-Identifier: BSD-3-Clause */
/** @file arrival.c  What MPI_Parrived says of each partition. */
#include "conformance/message.h"

#include <stdint.h>

enum {
    TAG = 8,
    POLLS = 60,
    PAIR_LIMIT = 7,       /**< all pairs of numbers of partitions up to this one are tried, */
    DRAWN_PAIRS = 12,     /**< and these from larger numbers, */
    MOST_PARTITIONS = 40, /**< up to this one */
    PATIENCE_S = 5        /**< after all partitions are ready; arrivals take microseconds */
};

static int has_arrived(const message *msg, int partition) {
    int flag = 0;
    MUST(MPI_Parrived(msg->request, partition, &flag));
    return flag;
}

/* The elements of the receiver's partition that lie in the sender's partitions before one of these. */
static int may_have_arrived(const message *msg, int partition, int ready, int send_parts) {
    const int total = msg->partitions * msg->count;
    return (partition + 1) * msg->count <= ready * (total / send_parts);
}

/* The sender has marked all partitions: each must arrive while the receiver only asks for arrivals. */
static void expect_arrivals(const message *msg, int seed, int send_parts) {
    for (int i = msg->partitions - 1; i >= 0 && !msg->is_send; i--) {
        const double deadline = PMPI_Wtime() + PATIENCE_S;
        while (!has_arrived(msg, i))
            EXPECT(PMPI_Wtime() < deadline,
                   "partition %d of %d has not arrived %d s after the sender marked all %d", i,
                   msg->partitions, PATIENCE_S, send_parts);
        expect_elements(msg, seed, i * msg->count, (i + 1) * msg->count);
    }
}

/* Partitions are marked in ascending order. After each, the receiver asks for its own in turn: none may have
 * arrived of which data is missing, and those that have must stay and have their data. At the end, all
 * arrive.
 */
static void mark_in_turn(int send_parts, int receive_parts, int total) {
    message msg = open_message(send_parts, receive_parts, total, TAG);
    for (int seed = 0; seed < 2; seed++) {
        int arrivals[MOST_PARTITIONS] = {0};
        start(&msg, seed);
        for (int ready = 0; ready <= send_parts; ready++) {
            if (msg.is_send && ready > 0)
                MUST(MPI_Pready(ready - 1, msg.request));
            meet();
            for (int poll = 0; poll < POLLS && !msg.is_send; poll++) {
                const int partition = poll % receive_parts, flag = has_arrived(&msg, partition);
                EXPECT(!flag || may_have_arrived(&msg, partition, ready, send_parts),
                       "partition %d of %d has arrived, and the sender has marked %d of %d", partition,
                       receive_parts, ready, send_parts);
                EXPECT(flag || !arrivals[partition], "partition %d of %d had arrived, and has not any more",
                       partition, receive_parts);
                if (flag)
                    expect_elements(&msg, seed, partition * msg.count, (partition + 1) * msg.count);
                arrivals[partition] = flag;
            }
            meet();
        }
        expect_arrivals(&msg, seed, send_parts);
        complete(&msg);
        expect_message(&msg, seed);
    }
    close_message(&msg);
}

/* 1 to MOST_PARTITIONS; always the same sequence, so that a check can be repeated. */
static int draw_partitions(uint32_t *state) {
    *state = *state * 1664525U + 1013904223U; /* Numerical Recipes, 2nd edition, chapter 7.1 */
    return 1 + (int)((*state >> 8) % MOST_PARTITIONS);
}

/* Tries pairs of numbers of partitions, with short and with long messages. */
static void each_pair(int (*is_chosen)(int send_parts, int receive_parts)) {
    uint32_t state = 1;
    for (int send_parts = 1; send_parts <= PAIR_LIMIT; send_parts++)
        for (int receive_parts = 1; receive_parts <= PAIR_LIMIT; receive_parts++)
            if (is_chosen(send_parts, receive_parts))
                mark_in_turn(send_parts, receive_parts, send_parts * receive_parts * 2);
    for (int i = 0; i < DRAWN_PAIRS; i++) {
        const int send_parts = draw_partitions(&state), receive_parts = draw_partitions(&state);
        if (is_chosen(send_parts, receive_parts))
            mark_in_turn(send_parts, receive_parts,
                         send_parts * receive_parts * (i % 2 ? 1 : 1 + 40000 / (send_parts * receive_parts)));
    }
}

static int are_equal(int send_parts, int receive_parts) {
    return send_parts == receive_parts;
}

static int are_fewer(int send_parts, int receive_parts) {
    return receive_parts < send_parts;
}

static int are_more(int send_parts, int receive_parts) {
    return receive_parts > send_parts;
}

static void equal_counts(void) {
    each_pair(are_equal);
    mark_in_turn(MOST_PARTITIONS, MOST_PARTITIONS, 40000);
}

static void fewer_at_the_receiver(void) {
    each_pair(are_fewer);
}

static void more_at_the_receiver(void) {
    each_pair(are_more);
}

/* The receiver calls MPI_Parrived only, until all partitions have arrived: that must make progress. */
static void all_arrive_without_wait(void) {
    message msg = open_message(6, 4, 4800, TAG);
    for (int seed = 0; seed < 5; seed++) {
        start(&msg, seed);
        ready_all(&msg, seed);
        expect_arrivals(&msg, seed, 6);
        complete(&msg);
        expect_message(&msg, seed);
    }
    close_message(&msg);
}

static void inactive_requests(void) {
    message msg = open_message(4, 4, 40, TAG);
    for (int seed = 0; seed < 3; seed++) {
        EXPECT(msg.is_send || has_arrived(&msg, seed), "MPI_Parrived of an inactive request is false");
        transfer(&msg, seed);
        EXPECT(msg.is_send || has_arrived(&msg, 3 - seed), "MPI_Parrived of a completed request is false");
    }
    close_message(&msg);
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
