/* SPDX-License-Identifier: BSD-3-Clause */
#include "harmonize/attach.h"

#include <pthread.h>
#include <stdlib.h>

/* One lock for the key, which is held while MPI is called, and one for the list, which never is: MPI may hold
 * a lock of its own while it calls delete_attached. */
static pthread_mutex_t key_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER;
static int key = MPI_KEYVAL_INVALID;
static offbeat_attached *first;

static void enlist(offbeat_attached *attached) {
    pthread_mutex_lock(&list_lock);
    attached->previous = NULL;
    attached->next = first;
    if (first != NULL)
        first->previous = attached;
    first = attached;
    pthread_mutex_unlock(&list_lock);
}

static void strike_off(offbeat_attached *attached) {
    pthread_mutex_lock(&list_lock);
    if (attached->previous != NULL)
        attached->previous->next = attached->next;
    else
        first = attached->next;
    if (attached->next != NULL)
        attached->next->previous = attached->previous;
    pthread_mutex_unlock(&list_lock);
}

int offbeat_attached_free(offbeat_attached *attached) {
    int rc = offbeat_harmony_free(&attached->harmony);
    int also = offbeat_clock_free(&attached->clock);
    free(attached);
    return rc != MPI_SUCCESS ? rc : also;
}

/* MPI calls this when the communicator is freed. */
static int delete_attached(MPI_Comm comm, int keyval, void *value, void *extra) {
    (void)comm;
    (void)keyval;
    (void)extra;
    offbeat_attached *attached = value;
    strike_off(attached);
    return offbeat_attached_free(attached);
}

static int current_key(void) {
    pthread_mutex_lock(&key_lock);
    int current = key;
    pthread_mutex_unlock(&key_lock);
    return current;
}

static offbeat_attached *first_attached(void) {
    pthread_mutex_lock(&list_lock);
    offbeat_attached *attached = first;
    pthread_mutex_unlock(&list_lock);
    return attached;
}

/* MPI calls this at the beginning of MPI_Finalize, when communication still works. */
static int clear_up(MPI_Comm comm, int keyval, void *value, void *extra) {
    (void)comm;
    (void)keyval;
    (void)value;
    (void)extra;
    int rc = MPI_SUCCESS;
    for (offbeat_attached *each = first_attached(); each != NULL && rc == MPI_SUCCESS;
         each = first_attached())
        rc = PMPI_Comm_delete_attr(each->comm, current_key());
    pthread_mutex_lock(&key_lock);
    if (key != MPI_KEYVAL_INVALID)
        PMPI_Comm_free_keyval(&key);
    pthread_mutex_unlock(&key_lock);
    return rc;
}

/* Has clear_up called when MPI ends. MPI_COMM_SELF is there only where MPI_Init was called: communicators of
 * a session are freed before it ends. */
static int watch_for_the_end(void) {
    int initialized, end_key;
    int rc = PMPI_Initialized(&initialized);
    if (rc != MPI_SUCCESS || !initialized)
        return rc;
    rc = PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, clear_up, &end_key, NULL);
    if (rc != MPI_SUCCESS)
        return rc;
    rc = PMPI_Comm_set_attr(MPI_COMM_SELF, end_key, NULL);
    /* The attribute keeps the key alive. */
    int freed = PMPI_Comm_free_keyval(&end_key);
    return rc != MPI_SUCCESS ? rc : freed;
}

/* The key of the attribute, made at the first call of any thread. */
static int make_key(int *made) {
    int rc = MPI_SUCCESS;
    pthread_mutex_lock(&key_lock);
    if (key == MPI_KEYVAL_INVALID) {
        rc = PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, delete_attached, &key, NULL);
        if (rc == MPI_SUCCESS)
            rc = watch_for_the_end();
    }
    *made = key;
    pthread_mutex_unlock(&key_lock);
    return rc;
}

int offbeat_attached_find(MPI_Comm comm, offbeat_attached **attached) {
    int is_there = 0, made = current_key();
    void *value = NULL;
    *attached = NULL;
    if (made == MPI_KEYVAL_INVALID)
        return MPI_SUCCESS;
    int rc = PMPI_Comm_get_attr(comm, made, (void *)&value, &is_there);
    if (rc == MPI_SUCCESS && is_there)
        *attached = value;
    return rc;
}

int offbeat_attach(MPI_Comm comm, offbeat_attached *attached) {
    int made;
    int rc = make_key(&made);
    if (rc != MPI_SUCCESS) {
        offbeat_attached_free(attached);
        return rc;
    }
    attached->comm = comm;
    enlist(attached);
    rc = PMPI_Comm_set_attr(comm, made, attached);
    if (rc != MPI_SUCCESS) {
        strike_off(attached);
        offbeat_attached_free(attached);
    }
    return rc;
}
