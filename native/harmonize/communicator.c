/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * MPIX_Harmonize on any communicator: its state is an attribute of the communicator, and errors are reported
 * as MPI's own functions report them.
 *
 * MPI deletes the attribute with the communicator. A duplicate of the communicator gets no copy, as its
 * processes may synchronise independently. An attribute on MPI_COMM_SELF, which MPI_Finalize deletes first,
 * frees the state of communicators that are never freed. Different threads may use different communicators.
 */
#include "harmonize/private_comm.h"

#include <offbeat/harmonize.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

/* The state of a communicator, and its place in the list of all states of this process. */
typedef struct comm_state {
    offbeat_clock *clock;
    offbeat_start_context *context;
    MPI_Comm comm; /* the user's communicator */
    struct comm_state *next;
} comm_state;

/* keyval_lock is held while MPI is called; list_lock never is, as MPI may hold a lock of its own while it
 * calls delete_attribute. */
static pthread_mutex_t keyval_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER;
static int keyval = MPI_KEYVAL_INVALID;
static comm_state *first_state;

/* --- the attribute --- */

static void add_to_list(comm_state *state) {
    pthread_mutex_lock(&list_lock);
    state->next = first_state;
    first_state = state;
    pthread_mutex_unlock(&list_lock);
}

static void remove_from_list(comm_state *state) {
    pthread_mutex_lock(&list_lock);
    comm_state **link = &first_state;
    while (*link != state)
        link = &(*link)->next;
    *link = state->next;
    pthread_mutex_unlock(&list_lock);
}

static comm_state *first_in_list(void) {
    pthread_mutex_lock(&list_lock);
    comm_state *state = first_state;
    pthread_mutex_unlock(&list_lock);
    return state;
}

static int current_keyval(void) {
    pthread_mutex_lock(&keyval_lock);
    int current = keyval;
    pthread_mutex_unlock(&keyval_lock);
    return current;
}

static int free_state(comm_state *state) {
    int context_rc = offbeat_start_context_free(&state->context);
    int clock_rc = offbeat_clock_free(&state->clock);
    free(state);
    return context_rc != MPI_SUCCESS ? context_rc : clock_rc;
}

/* MPI calls this when the communicator is freed. */
static int delete_attribute(MPI_Comm comm, int key, void *value, void *extra) {
    (void)comm;
    (void)key;
    (void)extra;
    remove_from_list(value);
    return free_state(value);
}

/* MPI calls this at the beginning of MPI_Finalize, when communication is still possible. */
static int free_all_states(MPI_Comm comm, int key, void *value, void *extra) {
    (void)comm;
    (void)key;
    (void)value;
    (void)extra;
    int rc = MPI_SUCCESS;
    for (comm_state *state = first_in_list(); state != NULL && rc == MPI_SUCCESS; state = first_in_list())
        rc = PMPI_Comm_delete_attr(state->comm, current_keyval());
    pthread_mutex_lock(&keyval_lock);
    if (keyval != MPI_KEYVAL_INVALID)
        PMPI_Comm_free_keyval(&keyval);
    pthread_mutex_unlock(&keyval_lock);
    return rc;
}

/* Creates the keyval at the first call of any thread. */
static int create_keyval(int *new_keyval) {
    int rc = MPI_SUCCESS;
    pthread_mutex_lock(&keyval_lock);
    if (keyval == MPI_KEYVAL_INVALID) {
        rc = PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, delete_attribute, &keyval, NULL);
        if (rc == MPI_SUCCESS)
            rc = offbeat_call_at_finalize(free_all_states);
    }
    *new_keyval = keyval;
    pthread_mutex_unlock(&keyval_lock);
    return rc;
}

/* Sets *state to the communicator's state; NULL when it has none. Local. MPI has reported an error that is
 * returned. */
static int get_state(MPI_Comm comm, comm_state **state) {
    int is_set = 0, key = current_keyval();
    void *value = NULL;
    *state = NULL;
    if (key == MPI_KEYVAL_INVALID)
        return MPI_SUCCESS;
    int rc = PMPI_Comm_get_attr(comm, key, (void *)&value, &is_set);
    if (rc == MPI_SUCCESS && is_set)
        *state = value;
    return rc;
}

