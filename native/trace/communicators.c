/* SPDX-License-Identifier: BSD-3-Clause */
#include "trace/communicators.h"

#include "clock/clock.h"
#include "trace/process_state.h"
#include "trace/trace_file.h"

#include <pthread.h>
#include <stdlib.h>

/* --- members: the identity of a communicator --- */

/* World ranks of a communicator's processes; -1 for processes of another MPI_COMM_WORLD. */
typedef struct member_list {
    int count, remote_count; /* the latter is 0 except for an inter-communicator */
    int *ranks;              /* of the local group, then those of the remote group */
} member_list;

static void translate(MPI_Group group, int count, int *ranks) {
    const int rc = offbeat_clock_ranks_of_group(group, count, offbeat_tracer_state.world, ranks);
    for (int i = 0; i < count; i++)
        if (rc != MPI_SUCCESS || ranks[i] == MPI_UNDEFINED)
            ranks[i] = -1;
}

/* Determines the members; local. The caller frees `ranks`. @return 0, or -1 if memory is exhausted */
static int get_members(MPI_Comm comm, member_list *members) {
    MPI_Group group;
    int is_inter = 0;
    *members = (member_list){0};
    PMPI_Comm_size(comm, &members->count);
    PMPI_Comm_test_inter(comm, &is_inter);
    if (is_inter)
        PMPI_Comm_remote_size(comm, &members->remote_count);
    members->ranks =
        calloc((size_t)members->count + (size_t)members->remote_count + 1, sizeof *members->ranks);
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

/* A hash that is the same at all members, in both groups. */
static uint64_t hash_members(const member_list *members) {
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

/* The number of earlier communicators with this hash on this process. */
static uint32_t next_ordinal(uint64_t hash) {
    static offbeat_tracer_number_table counts;
    static pthread_mutex_t counts_lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&counts_lock);
    uint64_t *count = offbeat_tracer_number_of(&counts, hash);
    const uint32_t ordinal = count != NULL ? (uint32_t)(*count)++ : UINT32_MAX;
    pthread_mutex_unlock(&counts_lock);
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

static void define_members(uint32_t communicator, const member_list *members) {
    define_group(communicator, 0, members->ranks, members->count);
    define_group(communicator, 1, members->ranks + members->count, members->remote_count);
}

/* --- communicators --- */

_Atomic unsigned offbeat_tracer_communicators_generation;

/* Protects `communicators`. MPI calls the attribute's delete function with its own locks held: to prevent a
 * deadlock, no MPI function may be called with this lock held. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static offbeat_tracer_communicator *communicators; /* that were not freed */
static _Atomic uint32_t last_id;
static int key = MPI_KEYVAL_INVALID;

void offbeat_tracer_communicator_define_name(const offbeat_tracer_communicator *communicator) {
    char name[MPI_MAX_OBJECT_NAME] = "";
    int length = 0;
    if (PMPI_Comm_get_name(communicator->handle, name, &length) != MPI_SUCCESS || length == 0)
        return;
    offbeat_trace_communicator_name definition = {.communicator = communicator->id,
                                                  .name_bytes = (uint32_t)length};
    offbeat_tracer_define(OFFBEAT_TRACE_COMMUNICATOR_NAME, &definition, sizeof definition, name,
                          (size_t)length);
}

static void add(offbeat_tracer_communicator *communicator) {
    pthread_mutex_lock(&lock);
    communicator->next = communicators;
    communicators = communicator;
    pthread_mutex_unlock(&lock);
}

static void remove_and_free(offbeat_tracer_communicator *communicator) {
    pthread_mutex_lock(&lock);
    offbeat_tracer_communicator **link = &communicators;
    while (*link != NULL && *link != communicator)
        link = &(*link)->next;
    if (*link != NULL)
        *link = communicator->next;
    pthread_mutex_unlock(&lock);
    atomic_fetch_add_explicit(&offbeat_tracer_communicators_generation, 1, memory_order_release);
    free(communicator);
}

/* The attribute's delete function: MPI calls it when the communicator is freed. */
static int delete_attribute(MPI_Comm comm, int keyval, void *attribute, void *extra) {
    (void)comm, (void)keyval, (void)extra;
    offbeat_tracer_communicator *communicator = attribute;
    if (atomic_load(&offbeat_tracer_is_tracing)) {
        offbeat_trace_communicator_end end = {.communicator = communicator->id,
                                              .ended_ns = offbeat_tracer_now_ns(),
                                              .sequences = communicator->sequence};
        offbeat_tracer_define(OFFBEAT_TRACE_COMMUNICATOR_END, &end, sizeof end, NULL, 0);
    }
    remove_and_free(communicator);
    return MPI_SUCCESS;
}

static int get_dist_graph_degrees(offbeat_tracer_communicator *communicator) {
    int is_weighted;
    return PMPI_Dist_graph_neighbors_count(communicator->handle, &communicator->sources,
                                           &communicator->destinations, &is_weighted);
}

/* Sets the numbers of neighbours. @return the topology as in offbeat_trace_communicator */
static uint16_t get_topology(offbeat_tracer_communicator *communicator) {
    const MPI_Comm comm = communicator->handle;
    int kind = MPI_UNDEFINED, dimensions = 0;
    if (communicator->remote_size > 0 || PMPI_Topo_test(comm, &kind) != MPI_SUCCESS)
        return 0;
    if (kind == MPI_CART && PMPI_Cartdim_get(comm, &dimensions) == MPI_SUCCESS) {
        communicator->sources = communicator->destinations = 2 * dimensions;
        return 1;
    }
    if (kind == MPI_GRAPH &&
        PMPI_Graph_neighbors_count(comm, communicator->rank, &communicator->sources) == MPI_SUCCESS) {
        communicator->destinations = communicator->sources;
        return 2;
    }
    return kind == MPI_DIST_GRAPH && get_dist_graph_degrees(communicator) == MPI_SUCCESS ? 3 : 0;
}

/* Whether this process is the first traced one of its group, which writes the members. */
static int is_first_traced(const member_list *members) {
    for (int i = 0; i < members->count; i++)
        if (members->ranks[i] >= 0 &&
            offbeat_ranges_contain(&offbeat_tracer_state.config.ranks, members->ranks[i]))
            return members->ranks[i] == offbeat_tracer_state.rank;
    return 0;
}

static void define(offbeat_tracer_communicator *communicator, uint32_t parent, uint16_t creator) {
    member_list members;
    if (get_members(communicator->handle, &members) != 0)
        return;
    communicator->size = members.count;
    communicator->remote_size = members.remote_count;
    PMPI_Comm_rank(communicator->handle, &communicator->rank);
    communicator->is_sampled = offbeat_ranges_contain(&offbeat_tracer_state.config.comm_sizes,
                                                      (long)members.count + members.remote_count);
    uint64_t hash = hash_members(&members);
    offbeat_trace_communicator definition = {.id = communicator->id,
                                             .parent = parent,
                                             .hash = hash,
                                             .ordinal = next_ordinal(hash),
                                             .size = (uint32_t)members.count,
                                             .remote_size = (uint32_t)members.remote_count,
                                             .rank = communicator->rank,
                                             .maker = creator,
                                             .topology = get_topology(communicator),
                                             .made_ns = offbeat_tracer_now_ns()};
    offbeat_tracer_define(OFFBEAT_TRACE_COMMUNICATOR, &definition, sizeof definition, NULL, 0);
    if (is_first_traced(&members))
        define_members(communicator->id, &members);
    free(members.ranks);
}

static offbeat_tracer_communicator *get_attribute(MPI_Comm comm) {
    void *value = NULL;
    int is_set = 0;
    int rc = PMPI_Comm_get_attr(comm, key, (void *)&value, &is_set);
    return rc == MPI_SUCCESS && is_set ? value : NULL;
}

/* Not called by two threads with one communicator: MPI forbids concurrent collectives on it. */
static offbeat_tracer_communicator *attach(MPI_Comm comm, uint32_t parent, uint16_t creator) {
    offbeat_tracer_communicator *communicator = get_attribute(comm);
    if (communicator != NULL)
        return communicator;
    communicator = calloc(1, sizeof *communicator);
    if (communicator == NULL)
        return NULL;
    communicator->handle = comm;
    communicator->id = atomic_fetch_add(&last_id, 1) + 1;
    define(communicator, parent, creator);
    add(communicator);
    PMPI_Comm_set_attr(comm, key, communicator);
    return communicator;
}

offbeat_tracer_communicator *offbeat_tracer_communicator_find(MPI_Comm comm) {
    return attach(comm, 0, 0);
}

void offbeat_tracer_communicator_created(MPI_Comm newcomm, uint32_t parent, uint16_t creator) {
    if (newcomm != MPI_COMM_NULL)
        attach(newcomm, parent, creator);
}

int offbeat_tracer_communicators_init(void) {
    if (PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, delete_attribute, &key, NULL) != MPI_SUCCESS)
        return -1;
    if (offbeat_tracer_state.has_sessions_only) {
        atomic_store(&last_id, 2); /* 1 and 2 are those that the program does not have */
        return 0;
    }
    attach(MPI_COMM_WORLD, 0, 0);
    attach(MPI_COMM_SELF, 0, 0);
    return 0;
}

void offbeat_tracer_communicators_finalize(void) {
    for (const offbeat_tracer_communicator *entry = communicators; entry != NULL; entry = entry->next)
        offbeat_tracer_communicator_define_name(entry);
}
