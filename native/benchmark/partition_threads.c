/* SPDX-License-Identifier: BSD-3-Clause */
#define _POSIX_C_SOURCE 200809L
#include "benchmark/partition_threads.h"

#include "control/p2p_collectives.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

/** A thread of the team, and its range of partitions. */
typedef struct member {
    offbeat_partition_threads *team;
    int first, count;
    int *order; /* its partitions by their planned times */
    int status; /* the first MPI error */
    pthread_t thread;
} member;

struct offbeat_partition_threads {
    offbeat_transfer *transfer;
    const offbeat_message *message;
    const offbeat_clock *clock;
    member *members;
    pthread_barrier_t begin, filled;
    int64_t repetition; /* to fill; written before the barrier "begin" */
    int should_end;
    offbeat_readiness *readiness; /* written before "released" */
    atomic_int released, done;
};

static int64_t now_ns(const offbeat_partition_threads *team) {
    return offbeat_clock_local_ns(team->clock);
}

static void fill(const member *own) {
    const offbeat_message *message = own->team->message;
    int64_t first = (int64_t)own->first * message->partition_bytes;
    int64_t bytes = (int64_t)own->count * message->partition_bytes;
    for (int64_t i = first; i < first + bytes; i++)
        message->data[i] = offbeat_partition_byte(own->team->repetition, i);
}

/* Insertion sort: the order hardly changes from one repetition to the next. */
static void sort_by_planned_time(const member *own) {
    const offbeat_readiness *readiness = own->team->readiness;
    for (int i = 1; i < own->count; i++) {
        int partition = own->order[i], position = i;
        for (;
             position > 0 && readiness[own->order[position - 1]].planned_ns > readiness[partition].planned_ns;
             position--)
            own->order[position] = own->order[position - 1];
        own->order[position] = partition;
    }
}

static void mark_partitions(member *own) {
    offbeat_partition_threads *team = own->team;
    sort_by_planned_time(own);
    int64_t now = now_ns(team);
    for (int i = 0; i < own->count && own->status == MPI_SUCCESS; i++) {
        offbeat_readiness *one = &team->readiness[own->order[i]];
        one->possible_ns = one->planned_ns > now ? one->planned_ns : now;
        while ((now = now_ns(team)) < one->planned_ns)
            sched_yield();
        one->ready_ns = now;
        own->status = offbeat_transfer_ready(team->transfer, own->order[i]);
        now = now_ns(team);
    }
}

static void *serve(void *argument) {
    member *own = argument;
    offbeat_partition_threads *team = own->team;
    for (;;) {
        pthread_barrier_wait(&team->begin);
        if (team->should_end)
            return NULL;
        fill(own);
        pthread_barrier_wait(&team->filled);
        while (!atomic_load_explicit(&team->released, memory_order_acquire))
            sched_yield();
        mark_partitions(own);
        atomic_fetch_add_explicit(&team->done, 1, memory_order_release);
    }
}

static void assign_partitions(offbeat_partition_threads *team) {
    const offbeat_message *message = team->message;
    for (int partition = 0; partition < message->partitions; partition++) {
        member *owner = &team->members[offbeat_thread_of_partition(message, partition)];
        if (owner->count++ == 0)
            owner->first = partition;
    }
    for (int i = 0; i < message->threads; i++) {
        member *own = &team->members[i];
        own->order = calloc((size_t)own->count + 1, sizeof *own->order);
        if (!own->order)
            offbeat_fatal("no memory for the order of partitions");
        for (int k = 0; k < own->count; k++)
            own->order[k] = own->first + k;
    }
}

offbeat_partition_threads *offbeat_partition_threads_create(offbeat_transfer *transfer,
                                                            const offbeat_message *message,
                                                            const offbeat_clock *clock) {
    offbeat_partition_threads *team = calloc(1, sizeof *team);
    member *members = calloc((size_t)message->threads, sizeof *members);
    if (!team || !members)
        offbeat_fatal("no memory for the sender's threads");
    team->transfer = transfer;
    team->message = message;
    team->clock = clock;
    team->members = members;
    assign_partitions(team);
    pthread_barrier_init(&team->begin, NULL, (unsigned)message->threads);
    pthread_barrier_init(&team->filled, NULL, (unsigned)message->threads);
    for (int i = 0; i < message->threads; i++) {
        members[i].team = team;
        if (i > 0 && pthread_create(&members[i].thread, NULL, serve, &members[i]) != 0)
            offbeat_fatal("the sender's threads could not be started");
    }
    return team;
}

void offbeat_partition_threads_fill(offbeat_partition_threads *team, int64_t repetition) {
    team->repetition = repetition;
    atomic_store_explicit(&team->released, 0, memory_order_relaxed);
    atomic_store_explicit(&team->done, 0, memory_order_relaxed);
    pthread_barrier_wait(&team->begin);
    fill(&team->members[0]);
    pthread_barrier_wait(&team->filled);
}

int offbeat_partition_threads_run(offbeat_partition_threads *team, offbeat_readiness *readiness) {
    team->readiness = readiness;
    atomic_store_explicit(&team->released, 1, memory_order_release);
    mark_partitions(&team->members[0]);
    while (atomic_load_explicit(&team->done, memory_order_acquire) < team->message->threads - 1)
        sched_yield();
    for (int i = 0; i < team->message->threads; i++)
        if (team->members[i].status != MPI_SUCCESS)
            return team->members[i].status;
    return MPI_SUCCESS;
}

void offbeat_partition_threads_free(offbeat_partition_threads *team) {
    team->should_end = 1;
    pthread_barrier_wait(&team->begin);
    for (int i = 1; i < team->message->threads; i++)
        pthread_join(team->members[i].thread, NULL);
    for (int i = 0; i < team->message->threads; i++)
        free(team->members[i].order);
    pthread_barrier_destroy(&team->begin);
    pthread_barrier_destroy(&team->filled);
    free(team->members);
    free(team);
}
