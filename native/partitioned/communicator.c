/* SPDX-License-Identifier: BSD-3-Clause */
#include "partitioned/communicator.h"

#include <stdlib.h>

typedef offbeat_partitioned_comm comm;

/* Never held while MPI is called, as MPI may hold a lock of its own while it deletes attributes. */
static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER;
static comm *first_state;

offbeat_partitioned_comm *offbeat_partitioned_comm_create(MPI_Comm user) {
    comm *state = calloc(1, sizeof *state);
    if (state == NULL)
        return NULL;
    state->user = user;
    state->root = state;
    atomic_init(&state->users, 1);
    pthread_mutex_init(&state->tag_lock, NULL);
    offbeat_partitioned_matching_init(&state->matching);
    return state;
}

static void free_comms(comm *state) {
    if (state->matching.comm != MPI_COMM_NULL)
        PMPI_Comm_free(&state->matching.comm);
    for (int i = 0; i < state->lane_count; i++)
        if (state->lanes[i] != MPI_COMM_NULL)
            PMPI_Comm_free(&state->lanes[i]);
}

void offbeat_partitioned_comm_destroy(offbeat_partitioned_comm *state) {
    offbeat_partitioned_matching_end(&state->matching);
    if (state->root == state)
        free_comms(state);
    pthread_mutex_destroy(&state->tag_lock);
    free(state->root_ranks);
    if (state->root != state)
        offbeat_partitioned_comm_release(state->root);
    free(state);
}

/* --- the list of all states, and their users --- */

void offbeat_partitioned_comm_add(offbeat_partitioned_comm *state) {
    pthread_mutex_lock(&list_lock);
    state->next = first_state;
    if (first_state != NULL)
        first_state->previous = state;
    first_state = state;
    pthread_mutex_unlock(&list_lock);
}

void offbeat_partitioned_comm_use(offbeat_partitioned_comm *state) {
    atomic_fetch_add(&state->users, 1);
}

void offbeat_partitioned_comm_release(offbeat_partitioned_comm *state) {
    pthread_mutex_lock(&list_lock);
    int is_last = atomic_fetch_sub(&state->users, 1) == 1;
    if (is_last) {
        if (state->previous != NULL)
            state->previous->next = state->next;
        else
            first_state = state->next;
        if (state->next != NULL)
            state->next->previous = state->previous;
    }
    pthread_mutex_unlock(&list_lock);
    if (is_last)
        offbeat_partitioned_comm_destroy(state);
}

offbeat_partitioned_comm *offbeat_partitioned_comm_next(offbeat_partitioned_comm *state) {
    pthread_mutex_lock(&list_lock);
    comm *next = state == NULL ? first_state : state->next;
    if (next != NULL)
        offbeat_partitioned_comm_use(next);
    pthread_mutex_unlock(&list_lock);
    if (state != NULL)
        offbeat_partitioned_comm_release(state);
    return next;
}

MPI_Comm offbeat_partitioned_attached_comm(void) {
    MPI_Comm user = MPI_COMM_NULL;
    pthread_mutex_lock(&list_lock);
    for (comm *state = first_state; state != NULL; state = state->next)
        if (state->user != MPI_COMM_NULL)
            user = state->user;
    pthread_mutex_unlock(&list_lock);
    return user;
}

/* --- tags --- */

int offbeat_partitioned_comm_take_tags(offbeat_partitioned_comm *state, int count,
                                       offbeat_partitioned_tag_block *block) {
    pthread_mutex_lock(&state->root->tag_lock);
    int has_tags = offbeat_partitioned_tags_take(&state->root->tags, count, block);
    pthread_mutex_unlock(&state->root->tag_lock);
    return has_tags ? MPI_SUCCESS : OFFBEAT_PARTITIONED_NO_TAGS;
}

void offbeat_partitioned_comm_give_tags_back(offbeat_partitioned_comm *state,
                                             offbeat_partitioned_tag_block *block) {
    pthread_mutex_lock(&state->root->tag_lock);
    offbeat_partitioned_tags_give_back(&state->root->tags, block);
    pthread_mutex_unlock(&state->root->tag_lock);
}
