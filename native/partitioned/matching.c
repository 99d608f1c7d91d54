/* SPDX-License-Identifier: BSD-3-Clause */
#include "partitioned/matching.h"

#include <stdlib.h>
#include <string.h>

/* A setup that arrived before its receive was initialised. */
struct offbeat_partitioned_early_setup {
    int source;
    int64_t setup[OFFBEAT_PARTITIONED_SETUP_LENGTH];
    struct offbeat_partitioned_early_setup *next;
};

typedef struct offbeat_partitioned_early_setup early_setup;

static int is_for(const int64_t *setup, int source, const offbeat_partitioned_request *receive) {
    return source == receive->peer && setup[OFFBEAT_PARTITIONED_TAG] == receive->tag &&
           setup[OFFBEAT_PARTITIONED_IDENTITY] == receive->comm->identity;
}

static void give(const int64_t *setup, offbeat_partitioned_request *receive) {
    memcpy(receive->setup, setup, sizeof receive->setup);
    atomic_store_explicit(&receive->has_setup, 1, memory_order_release);
}

/* Gives a receive the first early setup that is for it. */
static int take_early(offbeat_partitioned_comm *root, offbeat_partitioned_request *receive) {
    early_setup **place = &root->early;
    while (*place != NULL && !is_for((*place)->setup, (*place)->source, receive))
        place = &(*place)->next;
    early_setup *found = *place;
    if (found == NULL)
        return 0;
    *place = found->next;
    give(found->setup, receive);
    free(found);
    return 1;
}

/* Receives the next setup. It is expected as soon as a receive needs one: MPI then takes it in any of its
 * calls, and the first iteration only tests whether it is here. */
static int expect_setup(offbeat_partitioned_comm *root) {
    if (root->setup_request != MPI_REQUEST_NULL)
        return MPI_SUCCESS;
    if (root->arriving == NULL)
        root->arriving = malloc(sizeof *root->arriving);
    if (root->arriving == NULL)
        return MPI_ERR_NO_MEM;
    return PMPI_Irecv(root->arriving->setup, OFFBEAT_PARTITIONED_SETUP_LENGTH, MPI_INT64_T, MPI_ANY_SOURCE, 0,
                      root->setup, &root->setup_request);
}

void offbeat_partitioned_matching_add(offbeat_partitioned_request *receive) {
    offbeat_partitioned_comm *root = receive->comm->root;
    pthread_mutex_lock(&root->matching_lock);
    offbeat_partitioned_request **place = &root->unmatched;
    if (!take_early(root, receive)) {
        while (*place != NULL)
            place = &(*place)->next_unmatched;
        *place = receive;
        expect_setup(root); /* an error is reported by the first iteration, which tries again */
    }
    pthread_mutex_unlock(&root->matching_lock);
}

/* Gives the setup that arrived to the first receive that it is for, or keeps it. */
static void distribute(offbeat_partitioned_comm *root, int source) {
    early_setup *arrived = root->arriving, **end = &root->early;
    offbeat_partitioned_request **place = &root->unmatched;
    while (*place != NULL && !is_for(arrived->setup, source, *place))
        place = &(*place)->next_unmatched;
    offbeat_partitioned_request *found = *place;
    if (found != NULL) {
        *place = found->next_unmatched;
        give(arrived->setup, found);
        return;
    }
    arrived->source = source;
    arrived->next = NULL;
    while (*end != NULL)
        end = &(*end)->next;
    *end = arrived;
    root->arriving = NULL;
}

/* Takes the setups that arrived, up to the one for a receive. */
static int take_arrived(offbeat_partitioned_comm *root, const offbeat_partitioned_request *receive) {
    while (!atomic_load_explicit(&receive->has_setup, memory_order_relaxed)) {
        int has_arrived = 0;
        MPI_Status status;
        int rc = expect_setup(root);
        if (rc == MPI_SUCCESS)
            rc = PMPI_Test(&root->setup_request, &has_arrived, &status);
        if (rc != MPI_SUCCESS || !has_arrived)
            return rc;
        distribute(root, status.MPI_SOURCE);
    }
    return MPI_SUCCESS;
}

int offbeat_partitioned_matching_test(offbeat_partitioned_request *receive) {
    offbeat_partitioned_comm *root = receive->comm->root;
    if (atomic_load_explicit(&receive->has_setup, memory_order_acquire) ||
        pthread_mutex_trylock(&root->matching_lock) != 0)
        return MPI_SUCCESS;
    int rc = take_arrived(root, receive);
    if (rc == MPI_SUCCESS && root->unmatched != NULL)
        rc = expect_setup(root);
    pthread_mutex_unlock(&root->matching_lock);
    return rc;
}

void offbeat_partitioned_matching_remove(offbeat_partitioned_request *receive) {
    offbeat_partitioned_comm *root = receive->comm->root;
    pthread_mutex_lock(&root->matching_lock);
    offbeat_partitioned_request **place = &root->unmatched;
    while (*place != NULL && *place != receive)
        place = &(*place)->next_unmatched;
    if (*place != NULL)
        *place = receive->next_unmatched;
    pthread_mutex_unlock(&root->matching_lock);
}

void offbeat_partitioned_matching_end(offbeat_partitioned_comm *root) {
    offbeat_partitioned_cancel(&root->setup_request);
    free(root->arriving);
    while (root->early != NULL) {
        early_setup *next = root->early->next;
        free(root->early);
        root->early = next;
    }
}
