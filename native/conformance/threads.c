/* SPDX-License-Identifier: BSD-3-Clause */
/** @file threads.c  Several threads that use one request, or one each, with MPI_THREAD_MULTIPLE. */
#include "conformance/message.h"

#include <pthread.h>

enum { TAG = 11, THREADS = 4, N = 12, ITERATIONS = 20 };

typedef struct worker {
    message *msg;
    int number, seed;
} worker;

static void in_threads(void *(*work)(void *), worker workers[THREADS]) {
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        EXPECT(pthread_create(&threads[i], NULL, work, &workers[i]) == 0, "no thread %d can be started", i);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
}

/* A thread of the sender has each THREADS-th partition. */
static void *fill_and_mark(void *argument) {
    const worker *self_worker = argument;
    for (int i = self_worker->number; i < N; i += THREADS) {
        fill_partition(self_worker->msg, i, self_worker->seed);
        MUST(MPI_Pready(i, self_worker->msg->request));
    }
    return NULL;
}

/* A thread of the receiver has each THREADS-th partition of the receiver. */
static void *await_partitions(void *argument) {
    const worker *self_worker = argument;
    for (int i = self_worker->number; i < self_worker->msg->partitions; i += THREADS) {
        for (int flag = 0; !flag;)
            MUST(MPI_Parrived(self_worker->msg->request, i, &flag));
        expect_elements(self_worker->msg, self_worker->seed, i * self_worker->msg->count,
                        (i + 1) * self_worker->msg->count);
    }
    return NULL;
}

static void iterate(int receive_parts, int receiver_threads) {
    message msg = open_message(N, receive_parts, N * 600, TAG);
    worker workers[THREADS];
    for (int seed = 0; seed < ITERATIONS; seed++) {
        for (int i = 0; i < THREADS; i++)
            workers[i] = (worker){&msg, i, seed};
        start(&msg, seed + 9000);
        if (msg.is_send)
            in_threads(fill_and_mark, workers);
        else if (receiver_threads)
            in_threads(await_partitions, workers);
        complete(&msg);
        expect_message(&msg, seed);
    }
    close_message(&msg);
}

static void threads_mark_partitions(void) {
    iterate(N, 0);
    iterate(8, 0);
}

static void threads_ask_for_partitions(void) {
    iterate(N, 1);
    iterate(8, 1);
}

static void *transfer_alone(void *argument) {
    const worker *self_worker = argument;
    for (int seed = 0; seed < ITERATIONS; seed++)
        transfer(self_worker->msg, self_worker->seed + seed);
    return NULL;
}

static void threads_have_a_request_each(void) {
    message messages[THREADS];
    worker workers[THREADS];
    for (int i = 0; i < THREADS; i++) {
        messages[i] = open_message(N, N, N * 60, TAG + i % 2); /* each tag belongs to two requests */
        workers[i] = (worker){&messages[i], i, 100 * i};
    }
    in_threads(transfer_alone, workers);
    for (int i = 0; i < THREADS; i++)
        close_message(&messages[i]);
}

const conformance_case threads_cases[] = {
    {"threads-pready", "4.2.1", "Threads mark partitions of one request at the same time.",
     threads_mark_partitions, CASE_THREADS},
    {"threads-parrived", "4.2.2", "Threads ask for partitions of one request at the same time.",
     threads_ask_for_partitions, CASE_THREADS},
    {"threads-requests", "4.2.1", "Threads have a request each.", threads_have_a_request_each, CASE_THREADS},
    {0},
};
