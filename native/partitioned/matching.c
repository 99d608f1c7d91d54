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

void offbeat_partitioned_matching_add(offbeat_partitioned_request *receive) {
    offbeat_partitioned_comm *root = receive->comm->root;
    pthread_mutex_lock(&root->matching_lock);
    offbeat_partitioned_request **place = &root->unmatched;
    if (!take_early(root, receive)) {
        while (*place != NULL)
            place = &(*place)->next_unmatched;
        *place = receive;
    }
    pthread_mutex_unlock(&root->matching_lock);
}

/* Gives a setup to the first receive that it is for, or keeps it. */
static int distribute(offbeat_partitioned_comm *root, int source, const int64_t *setup) {
    offbeat_partitioned_request **place = &root->unmatched;
    while (*place != NULL && !is_for(setup, source, *place))
        place = &(*place)->next_unmatched;
    offbeat_partitioned_request *found = *place;
    if (found != NULL) {
        *place = found->next_unmatched;
        give(setup, found);
        return MPI_SUCCESS;
    }
    early_setup *early = malloc(sizeof *early), **end = &root->early;
    if (early == NULL)
        return MPI_ERR_NO_MEM;
    early->source = source;
    memcpy(early->setup, setup, sizeof early->setup);
    early->next = NULL;
    while (*end != NULL)
        end = &(*end)->next;
    *end = early;
    return MPI_SUCCESS;
}

/* Takes setups up to the one for a receive. Only the holder of matching_lock receives on this communicator:
 * what it has probed is what it receives. */
static int take_arrived(offbeat_partitioned_comm *root, const offbeat_partitioned_request *receive) {
    int64_t setup[OFFBEAT_PARTITIONED_SETUP_LENGTH];
    while (!atomic_load_explicit(&receive->has_setup, memory_order_relaxed)) {
        int has_arrived = 0;
        MPI_Status status;
        int rc = PMPI_Iprobe(MPI_ANY_SOURCE, 0, root->setup, &has_arrived, &status);
        if (rc != MPI_SUCCESS || !has_arrived)
            return rc;
        rc = PMPI_Recv(setup, OFFBEAT_PARTITIONED_SETUP_LENGTH, MPI_INT64_T, status.MPI_SOURCE, 0,
                       root->setup, MPI_STATUS_IGNORE);
        if (rc == MPI_SUCCESS)
            rc = distribute(root, status.MPI_SOURCE, setup);
        if (rc != MPI_SUCCESS)
            return rc;
    }
    return MPI_SUCCESS;
}

int offbeat_partitioned_matching_test(offbeat_partitioned_request *receive) {
    offbeat_partitioned_comm *root = receive->comm->root;
    if (atomic_load_explicit(&receive->has_setup, memory_order_acquire) ||
        pthread_mutex_trylock(&root->matching_lock) != 0)
        return MPI_SUCCESS;
    int rc = take_arrived(root, receive);
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
    while (root->early != NULL) {
        early_setup *next = root->early->next;
        free(root->early);
        root->early = next;
    }
}
