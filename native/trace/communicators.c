/* SPDX-License-Identifier: BSD-3-Clause */
#include "trace/communicators.h"

#include "trace/define.h"
#include "trace/members.h"
#include "trace/process.h"

#include <pthread.h>
#include <stdlib.h>

_Atomic unsigned offbeat_communicators_generation;

/* Of the list of those that live. MPI calls `freed` with locks of its own held: so no MPI function may be
 * called with this one held, or two threads wait for each other. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static offbeat_communicator *alive;
static _Atomic uint32_t last_id;
static int key = MPI_KEYVAL_INVALID;

void offbeat_communicator_define_name(const offbeat_communicator *known) {
    char name[MPI_MAX_OBJECT_NAME] = "";
    int length = 0;
    if (PMPI_Comm_get_name(known->handle, name, &length) != MPI_SUCCESS || length == 0)
        return;
    offbeat_trace_communicator_name named = {.communicator = known->id, .name_bytes = (uint32_t)length};
    offbeat_define(OFFBEAT_TRACE_COMMUNICATOR_NAME, &named, sizeof named, name, (size_t)length);
}

static void forget(offbeat_communicator *known) {
    pthread_mutex_lock(&lock);
    offbeat_communicator **link = &alive;
    while (*link != NULL && *link != known)
        link = &(*link)->next;
    if (*link != NULL)
        *link = known->next;
    pthread_mutex_unlock(&lock);
    atomic_fetch_add_explicit(&offbeat_communicators_generation, 1, memory_order_release);
    free(known);
}

/* MPI calls it when the communicator is freed. */
static int freed(MPI_Comm comm, int keyval, void *attribute, void *extra) {
    (void)comm, (void)keyval, (void)extra;
    offbeat_communicator *known = attribute;
    if (atomic_load(&offbeat_is_tracing)) {
        offbeat_trace_communicator_end end = {
            .communicator = known->id, .ended_ns = offbeat_now_ns(), .sequences = known->sequence};
        offbeat_define(OFFBEAT_TRACE_COMMUNICATOR_END, &end, sizeof end, NULL, 0);
    }
    forget(known);
    return MPI_SUCCESS;
}

static int dist_graph_degrees(MPI_Comm comm, offbeat_communicator *known) {
    int is_weighted;
    return PMPI_Dist_graph_neighbors_count(comm, &known->sources, &known->destinations, &is_weighted);
}

/* To how many neighbours it sends; the file's number of the topology. */
static uint16_t look_at_topology(MPI_Comm comm, offbeat_communicator *known) {
    int kind = MPI_UNDEFINED, dimensions = 0;
    if (known->remote_size > 0 || PMPI_Topo_test(comm, &kind) != MPI_SUCCESS)
        return 0;
    if (kind == MPI_CART && PMPI_Cartdim_get(comm, &dimensions) == MPI_SUCCESS) {
        known->sources = known->destinations = 2 * dimensions;
        return 1;
    }
    if (kind == MPI_GRAPH && PMPI_Graph_neighbors_count(comm, known->rank, &known->sources) == MPI_SUCCESS) {
        known->destinations = known->sources;
        return 2;
    }
    return kind == MPI_DIST_GRAPH && dist_graph_degrees(comm, known) == MPI_SUCCESS ? 3 : 0;
}

/* Whether this process is the first member that writes a file: in the other group, too, one does. */
static int is_first_traced(const offbeat_world_ranks *members) {
    for (int i = 0; i < members->count; i++)
        if (members->ranks[i] >= 0 && offbeat_ranges_have(&offbeat_process.wishes.ranks, members->ranks[i]))
            return members->ranks[i] == offbeat_process.rank;
    return 0;
}

static void define(offbeat_communicator *known, uint32_t parent, uint16_t maker) {
    offbeat_world_ranks members;
    if (offbeat_members_find(known->handle, &members) != 0)
        return;
    known->size = members.count;
    known->remote_size = members.remote_count;
    PMPI_Comm_rank(known->handle, &known->rank);
    known->is_wanted =
        offbeat_ranges_have(&offbeat_process.wishes.sizes, (long)members.count + members.remote_count);
    uint64_t hash = offbeat_members_hash(&members);
    offbeat_trace_communicator definition = {.id = known->id,
                                             .parent = parent,
                                             .hash = hash,
                                             .ordinal = offbeat_members_ordinal(hash),
                                             .size = (uint32_t)members.count,
                                             .remote_size = (uint32_t)members.remote_count,
                                             .rank = known->rank,
                                             .maker = maker,
                                             .topology = look_at_topology(known->handle, known),
                                             .made_ns = offbeat_now_ns()};
    offbeat_define(OFFBEAT_TRACE_COMMUNICATOR, &definition, sizeof definition, NULL, 0);
    if (is_first_traced(&members))
        offbeat_members_define(known->id, &members);
    free(members.ranks);
}

static offbeat_communicator *attached(MPI_Comm comm) {
    void *value = NULL;
    int is_there = 0;
    int rc = PMPI_Comm_get_attr(comm, key, (void *)&value, &is_there);
    return rc == MPI_SUCCESS && is_there ? value : NULL;
}

static void remember(offbeat_communicator *known) {
    pthread_mutex_lock(&lock);
    known->next = alive;
    alive = known;
    pthread_mutex_unlock(&lock);
}

/* Two threads don't come here with one communicator: MPI forbids them to call its collectives at once. */
static offbeat_communicator *attach(MPI_Comm comm, uint32_t parent, uint16_t maker) {
    offbeat_communicator *known = attached(comm);
    if (known != NULL)
        return known;
    known = calloc(1, sizeof *known);
    if (known == NULL)
        return NULL;
    known->handle = comm;
    known->id = atomic_fetch_add(&last_id, 1) + 1;
    define(known, parent, maker);
    remember(known);
    PMPI_Comm_set_attr(comm, key, known);
    return known;
}

offbeat_communicator *offbeat_communicator_find(MPI_Comm comm) {
    return attach(comm, 0, 0);
}

void offbeat_communicator_made(MPI_Comm made, uint32_t parent, uint16_t maker) {
    if (made != MPI_COMM_NULL)
        attach(made, parent, maker);
}

int offbeat_communicators_begin(void) {
    if (PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, freed, &key, NULL) != MPI_SUCCESS)
        return -1;
    attach(MPI_COMM_WORLD, 0, 0);
    attach(MPI_COMM_SELF, 0, 0);
    return 0;
}

/* No other thread calls MPI any more. */
void offbeat_communicators_end(void) {
    for (const offbeat_communicator *known = alive; known != NULL; known = known->next)
        offbeat_communicator_define_name(known);
}
