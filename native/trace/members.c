/* SPDX-License-Identifier: BSD-3-Clause */
#include "trace/members.h"

#include "trace/define.h"

#include <pthread.h>
#include <stdlib.h>

/* The world ranks of a group, by MPI_COMM_WORLD's. */
static void translate(MPI_Group group, int count, int *ranks) {
    MPI_Group world;
    int *own = malloc(sizeof *own * (size_t)(count > 0 ? count : 1));
    for (int i = 0; i < count; i++)
        ranks[i] = -1;
    if (own != NULL && PMPI_Comm_group(MPI_COMM_WORLD, &world) == MPI_SUCCESS) {
        for (int i = 0; i < count; i++)
            own[i] = i;
        PMPI_Group_translate_ranks(group, count, own, world, ranks);
        PMPI_Group_free(&world);
    }
    for (int i = 0; i < count; i++)
        if (ranks[i] == MPI_UNDEFINED)
            ranks[i] = -1;
    free(own);
}

int offbeat_members_find(MPI_Comm comm, offbeat_world_ranks *members) {
    MPI_Group group;
    int is_inter = 0;
    *members = (offbeat_world_ranks){0};
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
    int found = ranks[0];
    for (int i = 1; i < count; i++)
        if (ranks[i] < found)
            found = ranks[i];
    return found;
}

uint64_t offbeat_members_hash(const offbeat_world_ranks *members) {
    const uint64_t start = UINT64_C(0xcbf29ce484222325);
    const int *own = members->ranks, *remote = own + members->count;
    if (members->remote_count == 0)
        return add_ranks(start, own, members->count);
    static const int between = -2; /* no rank */
    int is_first = lowest(own, members->count) < lowest(remote, members->remote_count);
    uint64_t hash =
        is_first ? add_ranks(start, own, members->count) : add_ranks(start, remote, members->remote_count);
    hash = add_ranks(hash, &between, 1);
    return is_first ? add_ranks(hash, remote, members->remote_count) : add_ranks(hash, own, members->count);
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* How often each hash came: a table that doubles, never more than half full. With the lock held. */
static struct counted {
    uint64_t hash;
    uint32_t count;
} *counted;
static size_t places, counted_hashes;

static struct counted *place_of(struct counted *table, size_t size, uint64_t hash) {
    size_t i = hash & (size - 1);
    while (table[i].count != 0 && table[i].hash != hash)
        i = (i + 1) & (size - 1);
    return &table[i];
}

static void grow(void) {
    size_t size = places == 0 ? 64 : places * 2;
    struct counted *larger = calloc(size, sizeof *larger);
    if (larger == NULL)
        return;
    for (size_t i = 0; i < places; i++)
        if (counted[i].count != 0)
            *place_of(larger, size, counted[i].hash) = counted[i];
    free(counted);
    counted = larger;
    places = size;
}

static uint32_t count(uint64_t hash) {
    if (2 * (counted_hashes + 1) > places)
        grow();
    if (counted_hashes + 1 >= places) /* no memory: one place must stay free */
        return UINT32_MAX;
    struct counted *place = place_of(counted, places, hash);
    if (place->count == 0)
        counted_hashes++;
    place->hash = hash;
    return place->count++;
}

uint32_t offbeat_members_ordinal(uint64_t hash) {
    pthread_mutex_lock(&lock);
    uint32_t ordinal = count(hash);
    pthread_mutex_unlock(&lock);
    return ordinal;
}

static void define_group(uint32_t communicator, uint32_t is_remote, const int *ranks, int count) {
    enum { RANKS_AT_ONCE = OFFBEAT_LONGEST_TAIL / sizeof(int32_t) };
    for (int first = 0; first < count; first += RANKS_AT_ONCE) {
        int some = count - first < RANKS_AT_ONCE ? count - first : RANKS_AT_ONCE;
        offbeat_trace_members part = {.communicator = communicator,
                                      .is_remote = is_remote,
                                      .first = (uint32_t)first,
                                      .count = (uint32_t)some};
        offbeat_define(OFFBEAT_TRACE_MEMBERS, &part, sizeof part, ranks + first,
                       sizeof *ranks * (size_t)some);
    }
}

void offbeat_members_define(uint32_t communicator, const offbeat_world_ranks *members) {
    define_group(communicator, 0, members->ranks, members->count);
    define_group(communicator, 1, members->ranks + members->count, members->remote_count);
}
