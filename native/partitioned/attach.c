/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Attaching a communicator. Its state is an attribute of the communicator, which MPI deletes with it; a
 * duplicate gets no copy. Requests are further users of the state. An attribute on MPI_COMM_SELF, which
 * MPI_Finalize deletes first, ends the progress thread and releases the states of communicators that are
 * never freed.
 */
#include "partitioned/attach.h"

#include "harmonize/private_comm.h"
#include "partitioned/errors.h"
#include "partitioned/owner.h"
#include "partitioned/progress.h"
#include "partitioned/settings.h"
#include "partitioned/thread_level.h"

#include <offbeat/partitioned.h>

#include <stdio.h>
#include <stdlib.h>

static pthread_mutex_t keyval_lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_int keyval = MPI_KEYVAL_INVALID;

/* --- the attribute --- */

/* MPI calls this when the communicator is freed. */
static int delete_attribute(MPI_Comm comm, int key, void *value, void *extra) {
    (void)comm;
    (void)key;
    (void)extra;
    offbeat_partitioned_comm *state = value;
    offbeat_partitioned_progress(); /* requests that were freed may be waiting for their last message */
    state->user = MPI_COMM_NULL;
    offbeat_partitioned_comm_release(state);
    return MPI_SUCCESS;
}

/* MPI calls this at the beginning of MPI_Finalize, when communication is still possible. */
static int release_all(MPI_Comm comm, int key, void *value, void *extra) {
    (void)comm;
    (void)key;
    (void)value;
    (void)extra;
    offbeat_partitioned_progress_thread_end();
    offbeat_partitioned_end_freed();
    for (;;) {
        MPI_Comm user = offbeat_partitioned_attached_comm();
        if (user == MPI_COMM_NULL)
            break;
        int rc = PMPI_Comm_delete_attr(user, keyval);
        if (rc != MPI_SUCCESS)
            return rc;
    }
    int last_keyval = atomic_exchange(&keyval, MPI_KEYVAL_INVALID);
    return last_keyval == MPI_KEYVAL_INVALID ? MPI_SUCCESS : PMPI_Comm_free_keyval(&last_keyval);
}

/* Creates the keyval at the first call of any thread. */
static int create_keyval(void) {
    int rc = MPI_SUCCESS, new_keyval;
    pthread_mutex_lock(&keyval_lock);
    if (keyval == MPI_KEYVAL_INVALID) {
        rc = PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, delete_attribute, &new_keyval, NULL);
        if (rc == MPI_SUCCESS)
            rc = offbeat_call_at_finalize(release_all);
        if (rc == MPI_SUCCESS)
            keyval = new_keyval;
    }
    pthread_mutex_unlock(&keyval_lock);
    return rc;
}

offbeat_partitioned_comm *offbeat_partitioned_comm_of(MPI_Comm comm) {
    void *value = NULL;
    int is_set = 0;
    if (keyval == MPI_KEYVAL_INVALID ||
        PMPI_Comm_get_attr(comm, keyval, (void *)&value, &is_set) != MPI_SUCCESS)
        return NULL;
    return is_set ? value : NULL;
}

/* --- attaching --- */

/* What keeps this process from attaching. */
typedef struct refusal {
    int error_class; /* MPI_SUCCESS: nothing */
    char why[OFFBEAT_PARTITIONED_WHY_BYTES];
} refusal;

/* Keeps the first reason. */
static void refuse(refusal *reason, int error_class, const char *why) {
    if (reason->error_class != MPI_SUCCESS)
        return;
    reason->error_class = error_class;
    snprintf(reason->why, sizeof reason->why, "%s", why);
}

/* The smallest number that a process of the communicator gave. On an inter-communicator, a reduction gives
 * the result of the other group; the second one therefore combines both. */
static int smallest(MPI_Comm comm, int number, int *result) {
    int other_number;
    int rc = PMPI_Allreduce(&number, &other_number, 1, MPI_INT, MPI_MIN, comm);
    if (rc != MPI_SUCCESS)
        return rc;
    number = other_number < number ? other_number : number;
    return PMPI_Allreduce(&number, result, 1, MPI_INT, MPI_MIN, comm);
}

