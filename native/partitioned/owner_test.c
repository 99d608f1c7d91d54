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
typedef struct shared {
    offbeat_partitioned_owner owner;
    atomic_int number;
    atomic_int waiting; /* threads that are not here yet */
} shared;

typedef struct worker {
    shared *of;
    int idle;  /* loops before the first update */
    int owned; /* updates that it made as the owner */
} worker;

static void init(shared *of, atomic_int *are_allowed) {
    offbeat_partitioned_owner_init(&of->owner, are_allowed);
    atomic_init(&of->number, 0);
}

/* As marks do: the owner of the ready bits enters, other threads begin. */
static void update(worker *own) {
    offbeat_partitioned_owner *owner = &own->of->owner;
    const int is_owner = offbeat_partitioned_owner_enter(owner) || offbeat_partitioned_owner_begin(owner);
    offbeat_partitioned_add(&own->of->number, 1, !is_owner);
    if (is_owner)
        offbeat_partitioned_owner_leave(owner);
    own->owned += is_owner;
}

static void *update_often(void *argument) {
    worker *own = argument;
    atomic_fetch_sub(&own->of->waiting, 1);
    while (atomic_load(&own->of->waiting) > 0)
        ; /* all begin at the same time */
    for (volatile int i = 0; i < own->idle; i++)
        ;
    for (int i = 0; i < UPDATES; i++)
        update(own);
    return NULL;
}

/* @return the updates that threads made as the owner */
static int run(shared *of, int threads, int round) {
    pthread_t ids[MOST_THREADS];
    worker workers[MOST_THREADS];
    int owned = 0;
    atomic_init(&of->waiting, threads);
    for (int i = 0; i < threads; i++) {
        workers[i] = (worker){of, i * round * 10, 0};
        test_assert(pthread_create(&ids[i], NULL, update_often, &workers[i]) == 0, "No thread was created.");
    }
    for (int i = 0; i < threads; i++) {
        pthread_join(ids[i], NULL);
        owned += workers[i].owned;
    }
    return owned;
}

/* The second thread begins earlier or later in each round: while the first one is inside an update, too. */
static void no_update_is_lost(int threads) {
    for (int round = 0; round < ROUNDS; round++) {
        shared of;
        atomic_int are_allowed = 1;
        init(&of, &are_allowed);
        const int owned = run(&of, threads, round), number = atomic_load(&of.number);
        test_assert(number == threads * UPDATES, "%d threads made %d of %d updates.", threads, number,
                    threads * UPDATES);
        test_assert(!atomic_load(&are_allowed), "The ownership did not end.");
        test_assert(owned <= UPDATES, "Two threads owned the ready bits.");
    }
}

static void *update_once(void *argument) {
    update(argument);
    return NULL;
}

/* Another thread ends the ownership while the owner has read the number and has not stored it. */
static void an_update_of_the_owner_is_not_interrupted(void) {
    const struct timespec pause = {0, 20000000};
    shared of;
    atomic_int are_allowed = 1;
    worker other = {&of, 0, 0};
    pthread_t id;
    init(&of, &are_allowed);
    test_assert(offbeat_partitioned_owner_begin(&of.owner), "The first thread is not the owner.");
    const int number = atomic_load(&of.number);
    test_assert(pthread_create(&id, NULL, update_once, &other) == 0, "No thread was created.");
    nanosleep(&pause, NULL);
    atomic_store(&of.number, number + 1);
    offbeat_partitioned_owner_leave(&of.owner);
    pthread_join(id, NULL);
    test_assert(atomic_load(&of.number) == 2, "%d of 2 updates were made.", atomic_load(&of.number));
}

static void one_thread_remains_the_owner(void) {
    shared of;
    atomic_int are_allowed = 1;
    init(&of, &are_allowed);
    test_assert(run(&of, 1, 0) == UPDATES, "A thread alone did not own the ready bits.");
    test_assert(atomic_load(&are_allowed), "A thread alone ended the ownership.");
}

static void there_is_no_owner_if_none_is_allowed(void) {
    shared of;
    atomic_int are_allowed = 0;
    init(&of, &are_allowed);
    test_assert(run(&of, 1, 0) == 0, "A thread became the owner although none is allowed.");
    test_assert(atomic_load(&of.number) == UPDATES, "An update is lost.");
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