/* Attaches a state to the communicator, which then owns it; frees the state on failure. Local. MPI has
 * reported an error that is returned. */
static int set_state(MPI_Comm comm, comm_state *state) {
    int key;
    int rc = create_keyval(&key);
    if (rc != MPI_SUCCESS) {
        free_state(state);
        return rc;
    }
    state->comm = comm;
    add_to_list(state);
    rc = PMPI_Comm_set_attr(comm, key, state);
    if (rc != MPI_SUCCESS) {
        remove_from_list(state);
        free_state(state);
    }
    return rc;
}

/* --- creating the state --- */

/* Creates clock and start context, which have communicators of their own; frees the private communicator. */
static int fill_state(MPI_Comm private_comm, comm_state *state) {
    int rc = offbeat_clock_create(private_comm, &state->clock);
    if (rc == MPI_SUCCESS)
        rc = offbeat_start_context_create(state->clock, private_comm, OFFBEAT_YIELD_IF_OVERSUBSCRIBED,
                                          &state->context);
    else if (rc == MPI_ERR_ARG)
        fprintf(stderr, "offbeat-harmonize: %s\n", offbeat_clock_error());
    PMPI_Comm_free(&private_comm);
    return rc;
}

/* Creates a communicator's state and attaches it. An error that is returned has been reported. */
static int create_state(MPI_Comm comm, comm_state **state) {
    MPI_Comm private_comm;
    int is_inter;
    int rc = PMPI_Comm_test_inter(comm, &is_inter);
    if (rc != MPI_SUCCESS)
        return rc;
    if (is_inter)
        return offbeat_raise_error(comm, MPI_ERR_COMM);
    rc = offbeat_create_private_comm(comm, &private_comm);
    if (rc != MPI_SUCCESS)
        return rc;
    comm_state *new_state = calloc(1, sizeof *new_state);
    if (new_state == NULL) {
        PMPI_Comm_free(&private_comm);
        return offbeat_raise_error(comm, MPI_ERR_NO_MEM);
    }
    rc = fill_state(private_comm, new_state);
    if (rc != MPI_SUCCESS) {
        free_state(new_state);
        return offbeat_raise_error(comm, rc);
    }
    rc = set_state(comm, new_state);
    *state = rc == MPI_SUCCESS ? new_state : NULL;
    return rc;
}

/* --- the public functions --- */

int MPIX_Harmonize_delayed(MPI_Comm comm, int64_t delay_ns, offbeat_start *start) {
    comm_state *state = NULL;
    if (comm == MPI_COMM_NULL)
        return offbeat_raise_error(comm, MPI_ERR_COMM);
    if (start == NULL || delay_ns < 0)
        return offbeat_raise_error(comm, MPI_ERR_ARG);
    int rc = get_state(comm, &state);
    if (rc == MPI_SUCCESS && state == NULL)
        rc = create_state(comm, &state);
    if (rc != MPI_SUCCESS)
        return rc;
    return offbeat_raise_error(comm, offbeat_harmonize(state->context, delay_ns, start));
}

int MPIX_Harmonize(MPI_Comm comm, int *flag) {
    offbeat_start start;
    if (comm == MPI_COMM_NULL)
        return offbeat_raise_error(comm, MPI_ERR_COMM);
    if (flag == NULL)
        return offbeat_raise_error(comm, MPI_ERR_ARG);
    int rc = MPIX_Harmonize_delayed(comm, 0, &start);
    *flag = rc == MPI_SUCCESS && start.verdict == OFFBEAT_ON_TIME;
    return rc;
}

offbeat_clock *MPIX_Harmonize_clock(MPI_Comm comm) {
    comm_state *state = NULL;
    if (comm == MPI_COMM_NULL || get_state(comm, &state) != MPI_SUCCESS || state == NULL)
        return NULL;
    return state->clock;
}