/* Tags of data and of replies share lane 0: each has half of the tags. */
static int describe(MPI_Comm comm, offbeat_partitioned_comm *state) {
    int is_inter, is_set, has_world, *largest_tag;
    int rc = PMPI_Comm_test_inter(comm, &is_inter);
    state->is_threaded = offbeat_partitioned_calls_may_overlap();
    if (rc == MPI_SUCCESS)
        rc = is_inter ? PMPI_Comm_remote_size(comm, &state->peers) : PMPI_Comm_size(comm, &state->peers);
    if (rc == MPI_SUCCESS)
        rc = offbeat_partitioned_world_exists(&has_world);
    if (rc == MPI_SUCCESS)
        rc = PMPI_Comm_get_attr(has_world ? MPI_COMM_WORLD : comm, MPI_TAG_UB, (void *)&largest_tag, &is_set);
    state->largest_tag = rc == MPI_SUCCESS && is_set ? *largest_tag : 32767;
    state->tags.largest = (state->largest_tag - 1) / 2;
    return rc;
}

/* Creates the lanes. A process on which one fails creates the others all the same: the next process waits for
 * it there. MPI has reported an error that is returned. */
static int create_lanes(MPI_Comm comm, int lanes, offbeat_partitioned_comm *state) {
    int rc = MPI_SUCCESS;
    for (state->lane_count = 0; state->lane_count < lanes; state->lane_count++) {
        int lane_rc =
            offbeat_partitioned_note(offbeat_create_private_comm(comm, &state->lanes[state->lane_count]));
        rc = rc == MPI_SUCCESS ? lane_rc : rc;
    }
    return rc;
}

/* Creates lanes and attribute; either all processes have them afterwards, or none has. @param[out]
 * is_attached whether all processes succeeded. MPI has reported an error that is returned. */
static int create_lanes_and_attribute(MPI_Comm comm, int lanes, offbeat_partitioned_comm *state,
                                      int *is_attached) {
    int rc = create_lanes(comm, lanes, state);
    /* Only here: communicators that share the lanes use this state's value. */
    atomic_init(&state->owners_allowed, state->is_threaded && offbeat_partitioned_owners_work());
    offbeat_partitioned_comm_add(state);
    int is_set = PMPI_Comm_set_attr(comm, keyval, state) == MPI_SUCCESS;
    int agreement_rc = smallest(state->matching.comm, rc == MPI_SUCCESS && is_set, is_attached);
    if (agreement_rc == MPI_SUCCESS && *is_attached)
        return MPI_SUCCESS;
    *is_attached = 0;
    if (is_set)
        PMPI_Comm_delete_attr(comm, keyval);
    else
        offbeat_partitioned_comm_release(state);
    return rc != MPI_SUCCESS ? rc : offbeat_partitioned_raise(comm, agreement_rc);
}

/* The collective part, in which every process takes part, whatever keeps it from attaching: no other process
 * waits forever. @param state NULL only if there is a reason; used up */
static int attach(MPI_Comm comm, int lanes, const refusal *reason, offbeat_partitioned_comm *state) {
    MPI_Comm setup;
    const int is_refused = reason->error_class != MPI_SUCCESS;
    int lanes_of_all = 0, is_attached = 0;
    int rc = offbeat_partitioned_note(offbeat_create_private_comm(comm, &setup));
    if (rc == MPI_SUCCESS)
        rc = offbeat_partitioned_raise(
            comm, smallest(setup, is_refused ? -reason->error_class : lanes, &lanes_of_all));
    if (state != NULL)
        state->matching.comm = setup;
    else if (setup != MPI_COMM_NULL)
        PMPI_Comm_free(&setup);
    if (rc == MPI_SUCCESS && lanes_of_all > 0)
        rc = create_lanes_and_attribute(comm, lanes_of_all, state, &is_attached);
    else if (state != NULL)
        offbeat_partitioned_comm_destroy(state);
    if (rc != MPI_SUCCESS || is_attached)
        return rc;
    return offbeat_partitioned_fail(comm,
                                    is_refused         ? reason->error_class
                                    : lanes_of_all < 0 ? -lanes_of_all
                                                       : MPI_ERR_OTHER,
                                    "offbeat_partitioned_attach: %s",
                                    is_refused ? reason->why
                                               : "it failed on another process, whose error says why");
}

int offbeat_partitioned_attach(MPI_Comm comm, MPI_Info info) {
    refusal reason = {MPI_SUCCESS, ""};
    char why[OFFBEAT_PARTITIONED_WHY_BYTES];
    int has_begun = 0;
    offbeat_partitioned_attach_settings settings;
    if (comm == MPI_COMM_NULL)
        return offbeat_partitioned_fail(comm, MPI_ERR_COMM,
                                        "offbeat_partitioned_attach: the communicator is null");
    if (offbeat_partitioned_comm_of(comm) != NULL)
        return MPI_SUCCESS;
    if (!offbeat_partitioned_read_attach_settings(info, &settings, why))
        refuse(&reason, MPI_ERR_INFO_VALUE, why);
    offbeat_partitioned_comm *state = offbeat_partitioned_comm_create(comm);
    if (state == NULL || describe(comm, state) != MPI_SUCCESS || create_keyval() != MPI_SUCCESS)
        refuse(&reason, MPI_ERR_NO_MEM, "there is no memory or attribute key for it");
    if (reason.error_class == MPI_SUCCESS && settings.has_progress_thread) {
        const char *why_not = offbeat_partitioned_progress_thread_begin(&has_begun);
        if (why_not != NULL)
            refuse(&reason, MPI_ERR_OTHER, why_not);
    }
    int rc = attach(comm, (int)settings.lanes, &reason, state);
    if (rc != MPI_SUCCESS && has_begun)
        offbeat_partitioned_progress_thread_end();
    return rc;
}

