/* SPDX-License-Identifier: BSD-3-Clause */
#define _POSIX_C_SOURCE 200809L
#include "benchmark/partition_threads.h"

#include "benchmark/partition_data.h"
#include "control/p2p_collectives.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

/** A thread of the team, and its range of partitions. */
typedef struct member {
    offbeat_partition_threads *team;
    int first, count;
    int *order; /* its partitions by their delays */
    pthread_t thread;
} member;

struct offbeat_partition_threads {
    offbeat_transfer *transfer;
    const offbeat_message *message;
    const offbeat_clock *clock;
    const int64_t *delays_ns;
    int64_t longest_ns; /* of the delays */
    member *members;
    pthread_barrier_t begin_barrier, fill_barrier;
    int64_t repetition; /* to fill; written before the barrier "begin" */
    int should_end;
    /* Written before "released": */
    int64_t deadline_ns, end_ns; /* the deadline, and the planned time of the longest delay; local clock */
    int64_t released_ns;
    int64_t *lateness_ns;
    atomic_int is_released, done_count;
};

static int64_t now_ns(const offbeat_partition_threads *team) {
    return offbeat_clock_local_ns(team->clock);
}

static void fill(const member *self) {
    const offbeat_message *message = self->team->message;
    int64_t first = (int64_t)self->first * message->partition_bytes;
    int64_t bytes = (int64_t)self->count * message->partition_bytes;
    offbeat_partition_data_fill(message->data, self->team->repetition, first, bytes);
}

/* The planned time of a delay on the local clock, which is linear between the deadline and the longest delay.
 */
static int64_t planned_ns(const offbeat_partition_threads *team, int64_t delay_ns) {
    if (delay_ns == 0)
        return team->deadline_ns;
    double share = (double)delay_ns / (double)team->longest_ns;
    return team->deadline_ns + (int64_t)(share * (double)(team->end_ns - team->deadline_ns));
}

/* What MPI has done before is not lateness: before the first partition the start of the transfer, before the
 * others the sends of the earlier partitions. */
static void mark_partitions(const member *self) {
    offbeat_partition_threads *team = self->team;
    int64_t possible_ns = team->released_ns;
    for (int i = 0; i < self->count; i++) {
        int partition = self->order[i];
        int64_t now, planned_time_ns = planned_ns(team, team->delays_ns[partition]);
        if (possible_ns < planned_time_ns)
            possible_ns = planned_time_ns;
        while ((now = now_ns(team)) < planned_time_ns)
            sched_yield();
        team->lateness_ns[partition] = now - possible_ns;
        int status = offbeat_transfer_ready(team->transfer, partition);
        if (status != MPI_SUCCESS)
            offbeat_fatal("an MPI error when a partition was marked as ready");
        possible_ns = now_ns(team);
    }
}

static void *serve(void *argument) {
    member *self = argument;
    offbeat_partition_threads *team = self->team;
    for (;;) {
        pthread_barrier_wait(&team->begin_barrier);
        if (team->should_end)
            return NULL;
        fill(self);
        pthread_barrier_wait(&team->fill_barrier);
        while (!atomic_load_explicit(&team->is_released, memory_order_acquire))
            sched_yield();
        mark_partitions(self);
        atomic_fetch_add_explicit(&team->done_count, 1, memory_order_release);
    }
}

/* The delays that compare_delays looks up: qsort passes it nothing else. Only one team is created at a time.
 */
static const int64_t *compared_delays_ns;

static int compare_delays(const void *first, const void *second) {
    int left = *(const int *)first, right = *(const int *)second;
    int64_t left_ns = compared_delays_ns[left], right_ns = compared_delays_ns[right];
    if (left_ns != right_ns)
        return left_ns < right_ns ? -1 : 1;
    return left < right ? -1 : left > right;
}

static void assign_partitions(offbeat_partition_threads *team) {
    const offbeat_message *message = team->message;
    for (int partition = 0; partition < message->partitions; partition++) {
        member *owner = &team->members[offbeat_thread_of_partition(message, partition)];
        if (owner->count++ == 0)
            owner->first = partition;
        if (team->longest_ns < team->delays_ns[partition])
            team->longest_ns = team->delays_ns[partition];
    }
    compared_delays_ns = team->delays_ns;
    for (int i = 0; i < message->threads; i++) {
        member *self = &team->members[i];
        self->order = calloc((size_t)self->count + 1, sizeof *self->order);
        if (!self->order)
            offbeat_fatal("no memory for the order of partitions");
        for (int k = 0; k < self->count; k++)
            self->order[k] = self->first + k;
        qsort(self->order, (size_t)self->count, sizeof *self->order, compare_delays);
    }
}

offbeat_partition_threads *offbeat_partition_threads_create(offbeat_transfer *transfer,
                                                            const offbeat_message *message,
                                                            const offbeat_clock *clock,
                                                            const int64_t *delays_ns) {
    offbeat_partition_threads *team = calloc(1, sizeof *team);
    member *members = calloc((size_t)message->threads, sizeof *members);
    if (!team || !members)
        offbeat_fatal("no memory for the sender's threads");
    team->transfer = transfer;
    team->message = message;
    team->clock = clock;
    team->delays_ns = delays_ns;
    team->members = members;
    assign_partitions(team);
    pthread_barrier_init(&team->begin_barrier, NULL, (unsigned)message->threads);
    pthread_barrier_init(&team->fill_barrier, NULL, (unsigned)message->threads);
    for (int i = 0; i < message->threads; i++) {
        members[i].team = team;
        if (i > 0 && pthread_create(&members[i].thread, NULL, serve, &members[i]) != 0)
            offbeat_fatal("the sender's threads could not be started");
    }
    return team;
}

void offbeat_partition_threads_fill(offbeat_partition_threads *team, int64_t repetition) {
    team->repetition = repetition;
    atomic_store_explicit(&team->is_released, 0, memory_order_relaxed);
    atomic_store_explicit(&team->done_count, 0, memory_order_relaxed);
    pthread_barrier_wait(&team->begin_barrier);
    fill(&team->members[0]);
    pthread_barrier_wait(&team->fill_barrier);
}

void offbeat_partition_threads_run(offbeat_partition_threads *team, int64_t deadline_ns,
                                   int64_t *lateness_ns) {
    team->deadline_ns = offbeat_clock_to_local_ns(team->clock, deadline_ns);
    team->end_ns = offbeat_clock_to_local_ns(team->clock, deadline_ns + team->longest_ns);
    team->lateness_ns = lateness_ns;
    team->released_ns = now_ns(team);
    atomic_store_explicit(&team->is_released, 1, memory_order_release);
    mark_partitions(&team->members[0]);
    while (atomic_load_explicit(&team->done_count, memory_order_acquire) < team->message->threads - 1)
        sched_yield();
}

void offbeat_partition_threads_free(offbeat_partition_threads *team) {
    team->should_end = 1;
    pthread_barrier_wait(&team->begin_barrier);
    for (int i = 1; i < team->message->threads; i++)
        pthread_join(team->members[i].thread, NULL);
    for (int i = 0; i < team->message->threads; i++)
        free(team->members[i].order);
    pthread_barrier_destroy(&team->begin_barrier);
    pthread_barrier_destroy(&team->fill_barrier);
    free(team->members);
    free(team);
}
