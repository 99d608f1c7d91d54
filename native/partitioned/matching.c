/* SPDX-License-Identifier: BSD-3-Clause */
#include "partitioned/matching.h"

#include "partitioned/transfer.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

typedef offbeat_partitioned_matching matching;
typedef offbeat_partitioned_expectation expectation;

/* A setup that arrived before its receive was initialised. */
typedef struct early_setup {
    offbeat_partitioned_entry entry; /* the first member: pointers to both are equal */
    int64_t setup[OFFBEAT_PARTITIONED_SETUP_LENGTH];
} early_setup;

/* A process from which there were receives. It exists as long as the private communicators. */
struct offbeat_partitioned_source {
    int rank;
    offbeat_partitioned_table expectations; /* without a setup, in order of initialisation */
    offbeat_partitioned_table early_setups; /* without a receive, in order of arrival */
    early_setup *next_setup;                /* the memory for it */
    MPI_Request setup_request;              /* of its receive */
    struct offbeat_partitioned_source *next;
};

typedef struct offbeat_partitioned_source source;

void offbeat_partitioned_matching_init(matching *setups) {
    setups->comm = MPI_COMM_NULL;
    setups->sources = NULL;
    pthread_mutex_init(&setups->lock, NULL);
}

/* The source of a rank, which is created when it is needed; NULL without memory. */
static source *find_source(matching *setups, int rank) {
    source *sender = setups->sources;
    while (sender != NULL && sender->rank != rank)
        sender = sender->next;
    if (sender != NULL)
        return sender;
    sender = calloc(1, sizeof *sender);
    if (sender == NULL)
        return NULL;
    sender->rank = rank;
    sender->setup_request = MPI_REQUEST_NULL;
    sender->next = setups->sources;
    setups->sources = sender;
    return sender;
}

static void give(const int64_t *setup, expectation *receiver) {
    memcpy(receiver->setup, setup, sizeof receiver->setup);
    atomic_store_explicit(&receiver->has_setup, 1, memory_order_release);
}

/* Gives a receive the first early setup that is for it. */
static int take_early(source *sender, expectation *receiver) {
    early_setup *early = (early_setup *)offbeat_partitioned_table_take(
        &sender->early_setups, receiver->entry.tag, receiver->entry.identity);
    if (early == NULL)
        return 0;
    give(early->setup, receiver);
    free(early);
    return 1;
}

/* Receives the next setup. It is expected as soon as a receive needs one: MPI then takes it in any of its
 * calls, and the first iteration only tests whether it is here. Its source is always named: with UCX between
 * nodes, MPICH 5.0.2 never completes a receive from MPI_ANY_SOURCE of a message that was here before. */
static int post_next(source *sender, const matching *setups) {
    if (sender->setup_request != MPI_REQUEST_NULL)
        return MPI_SUCCESS;
    if (sender->next_setup == NULL)
        sender->next_setup = malloc(sizeof *sender->next_setup);
    if (sender->next_setup == NULL)
        return MPI_ERR_NO_MEM;
    return PMPI_Irecv(sender->next_setup->setup, OFFBEAT_PARTITIONED_SETUP_LENGTH, MPI_INT64_T, sender->rank,
                      0, setups->comm, &sender->setup_request);
}

int offbeat_partitioned_matching_add(matching *setups, int rank, int64_t tag, int64_t identity,
                                     expectation *receiver) {
    pthread_mutex_lock(&setups->lock);
    source *sender = receiver->source = find_source(setups, rank);
    receiver->entry.tag = tag;
    receiver->entry.identity = identity;
    if (sender != NULL && !take_early(sender, receiver)) {
        offbeat_partitioned_table_add(&sender->expectations, &receiver->entry);
        post_next(sender, setups); /* an error is reported by the first iteration, which tries again */
    }
    pthread_mutex_unlock(&setups->lock);
    return sender == NULL ? MPI_ERR_NO_MEM : MPI_SUCCESS;
}

static expectation *expectation_of(offbeat_partitioned_entry *entry) {
    return (expectation *)((char *)entry - offsetof(expectation, entry));
}

/* Gives the setup that arrived to the first receive that it is for, or keeps it. */
static void distribute(source *sender) {
    early_setup *setup = sender->next_setup;
    setup->entry.tag = setup->setup[OFFBEAT_PARTITIONED_TAG];
    setup->entry.identity = setup->setup[OFFBEAT_PARTITIONED_IDENTITY];
    offbeat_partitioned_entry *receiver =
        offbeat_partitioned_table_take(&sender->expectations, setup->entry.tag, setup->entry.identity);
    if (receiver != NULL) {
        give(setup->setup, expectation_of(receiver));
        return;
    }
    offbeat_partitioned_table_add(&sender->early_setups, &setup->entry);
    sender->next_setup = NULL;
}

/* Takes the setups that arrived, up to the one for a receive. */
static int take_setups(const matching *setups, const expectation *receiver) {
    while (!atomic_load_explicit(&receiver->has_setup, memory_order_relaxed)) {
        int is_here = 0;
        int rc = post_next(receiver->source, setups);
        if (rc == MPI_SUCCESS)
            rc = PMPI_Test(&receiver->source->setup_request, &is_here, MPI_STATUS_IGNORE);
        if (rc != MPI_SUCCESS || !is_here)
            return rc;
        distribute(receiver->source);
    }
    return MPI_SUCCESS;
}

int offbeat_partitioned_matching_test(matching *setups, expectation *receiver) {
    if (atomic_load_explicit(&receiver->has_setup, memory_order_acquire) ||
        pthread_mutex_trylock(&setups->lock) != 0)
        return MPI_SUCCESS;
    int rc = take_setups(setups, receiver);
    if (rc == MPI_SUCCESS && receiver->source->expectations.count > 0)
        post_next(receiver->source, setups); /* an error concerns another receive, which tries again */
    pthread_mutex_unlock(&setups->lock);
    return rc;
}

void offbeat_partitioned_matching_remove(matching *setups, expectation *receiver) {
    if (receiver->source == NULL)
        return;
    pthread_mutex_lock(&setups->lock);
    if (!atomic_load_explicit(&receiver->has_setup, memory_order_relaxed))
        offbeat_partitioned_table_remove(&receiver->source->expectations, &receiver->entry);
    pthread_mutex_unlock(&setups->lock);
}

static void free_early(offbeat_partitioned_entry *entry) {
    free(entry);
}

static void free_source(source *sender) {
    offbeat_partitioned_cancel(&sender->setup_request);
    if (sender->setup_request == MPI_REQUEST_NULL) /* else MPI may still write there */
        free(sender->next_setup);
    offbeat_partitioned_table_end(&sender->early_setups, free_early);
    offbeat_partitioned_table_end(&sender->expectations, NULL);
    free(sender);
}

void offbeat_partitioned_matching_end(matching *setups) {
    while (setups->sources != NULL) {
        source *next = setups->sources->next;
        free_source(setups->sources);
        setups->sources = next;
    }
    pthread_mutex_destroy(&setups->lock);
}