/* --- using the private communicators of another communicator --- */

/* Makes a complete state the attribute of its communicator. */
static int set_state(MPI_Comm comm, offbeat_partitioned_comm *state) {
    offbeat_partitioned_comm_add(state);
    int rc = PMPI_Comm_set_attr(comm, keyval, state);
    if (rc != MPI_SUCCESS)
        offbeat_partitioned_comm_release(state);
    return rc;
}

static void share(offbeat_partitioned_comm *root, int64_t identity, offbeat_partitioned_comm *state) {
    offbeat_partitioned_comm_use(root);
    state->root = root;
    state->identity = identity;
    state->lane_count = root->lane_count;
    for (int i = 0; i < root->lane_count; i++)
        state->lanes[i] = root->lanes[i];
}

/* The group of all possible peers. */
static int peer_group(MPI_Comm comm, MPI_Group *group) {
    int is_inter;
    int rc = PMPI_Comm_test_inter(comm, &is_inter);
    if (rc != MPI_SUCCESS)
        return rc;
    return is_inter ? PMPI_Comm_remote_group(comm, group) : PMPI_Comm_group(comm, group);
}

/* Sets the ranks of the peers in the attached communicator; MPI_UNDEFINED for processes that it lacks. */
static int translate(MPI_Comm comm, MPI_Comm attached_comm, offbeat_partitioned_comm *state) {
    MPI_Group peers, processes;
    int *ranks = malloc(((size_t)state->peers + 1) * sizeof *ranks);
    state->root_ranks = malloc(((size_t)state->peers + 1) * sizeof *state->root_ranks);
    int rc = ranks == NULL || state->root_ranks == NULL ? MPI_ERR_NO_MEM : peer_group(comm, &peers);
    if (rc == MPI_SUCCESS) {
        for (int i = 0; i < state->peers; i++)
            ranks[i] = i;
        rc = PMPI_Comm_group(attached_comm, &processes);
        if (rc == MPI_SUCCESS) {
            rc = PMPI_Group_translate_ranks(peers, state->peers, ranks, processes, state->root_ranks);
            PMPI_Group_free(&processes);
        }
        PMPI_Group_free(&peers);
    }
    free(ranks);
    return rc;
}

static int has_all_peers(const offbeat_partitioned_comm *state) {
    for (int i = 0; i < state->peers; i++)
        if (state->root_ranks[i] == MPI_UNDEFINED)
            return 0;
    return 1;
}

int offbeat_partitioned_attach_to(MPI_Comm comm, MPI_Comm attached_comm, int64_t identity) {
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    if (offbeat_partitioned_comm_of(comm) != NULL)
        return MPI_SUCCESS;
    offbeat_partitioned_comm *root = offbeat_partitioned_comm_of(attached_comm);
    if (root == NULL)
        return offbeat_partitioned_fail(comm, MPI_ERR_COMM,
                                        "partitioned communication: MPI_COMM_WORLD is not attached");
    offbeat_partitioned_comm *state = offbeat_partitioned_comm_create(comm);
    if (state == NULL)
        return offbeat_partitioned_raise(comm, MPI_ERR_NO_MEM);
    int rc = describe(comm, state);
    if (rc == MPI_SUCCESS)
        rc = translate(comm, attached_comm, state);
    if (rc != MPI_SUCCESS || !has_all_peers(state)) {
        offbeat_partitioned_comm_destroy(state);
        return rc != MPI_SUCCESS ? offbeat_partitioned_raise(comm, rc)
                                 : offbeat_partitioned_fail(comm, MPI_ERR_COMM,
                                                            "partitioned communication: a process of the "
                                                            "communicator is not in MPI_COMM_WORLD");
    }
    share(root, identity, state);
    pthread_mutex_lock(&lock); /* threads may initialise their first requests at the same time */
    if (offbeat_partitioned_comm_of(comm) == NULL)
        rc = set_state(comm, state);
    else
        offbeat_partitioned_comm_destroy(state);
    pthread_mutex_unlock(&lock);
    return rc;
}
