/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "harmonize/crowd.h"

#include "clock/messages.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TAG_CORES = 3, TAG_CROWDED = 4 };

/* Polls before a wait yields: it isn't known yet whether it must. */
enum { PATIENCE = 200 };

static int is_within(const offbeat_cores *inner, const offbeat_cores *outer) {
    for (int i = 0; i < OFFBEAT_CORE_WORDS; i++)
        if (inner->words[i] & ~outer->words[i])
            return 0;
    return 1;
}

static int count_cores(const offbeat_cores *cores) {
    int count = 0;
    for (int i = 0; i < OFFBEAT_CORE_WORDS; i++)
        for (uint64_t word = cores->words[i]; word != 0; word &= word - 1)
            count++;
    return count;
}

int offbeat_cores_are_crowded(const offbeat_cores *processes, int count) {
    for (int i = 0; i < count; i++) {
        int confined = 0, cores = count_cores(&processes[i]);
        for (int j = 0; cores > 0 && j < count; j++)
            confined += count_cores(&processes[j]) > 0 && is_within(&processes[j], &processes[i]);
        if (confined > cores)
            return 1;
    }
    return 0;
}

static offbeat_cores own_cores(void) {
    offbeat_cores cores;
    cpu_set_t sets[sizeof cores / sizeof(cpu_set_t)];
    memset(&cores, 0, sizeof cores);
    if (sched_getaffinity(0, sizeof sets, sets) == 0)
        memcpy(&cores, sets, sizeof sets);
    return cores;
}

/* How many processes of this launch run on this node, as the launcher says; 0 when it doesn't. */
static long launched_here(void) {
    static const char *const names[] = {"OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *text = getenv(names[i]);
        if (text != NULL)
            return strtol(text, NULL, 10);
    }
    return 0;
}

/* The node's first process hears of everybody's cores. */
static int collect(MPI_Comm node, int count, int *crowded) {
    offbeat_cores *processes = calloc((size_t)count, sizeof *processes);
    int rc = processes == NULL ? MPI_ERR_NO_MEM : MPI_SUCCESS;
    for (int i = 1; i < count && rc == MPI_SUCCESS; i++)
        rc = offbeat_receive(processes[i].words, OFFBEAT_CORE_WORDS, MPI_UINT64_T, i, TAG_CORES, node,
                             PATIENCE);
    if (rc == MPI_SUCCESS) {
        processes[0] = own_cores();
        *crowded = offbeat_cores_are_crowded(processes, count);
    }
    free(processes);
    for (int i = 1; i < count && rc == MPI_SUCCESS; i++)
        rc = PMPI_Send(crowded, 1, MPI_INT, i, TAG_CROWDED, node);
    return rc;
}

static int tell(MPI_Comm node, int *crowded) {
    offbeat_cores cores = own_cores();
    int rc = PMPI_Send(cores.words, OFFBEAT_CORE_WORDS, MPI_UINT64_T, 0, TAG_CORES, node);
    if (rc == MPI_SUCCESS)
        rc = offbeat_receive(crowded, 1, MPI_INT, 0, TAG_CROWDED, node, PATIENCE);
    return rc;
}

int offbeat_node_is_crowded(MPI_Comm comm, int *crowded) {
    MPI_Comm node = MPI_COMM_NULL;
    int rank = 0, count = 1;
    *crowded = 0;
    int rc = PMPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    if (rc != MPI_SUCCESS)
        return rc;
    rc = PMPI_Comm_rank(node, &rank);
    if (rc == MPI_SUCCESS)
        rc = PMPI_Comm_size(node, &count);
    if (rc == MPI_SUCCESS)
        rc = rank == 0 ? collect(node, count, crowded) : tell(node, crowded);
    *crowded |= launched_here() > sysconf(_SC_NPROCESSORS_ONLN);
    int freed = PMPI_Comm_free(&node);
    return rc != MPI_SUCCESS ? rc : freed;
}
