/* SPDX-License-Identifier: BSD-3-Clause */
/** @file counts.c  Numbers of partitions, equal and unequal, and sizes from nothing to many megabytes. */
#include "conformance/message.h"

enum { TAG = 5, ITERATIONS = 3 };

static void send_and_receive(int send_parts, int receive_parts, int total) {
    message msg = open_message(send_parts, receive_parts, total, TAG);
    for (int seed = 0; seed < ITERATIONS; seed++)
        transfer(&msg, seed);
    close_message(&msg);
}

static void equal_counts(void) {
    send_and_receive(8, 8, 800);
}

static void one_partition(void) {
    send_and_receive(1, 1, 100);
}

static void six_to_four(void) {
    send_and_receive(6, 4, 12);
    send_and_receive(6, 4, 12000);
}

static void three_to_five(void) {
    send_and_receive(3, 5, 15);
    send_and_receive(5, 3, 15000);
}

static void receive_more_parts(void) {
    send_and_receive(1, 12, 12000);
}

static void receive_fewer_parts(void) {
    send_and_receive(12, 1, 12000);
}

static void prime_counts(void) {
    send_and_receive(31, 37, 31 * 37);
    send_and_receive(101, 97, 101 * 97);
}

static void many_partitions(void) {
    send_and_receive(2000, 2000, 2000);
    send_and_receive(2000, 10, 2000);
}

static void empty_partitions(void) {
    send_and_receive(4, 4, 0);
    send_and_receive(3, 5, 0);
}

static void no_partitions(void) {
    send_and_receive(0, 0, 0);
}

static void large_message(void) {
    enum { ELEMENTS = 16 << 20 };
    message msg = open_message(16, 4, ELEMENTS, TAG);
    transfer(&msg, 1);
    transfer(&msg, 2);
    close_message(&msg);
}

const conformance_case counts_cases[] = {
    {"equal-counts", "4.2.1", "Both sides may describe the same partitions.", equal_counts, 0},
    {"one-partition", "4.2.1", "A message may have a single partition.", one_partition, 0},
    {"6-to-4", "4.2.3", "6 partitions may be received as 4.", six_to_four, 0},
    {"3-to-5", "4.2.3", "3 partitions may be received as 5, and 5 as 3.", three_to_five, 0},
    {"1-to-12", "4.2.3", "1 partition may be received as 12.", receive_more_parts, 0},
    {"12-to-1", "4.2.3", "12 partitions may be received as 1.", receive_fewer_parts, 0},
    {"prime-counts", "4.2.3", "31 partitions may be received as 37, and 101 as 97.", prime_counts, 0},
    {"many-partitions", "4.2.1", "A message may have 2000 partitions.", many_partitions, 0},
    {"empty-partitions", "4.2.1", "The count of elements may be 0.", empty_partitions, 0},
    {"no-partitions", "4.2.1", "The number of partitions may be 0, which MPI 4.0 both allows and forbids.",
     no_partitions, CASE_QUALITY},
    {"large-message", "4.2.1", "A message may have 64 MiB.", large_message, 0},
    {0},
};
