/* SPDX-License-Identifier: BSD-3-Clause */
/** @file iterations.c  Requests that are started many times, with other data and other messages between. */
#include "conformance/message.h"

enum { TAG = 6, N = 5 };

static void many_iterations(void) {
    message msg = open_message(N, N, 500, TAG);
    for (int seed = 0; seed < 100; seed++)
        transfer(&msg, seed);
    close_message(&msg);
}

static void many_requests_one_after_another(void) {
    for (int seed = 0; seed < 50; seed++) {
        message msg = open_message(N, N, 500, TAG);
        transfer(&msg, seed);
        close_message(&msg);
    }
}

/* The sender overwrites its buffer when the send is complete, and the receiver starts late. */
static void sender_runs_ahead(void) {
    for (int elements = 50; elements <= 50000; elements *= 1000) {
        message msg = open_message(N, N, elements, TAG);
        for (int seed = 0; seed < 20; seed++) {
            double pause_until = MPI_Wtime() + (msg.is_send ? 0 : 1e-3);
            while (MPI_Wtime() < pause_until) {
            }
            transfer(&msg, seed);
            if (msg.is_send)
                fill(&msg, seed + 5000);
        }
        close_message(&msg);
    }
}

/* Messages of the program in both directions, so that MPI makes progress. */
static void exchange(int value) {
    int own_value = value, peer_value = -1;
    MUST(MPI_Sendrecv(&own_value, 1, MPI_INT, world.peer, TAG + 1, &peer_value, 1, MPI_INT, world.peer,
                      TAG + 1, world.comm, MPI_STATUS_IGNORE));
    EXPECT(peer_value == own_value, "the program's message has the value %d instead of %d", peer_value,
           own_value);
}

/* A partition has wrong data until just before it is ready; between, MPI makes progress. */
static void fill_late(int send_parts, int receive_parts, int total) {
    message msg = open_message(send_parts, receive_parts, total, TAG);
    for (int seed = 0; seed < 8; seed++) {
        start(&msg, seed + 7000);
        for (int i = 0; i < send_parts; i++) {
            for (int k = 0; k < 4; k++)
                exchange(i);
            if (msg.is_send) {
                fill_partition(&msg, i, seed);
                MUST(MPI_Pready(i, msg.request));
            }
        }
        complete(&msg);
        if (msg.is_send)
            fill(&msg, seed + 8000);
        expect_message(&msg, seed);
    }
    close_message(&msg);
}

static void progress_before_ready(void) {
    fill_late(4, 4, 40);
    fill_late(4, 4, 400000);
}

static void progress_before_ready_of_unequal_counts(void) {
    fill_late(6, 4, 48);
    fill_late(3, 5, 150000);
}

/* Two messages whose partitions are marked in turn. */
static void interleaved_messages(void) {
    message msg = open_message(N, N, 500, TAG), other_msg = open_message(N, 1, 5000, TAG);
    for (int seed = 0; seed < 10; seed++) {
        start(&msg, seed);
        start(&other_msg, seed + 100);
        for (int i = 0; i < N && msg.is_send; i++) {
            MUST(MPI_Pready(i, msg.request));
            MUST(MPI_Pready(N - 1 - i, other_msg.request));
        }
        complete(&other_msg);
        complete(&msg);
        expect_message(&msg, seed);
        expect_message(&other_msg, seed + 100);
    }
    close_message(&msg);
    close_message(&other_msg);
}

/* Implementations ignore keys that they do not know. */
static void info_with_an_unknown_key(void) {
    int data[N] = {0};
    partitioned_request request;
    MPI_Status status;
    MPI_Info info;
    MUST(MPI_Info_create(&info));
    MUST(MPI_Info_set(info, "conformance_unknown_key", "1"));
    if (world.rank == 0)
        MUST(MPI_Psend_init(data, N, 1, MPI_INT, 1, TAG, world.comm, info, &request));
    else
        MUST(MPI_Precv_init(data, N, 1, MPI_INT, 0, TAG, world.comm, info, &request));
    MUST(MPI_Info_free(&info));
    for (int seed = 1; seed < 4; seed++) {
        for (int i = 0; i < N && world.rank == 0; i++)
            data[i] = element_of(seed, i);
        MUST(MPI_Start(&request));
        for (int i = 0; i < N && world.rank == 0; i++)
            MUST(MPI_Pready(i, request));
        MUST(MPI_Wait(&request, &status));
        for (int i = 0; i < N; i++)
            EXPECT(data[i] == element_of(seed, i), "element %d is wrong", i);
    }
    MUST(MPI_Request_free(&request));
}

const conformance_case iterations_cases[] = {
    {"restart", "4.2.1", "A request may be started 100 times with changing data.", many_iterations, 0},
    {"reopen", "4.2.1", "50 requests may be used and freed one after another.",
     many_requests_one_after_another, 0},
    {"run-ahead", "4.2.2", "A complete send lets the sender change its buffer.", sender_runs_ahead, 0},
    {"fill-late", "4.2.1", "No data of a partition is sent before it is marked ready.", progress_before_ready,
     0},
    {"fill-late-unequal", "4.2.1", "The same holds with 6 partitions received as 4, and 3 as 5.",
     progress_before_ready_of_unequal_counts, 0},
    {"interleaved", "4.2.1", "Partitions of two messages may be marked in turn.", interleaved_messages, 0},
    {"info", "4.2.1", "An info object may have unknown keys, and may be freed after the initialisation.",
     info_with_an_unknown_key, 0},
    {0},
};
