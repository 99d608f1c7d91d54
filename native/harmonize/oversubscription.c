/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "harmonize/oversubscription.h"

#include "clock/messages.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TAG_CORES = 3, TAG_RESULT = 4 };

/* Waiting processes yield, as the node may be oversubscribed. */
enum { POLLS_BEFORE_YIELD = 200 };

static int is_within(const offbeat_harmonize_cores *inner, const offbeat_harmonize_cores *outer) {
    for (int i = 0; i < OFFBEAT_HARMONIZE_CORE_WORDS; i++)
        if (inner->words[i] & ~outer->words[i])
            return 0;
    return 1;
}

static int count_cores(const offbeat_harmonize_cores *cores) {
    int count = 0;
    for (int i = 0; i < OFFBEAT_HARMONIZE_CORE_WORDS; i++)
        for (uint64_t word = cores->words[i]; word != 0; word &= word - 1)
            count++;
    return count;
}

int offbeat_harmonize_cores_are_oversubscribed(const offbeat_harmonize_cores *processes, int count) {
    for (int i = 0; i < count; i++) {
        int confined = 0, cores = count_cores(&processes[i]);
        for (int j = 0; cores > 0 && j < count; j++)
            confined += count_cores(&processes[j]) > 0 && is_within(&processes[j], &processes[i]);
        if (confined > cores)
            return 1;
    }
    return 0;
}

static offbeat_harmonize_cores own_cores(void) {
    offbeat_harmonize_cores cores;
    cpu_set_t sets[sizeof cores / sizeof(cpu_set_t)];
    memset(&cores, 0, sizeof cores);
    if (sched_getaffinity(0, sizeof sets, sets) == 0)
        memcpy(&cores, sets, sizeof sets);
    return cores;
}

/* The number of processes of this launch on this node, as the launcher states it; 0 when it does not. */
static long launched_on_node(void) {
    static const char *const names[] = {"OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *text = getenv(names[i]);
        if (text != NULL)
            return strtol(text, NULL, 10);
    }
    return 0;
}

/* Gathers the masks on the first process of the node, which computes the result. */
static int compute_result(const offbeat_clock_tree *node, int *is_oversubscribed) {
    const offbeat_harmonize_cores own = own_cores();
    if (node->rank != 0)
        return PMPI_Send(own.words, OFFBEAT_HARMONIZE_CORE_WORDS, MPI_UINT64_T, 0, TAG_CORES, node->comm);
    offbeat_harmonize_cores *processes = calloc((size_t)node->size, sizeof *processes);
    int rc = processes == NULL ? MPI_ERR_NO_MEM : MPI_SUCCESS;
    for (int i = 1; i < node->size && rc == MPI_SUCCESS; i++)
        rc = offbeat_clock_receive(processes[i].words, OFFBEAT_HARMONIZE_CORE_WORDS, MPI_UINT64_T, i,
                                   TAG_CORES, node->comm, POLLS_BEFORE_YIELD);
    if (rc == MPI_SUCCESS) {
        processes[0] = own;
        *is_oversubscribed = offbeat_harmonize_cores_are_oversubscribed(processes, node->size);
    }
    free(processes);
    return rc;
}

int offbeat_harmonize_node_is_oversubscribed(MPI_Comm comm, int *is_oversubscribed) {
    MPI_Comm node_comm = MPI_COMM_NULL;
    offbeat_clock_tree node;
    *is_oversubscribed = 0;
    int rc = PMPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node_comm);
    if (rc != MPI_SUCCESS)
        return rc;
    rc = offbeat_clock_tree_init(&node, node_comm, POLLS_BEFORE_YIELD);
    if (rc == MPI_SUCCESS)
        rc = compute_result(&node, is_oversubscribed);
    if (rc == MPI_SUCCESS)
        rc = offbeat_clock_tree_broadcast(&node, is_oversubscribed, 1, MPI_INT, TAG_RESULT);
    *is_oversubscribed |= launched_on_node() > sysconf(_SC_NPROCESSORS_ONLN);
    int free_rc = PMPI_Comm_free(&node_comm);
    return rc != MPI_SUCCESS ? rc : free_rc;
}
