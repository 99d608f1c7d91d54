/* SPDX-License-Identifier: BSD-3-Clause */
#define _POSIX_C_SOURCE 200809L
#include "preload/comm_filter.h"

#include <fnmatch.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { LONGEST_ENTRY = 256 };

static int entry_selects(const char *entry, const char *name, int is_like_world) {
    if (*entry == '\0')
        return 0;
    if (strcmp(entry, "all") == 0)
        return 1;
    if (strcmp(entry, "world") == 0)
        return is_like_world;
    return fnmatch(entry, name, 0) == 0;
}

int offbeat_preload_list_selects(const char *list, const char *name, int is_like_world) {
    while (*list != '\0') {
        char entry[LONGEST_ENTRY];
        size_t length = strcspn(list, ",");
        if (length < sizeof entry) {
            memcpy(entry, list, length);
            entry[length] = '\0';
            if (entry_selects(entry, name, is_like_world))
                return 1;
        }
        list += length + (list[length] == ',');
    }
    return 0;
}

static int evaluate(MPI_Comm comm) {
    char name[MPI_MAX_OBJECT_NAME] = "";
    int is_inter, length, relation;
    const char *list = getenv("OFFBEAT_HARMONIZE_BARRIERS");
    if (PMPI_Comm_test_inter(comm, &is_inter) != MPI_SUCCESS || is_inter)
        return 0;
    if (PMPI_Comm_compare(comm, MPI_COMM_WORLD, &relation) != MPI_SUCCESS ||
        PMPI_Comm_get_name(comm, name, &length) != MPI_SUCCESS)
        return 0;
    return offbeat_preload_list_selects(list != NULL && *list != '\0' ? list : "world", name,
                                        relation == MPI_IDENT || relation == MPI_CONGRUENT);
}

/* The result is kept as an attribute, as MPI may reuse the handle of a freed communicator. A duplicate is
 * evaluated again, as its name differs. The keyval is never freed. */
static int result_keyval(void) {
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static int keyval = MPI_KEYVAL_INVALID;
    pthread_mutex_lock(&lock);
    if (keyval == MPI_KEYVAL_INVALID)
        PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &keyval, NULL);
    int new_keyval = keyval;
    pthread_mutex_unlock(&lock);
    return new_keyval;
}

int offbeat_preload_selects_comm(MPI_Comm comm) {
    static char yes_mark, no_mark;
    int is_set = 0;
    void *value = NULL;
    if (comm == MPI_COMM_NULL)
        return 0;
    if (PMPI_Comm_get_attr(comm, result_keyval(), (void *)&value, &is_set) == MPI_SUCCESS && is_set)
        return value == &yes_mark;
    int is_selected = evaluate(comm);
    PMPI_Comm_set_attr(comm, result_keyval(), is_selected ? &yes_mark : &no_mark);
    return is_selected;
}
