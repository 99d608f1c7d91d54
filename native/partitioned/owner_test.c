/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests without MPI: no update is lost when threads that own the ready bits, end an ownership, or neither,
 * update one number.
 */
#define _POSIX_C_SOURCE 200809L /* nanosleep */
#include "partitioned/owner.h"
#include "partitioned/updates.h"
#include "testing/assert.h"

#include <pthread.h>
#include <time.h>

enum { ROUNDS = 150, UPDATES = 2000, MOST_THREADS = 4 };

/* What threads share: the number that all of them increase, and its owner. */
typedef struct word_state {
    offbeat_partitioned_owner owner;
    atomic_int number;
    atomic_int waiting_count; /* threads that are not here yet */
} word_state;

typedef struct worker {
    word_state *state;
    int idle;          /* loops before the first update */
    int owned_updates; /* updates that it made as the owner */
} worker;

static void init(word_state *state, atomic_int *are_allowed) {
    offbeat_partitioned_owner_init(&state->owner, are_allowed);
    atomic_init(&state->number, 0);
}

/* As marks do: the owner of the ready bits enters, other threads begin. */
static void update(worker *self) {
    offbeat_partitioned_owner *owner = &self->state->owner;
    const int is_owner = offbeat_partitioned_owner_enter(owner) || offbeat_partitioned_owner_begin(owner);
    offbeat_partitioned_add(&self->state->number, 1, !is_owner);
    if (is_owner)
        offbeat_partitioned_owner_leave(owner);
    self->owned_updates += is_owner;
}

static void *update_often(void *argument) {
    worker *self = argument;
    atomic_fetch_sub(&self->state->waiting_count, 1);
    while (atomic_load(&self->state->waiting_count) > 0)
        ; /* all begin at the same time */
    for (volatile int i = 0; i < self->idle; i++)
        ;
    for (int i = 0; i < UPDATES; i++)
        update(self);
    return NULL;
}

/* @return the updates that threads made as the owner */
static int run(word_state *state, int threads, int round) {
    pthread_t ids[MOST_THREADS];
    worker workers[MOST_THREADS];
    int owned_updates = 0;
    atomic_init(&state->waiting_count, threads);
    for (int i = 0; i < threads; i++) {
        workers[i] = (worker){state, i * round * 10, 0};
        test_assert(pthread_create(&ids[i], NULL, update_often, &workers[i]) == 0, "No thread was created.");
    }
    for (int i = 0; i < threads; i++) {
        pthread_join(ids[i], NULL);
        owned_updates += workers[i].owned_updates;
    }
    return owned_updates;
}

/* The second thread begins earlier or later in each round: while the first one is inside an update, too. */
static void no_update_is_lost(int threads) {
    for (int round = 0; round < ROUNDS; round++) {
        word_state state;
        atomic_int are_allowed = 1;
        init(&state, &are_allowed);
        const int owned_updates = run(&state, threads, round), number = atomic_load(&state.number);
        test_assert(number == threads * UPDATES, "%d threads made %d of %d updates.", threads, number,
                    threads * UPDATES);
        test_assert(!atomic_load(&are_allowed), "The ownership did not end.");
        test_assert(owned_updates <= UPDATES, "Two threads owned the ready bits.");
    }
}

static void *update_once(void *argument) {
    update(argument);
    return NULL;
}

/* Another thread ends the ownership while the owner has read the number and has not stored it. */
static void an_update_of_the_owner_is_not_interrupted(void) {
    const struct timespec pause = {0, 20000000};
    word_state state;
    atomic_int are_allowed = 1;
    worker second_worker = {&state, 0, 0};
    pthread_t id;
    init(&state, &are_allowed);
    test_assert(offbeat_partitioned_owner_begin(&state.owner), "The first thread is not the owner.");
    const int number = atomic_load(&state.number);
    test_assert(pthread_create(&id, NULL, update_once, &second_worker) == 0, "No thread was created.");
    nanosleep(&pause, NULL);
    atomic_store(&state.number, number + 1);
    offbeat_partitioned_owner_leave(&state.owner);
    pthread_join(id, NULL);
    test_assert(atomic_load(&state.number) == 2, "%d of 2 updates were made.", atomic_load(&state.number));
}

static void one_thread_remains_the_owner(void) {
    word_state state;
    atomic_int are_allowed = 1;
    init(&state, &are_allowed);
    test_assert(run(&state, 1, 0) == UPDATES, "A thread alone did not own the ready bits.");
    test_assert(atomic_load(&are_allowed), "A thread alone ended the ownership.");
}

static void there_is_no_owner_if_none_is_allowed(void) {
    word_state state;
    atomic_int are_allowed = 0;
    init(&state, &are_allowed);
    test_assert(run(&state, 1, 0) == 0, "A thread became the owner although none is allowed.");
    test_assert(atomic_load(&state.number) == UPDATES, "An update is lost.");
}

int main(void) {
    there_is_no_owner_if_none_is_allowed();
    if (!offbeat_partitioned_owners_work())
        return 0; /* the kernel has no membarrier: no thread is ever allowed to be an owner */
    one_thread_remains_the_owner();
    an_update_of_the_owner_is_not_interrupted();
    for (int threads = 2; threads <= MOST_THREADS; threads++)
        no_update_is_lost(threads);
    return 0;
}
