/* SPDX-License-Identifier: BSD-3-Clause */
#include "partitioned/matching.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* A setup that arrived before its receive was initialised. */
typedef struct early_setup {
    offbeat_partitioned_pending pending; /* the first member: pointers to both are equal */
    int64_t setup[OFFBEAT_PARTITIONED_SETUP_LENGTH];
} early_setup;

/* A process from which there were receives. It exists as long as the private communicators. */
struct offbeat_partitioned_source {
    int rank;
    offbeat_partitioned_table unmatched; /* receives without a setup, in order of initialisation */
    offbeat_partitioned_table early;     /* setups without a receive, in order of arrival */
    early_setup *arriving;               /* the memory for the next one */
    MPI_Request setup_request;           /* of its receive */
    struct offbeat_partitioned_source *next;
};

typedef struct offbeat_partitioned_source source;

/* The source of a rank, which is created when it is needed; NULL without memory. */
static source *source_of(offbeat_partitioned_comm *root, int rank) {
    source *one = root->sources;
    while (one != NULL && one->rank != rank)
        one = one->next;
    if (one != NULL)
        return one;
    one = calloc(1, sizeof *one);
    if (one == NULL)
        return NULL;
    one->rank = rank;
    one->setup_request = MPI_REQUEST_NULL;
    one->next = root->sources;
    root->sources = one;
    return one;
}

static offbeat_partitioned_request *receive_of(offbeat_partitioned_pending *pending) {
    return (offbeat_partitioned_request *)((char *)pending - offsetof(offbeat_partitioned_request, pending));
}

static void give(const int64_t *setup, offbeat_partitioned_request *receive) {
    memcpy(receive->setup, setup, sizeof receive->setup);
    atomic_store_explicit(&receive->has_setup, 1, memory_order_release);
}

/* Gives a receive the first early setup that is for it. */
static int take_early(source *from, offbeat_partitioned_request *receive) {
    early_setup *found =
        (early_setup *)offbeat_partitioned_table_take(&from->early, receive->tag, receive->comm->identity);
    if (found == NULL)
        return 0;
    give(found->setup, receive);
    free(found);
    return 1;
}

/* Receives the next setup. It is expected as soon as a receive needs one: MPI then takes it in any of its
 * calls, and the first iteration only tests whether it is here. Its source is always named: with UCX between
 * nodes, MPICH 5.0.2 never completes a receive from MPI_ANY_SOURCE of a message that was here before. */
static int expect_setup(source *from, const offbeat_partitioned_comm *root) {
    if (from->setup_request != MPI_REQUEST_NULL)
        return MPI_SUCCESS;
    if (from->arriving == NULL)
        from->arriving = malloc(sizeof *from->arriving);
    if (from->arriving == NULL)
        return MPI_ERR_NO_MEM;
    return PMPI_Irecv(from->arriving->setup, OFFBEAT_PARTITIONED_SETUP_LENGTH, MPI_INT64_T, from->rank, 0,
                      root->setup, &from->setup_request);
}

int offbeat_partitioned_matching_add(offbeat_partitioned_request *receive) {
    offbeat_partitioned_comm *root = receive->comm->root;
    pthread_mutex_lock(&root->matching_lock);
    source *from = receive->source = source_of(root, receive->peer);
    if (from != NULL && !take_early(from, receive)) {
        receive->pending.tag = receive->tag;
        receive->pending.identity = receive->comm->identity;
        offbeat_partitioned_table_add(&from->unmatched, &receive->pending);
        expect_setup(from, root); /* an error is reported by the first iteration, which tries again */
    }
    pthread_mutex_unlock(&root->matching_lock);
    return from == NULL ? MPI_ERR_NO_MEM : MPI_SUCCESS;
}

/* Gives the setup that arrived to the first receive that it is for, or keeps it. */
static void distribute(source *from) {
    early_setup *arrived = from->arriving;
    arrived->pending.tag = arrived->setup[OFFBEAT_PARTITIONED_TAG];
    arrived->pending.identity = arrived->setup[OFFBEAT_PARTITIONED_IDENTITY];
    offbeat_partitioned_pending *found =
        offbeat_partitioned_table_take(&from->unmatched, arrived->pending.tag, arrived->pending.identity);
    if (found != NULL) {
        give(arrived->setup, receive_of(found));
        return;
    }
    offbeat_partitioned_table_add(&from->early, &arrived->pending);
    from->arriving = NULL;
}

/* Takes the setups that arrived, up to the one for a receive. */
static int take_arrived(const offbeat_partitioned_comm *root, const offbeat_partitioned_request *receive) {
    while (!atomic_load_explicit(&receive->has_setup, memory_order_relaxed)) {
        int has_arrived = 0;
        int rc = expect_setup(receive->source, root);
        if (rc == MPI_SUCCESS)
            rc = PMPI_Test(&receive->source->setup_request, &has_arrived, MPI_STATUS_IGNORE);
        if (rc != MPI_SUCCESS || !has_arrived)
            return rc;
        distribute(receive->source);
    }
    return MPI_SUCCESS;
}

int offbeat_partitioned_matching_test(offbeat_partitioned_request *receive) {
    offbeat_partitioned_comm *root = receive->comm->root;
    if (atomic_load_explicit(&receive->has_setup, memory_order_acquire) ||
        pthread_mutex_trylock(&root->matching_lock) != 0)
        return MPI_SUCCESS;
    int rc = take_arrived(root, receive);
    if (rc == MPI_SUCCESS && receive->source->unmatched.count > 0)
        expect_setup(receive->source, root); /* an error concerns another receive, which tries again */
    pthread_mutex_unlock(&root->matching_lock);
    return rc;
}

void offbeat_partitioned_matching_remove(offbeat_partitioned_request *receive) {
    offbeat_partitioned_comm *root = receive->comm->root;
    if (receive->source == NULL)
        return;
    pthread_mutex_lock(&root->matching_lock);
    if (!atomic_load_explicit(&receive->has_setup, memory_order_relaxed))
        offbeat_partitioned_table_remove(&receive->source->unmatched, &receive->pending);
    pthread_mutex_unlock(&root->matching_lock);
}

static void free_early(offbeat_partitioned_pending *pending) {
    free(pending);
}

static void free_source(source *one) {
    offbeat_partitioned_cancel(&one->setup_request);
    if (one->setup_request == MPI_REQUEST_NULL) /* else MPI may still write there */
        free(one->arriving);
    offbeat_partitioned_table_end(&one->early, free_early);
    offbeat_partitioned_table_end(&one->unmatched, NULL);
    free(one);
}

void offbeat_partitioned_matching_end(offbeat_partitioned_comm *root) {
    while (root->sources != NULL) {
        source *next = root->sources->next;
        free_source(root->sources);
        root->sources = next;
    }
}
