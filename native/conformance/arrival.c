/* SPDX-License-Identifier: BSD-3-Clause */
/** @file arrival.c  What MPI_Parrived says of each partition. */
#include "conformance/message.h"

enum { TAG = 8, POLLS = 60 };

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

/* Partitions are marked in ascending order. After each, the receiver asks for all of its own: none may have
 * arrived of which data is missing, and those that have must stay and have their data. */
static void one_by_one(int from, int to, int total) {
    message one = open_message(from, to, total, TAG);
    for (int seed = 0; seed < 3; seed++) {
        int seen[64] = {0};
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
        complete(&one);
        expect_message(&one, seed);
    }
    close_message(&one);
}

static void equal_counts(void) {
    one_by_one(4, 4, 40);
    one_by_one(4, 4, 40000);
}

static void fewer_at_the_receiver(void) {
    one_by_one(6, 3, 60);
    one_by_one(5, 3, 15000);
}

static void more_at_the_receiver(void) {
    one_by_one(3, 6, 60);
    one_by_one(3, 5, 15000);
}

/* The receiver calls MPI_Parrived only, until all partitions have arrived: that must make progress. */
static void all_arrive_without_wait(void) {
    message one = open_message(6, 4, 4800, TAG);
    for (int seed = 0; seed < 5; seed++) {
        start(&one, seed);
        ready_all(&one, seed);
        for (int i = one.partitions - 1; i >= 0 && !one.is_send; i--) {
            while (!arrived(&one, i)) {
            }
            expect_elements(&one, seed, i * one.count, (i + 1) * one.count);
        }
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
    {"parrived", "4.2.2", "A partition has arrived only if it is ready, with its data, and stays so.",
     equal_counts, 0},
    {"parrived-fewer", "4.2.2", "The same holds if the receiver has fewer partitions.", fewer_at_the_receiver,
     0},
    {"parrived-more", "4.2.2", "The same holds if the receiver has more partitions.", more_at_the_receiver,
     0},
    {"parrived-progress", "4.2.2", "All partitions arrive while the receiver only calls MPI_Parrived.",
     all_arrive_without_wait, 0},
    {"parrived-inactive", "4.2.2", "MPI_Parrived of an inactive request is true.", inactive_requests, 0},
    {"parrived-null", "4.2.2", "MPI_Parrived of the null request is true.", null_requests, 0},
    {0},
};
