/* SPDX-License-Identifier: BSD-3-Clause */
#define _POSIX_C_SOURCE 200809L
#include "preload/chosen.h"

#include <fnmatch.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { LONGEST_WORD = 256 };

static int word_chooses(const char *word, const char *name, int is_like_world) {
    if (*word == '\0')
        return 0;
    if (strcmp(word, "all") == 0)
        return 1;
    if (strcmp(word, "world") == 0)
        return is_like_world;
    return fnmatch(word, name, 0) == 0;
}

int offbeat_list_chooses(const char *list, const char *name, int is_like_world) {
    while (*list != '\0') {
        char word[LONGEST_WORD];
        size_t length = strcspn(list, ",");
        if (length < sizeof word) {
            memcpy(word, list, length);
            word[length] = '\0';
            if (word_chooses(word, name, is_like_world))
                return 1;
        }
        list += length + (list[length] == ',');
    }
    return 0;
}

static int decide(MPI_Comm comm) {
    char name[MPI_MAX_OBJECT_NAME] = "";
    int is_inter, length, relation;
    const char *list = getenv("OFFBEAT_HARMONIZE_BARRIERS");
    if (PMPI_Comm_test_inter(comm, &is_inter) != MPI_SUCCESS || is_inter)
        return 0;
    if (PMPI_Comm_compare(comm, MPI_COMM_WORLD, &relation) != MPI_SUCCESS ||
        PMPI_Comm_get_name(comm, name, &length) != MPI_SUCCESS)
        return 0;
    return offbeat_list_chooses(list != NULL && *list != '\0' ? list : "world", name,
                                relation == MPI_IDENT || relation == MPI_CONGRUENT);
}

/* The decision is an attribute, as a communicator's handle may be another one's later. A duplicate decides
 * anew: its name is another. The key lives as long as the program. */
static int decision_key(void) {
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static int key = MPI_KEYVAL_INVALID;
    pthread_mutex_lock(&lock);
    if (key == MPI_KEYVAL_INVALID)
        PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &key, NULL);
    int made = key;
    pthread_mutex_unlock(&lock);
    return made;
}

int offbeat_barrier_is_chosen(MPI_Comm comm) {
    static char yes, no;
    int is_known = 0;
    void *value = NULL;
    if (comm == MPI_COMM_NULL)
        return 0;
    if (PMPI_Comm_get_attr(comm, decision_key(), (void *)&value, &is_known) == MPI_SUCCESS && is_known)
        return value == &yes;
    int chosen = decide(comm);
    PMPI_Comm_set_attr(comm, decision_key(), chosen ? &yes : &no);
    return chosen;
}
