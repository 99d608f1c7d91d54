/* SPDX-License-Identifier: BSD-3-Clause */
#include "trace/group_members.h"

#include "trace/trace_file.h"

#include <pthread.h>
#include <stdlib.h>

/* Ranks of a group in MPI_COMM_WORLD. */
static void translate(MPI_Group group, int count, int *ranks) {
    MPI_Group world;
    int *group_ranks = malloc(sizeof *group_ranks * (size_t)(count > 0 ? count : 1));
    for (int i = 0; i < count; i++)
        ranks[i] = -1;
    if (group_ranks != NULL && PMPI_Comm_group(MPI_COMM_WORLD, &world) == MPI_SUCCESS) {
        for (int i = 0; i < count; i++)
            group_ranks[i] = i;
        PMPI_Group_translate_ranks(group, count, group_ranks, world, ranks);
        PMPI_Group_free(&world);
    }
    for (int i = 0; i < count; i++)
        if (ranks[i] == MPI_UNDEFINED)
            ranks[i] = -1;
    free(group_ranks);
}

int offbeat_tracer_members_get(MPI_Comm comm, offbeat_tracer_members *members) {
    MPI_Group group;
    int is_inter = 0;
    *members = (offbeat_tracer_members){0};
    PMPI_Comm_size(comm, &members->count);
    PMPI_Comm_test_inter(comm, &is_inter);
    if (is_inter)
        PMPI_Comm_remote_size(comm, &members->remote_count);
    members->ranks = malloc(sizeof(int) * ((size_t)members->count + (size_t)members->remote_count + 1));
    if (members->ranks == NULL)
        return -1;
    if (PMPI_Comm_group(comm, &group) == MPI_SUCCESS) {
        translate(group, members->count, members->ranks);
        PMPI_Group_free(&group);
    }
    if (is_inter && PMPI_Comm_remote_group(comm, &group) == MPI_SUCCESS) {
        translate(group, members->remote_count, members->ranks + members->count);
        PMPI_Group_free(&group);
    }
    return 0;
}

/* FNV-1a over the ranks as 32-bit numbers. */
static uint64_t add_ranks(uint64_t hash, const int *ranks, int count) {
    for (int i = 0; i < count; i++)
        for (int byte = 0; byte < 4; byte++)
            hash = (hash ^ (((uint32_t)ranks[i] >> (8 * byte)) & 255)) * UINT64_C(0x100000001b3);
    return hash;
}

static int lowest(const int *ranks, int count) {
    int min = ranks[0];
    for (int i = 1; i < count; i++)
        if (ranks[i] < min)
            min = ranks[i];
    return min;
}

uint64_t offbeat_tracer_members_hash(const offbeat_tracer_members *members) {
    const uint64_t start = UINT64_C(0xcbf29ce484222325);
    const int *local = members->ranks, *remote = local + members->count;
    if (members->remote_count == 0)
        return add_ranks(start, local, members->count);
    static const int separator = -2; /* not a rank */
    int is_first = lowest(local, members->count) < lowest(remote, members->remote_count);
    uint64_t hash =
        is_first ? add_ranks(start, local, members->count) : add_ranks(start, remote, members->remote_count);
    hash = add_ranks(hash, &separator, 1);
    return is_first ? add_ranks(hash, remote, members->remote_count) : add_ranks(hash, local, members->count);
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* The number of communicators with each hash: an open hash table, at most half full. Use it with the lock
 * held. */
static struct entry {
    uint64_t hash;
    uint32_t count; /* 0: an empty entry */
} *table;
static size_t table_size, used_entries;

static struct entry *entry_of(struct entry *entries, size_t size, uint64_t hash) {
    size_t i = hash & (size - 1);
    while (entries[i].count != 0 && entries[i].hash != hash)
        i = (i + 1) & (size - 1);
    return &entries[i];
}

static void grow(void) {
    size_t size = table_size == 0 ? 64 : table_size * 2;
    struct entry *larger = calloc(size, sizeof *larger);
    if (larger == NULL)
        return;
    for (size_t i = 0; i < table_size; i++)
        if (table[i].count != 0)
            *entry_of(larger, size, table[i].hash) = table[i];
    free(table);
    table = larger;
    table_size = size;
}

static uint32_t count(uint64_t hash) {
    if (2 * (used_entries + 1) > table_size)
        grow();
    if (used_entries + 1 >= table_size) /* out of memory: one entry must stay empty */
        return UINT32_MAX;
    struct entry *entry = entry_of(table, table_size, hash);
    if (entry->count == 0)
        used_entries++;
    entry->hash = hash;
    return entry->count++;
}

uint32_t offbeat_tracer_members_ordinal(uint64_t hash) {
    pthread_mutex_lock(&lock);
    uint32_t ordinal = count(hash);
    pthread_mutex_unlock(&lock);
    return ordinal;
}

static void define_group(uint32_t communicator, uint32_t is_remote, const int *ranks, int count) {
    enum { MAX_RANKS = OFFBEAT_TRACER_MAX_TAIL_BYTES / sizeof(int32_t) };
    for (int first = 0; first < count; first += MAX_RANKS) {
        int part_count = count - first < MAX_RANKS ? count - first : MAX_RANKS;
        offbeat_trace_members part = {.communicator = communicator,
                                      .is_remote = is_remote,
                                      .first = (uint32_t)first,
                                      .count = (uint32_t)part_count};
        offbeat_tracer_define(OFFBEAT_TRACE_MEMBERS, &part, sizeof part, ranks + first,
                              sizeof *ranks * (size_t)part_count);
    }
}

void offbeat_tracer_members_define(uint32_t communicator, const offbeat_tracer_members *members) {
    define_group(communicator, 0, members->ranks, members->count);
    define_group(communicator, 1, members->ranks + members->count, members->remote_count);
}
