/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Initialisation of collectives. The processes exchange what they were given before anything is sent: if one
 * of them was called wrongly, or differently, the call fails on all.
 */
#include "partitioned/arguments.h"
#include "partitioned/collective.h"
#include "partitioned/errors.h"
#include "partitioned/progress.h"
#include "partitioned/settings.h"

#include <offbeat/partitioned_collectives.h>

#include <stdlib.h>

/* What a process tells all others: numbers of MPI_INT64_T. */
enum {
    IS_ALLREDUCE,
    ROOT,
    PARTITIONS,
    PARTITION_BYTES,
    IS_COMMUTATIVE,
    EQUAL, /* the number of entries that must be equal */
    ELEMENT_BYTES = EQUAL,
    MESSAGE_BYTES,
    FIRST_LANE,
    LANE_STEP,
    FANOUT,
    IS_IN_RANK_ORDER,
    IS_VALID,
    LENGTH
};

static const char *const names[EQUAL] = {"the collective (0: broadcast, 1: allreduce)", "the root",
                                         "the number of partitions", "the size of a partition in bytes",
                                         "whether the operation is commutative (0 or 1)"};

/* The arguments that only collectives have. */
typedef struct specifics {
    int is_allreduce, root;
    const void *send;
    MPI_Op op;
    MPI_Datatype datatype; /* the caller's handle: a user-defined operation may compare it */
    MPI_Info info;
} specifics;

/* --- checks --- */

static int check_comm(const offbeat_partitioned_arguments *given, const offbeat_partitioned_comm *comm) {
    int is_inter = 0;
    int rc = PMPI_Comm_test_inter(given->comm, &is_inter);
    if (rc == MPI_SUCCESS && is_inter)
        return offbeat_partitioned_fail(
            given->comm, MPI_ERR_COMM,
            "%s: the communicator is an inter-communicator; a partitioned collective "
            "needs an intra-communicator",
            given->function);
    if (rc == MPI_SUCCESS && comm->root != comm)
        return offbeat_partitioned_fail(
            given->comm, MPI_ERR_COMM,
            "%s: the communicator uses the private communicators of MPI_COMM_WORLD; a partitioned "
            "collective needs own ones",
            given->function);
    return rc;
}

/* Whether MPI can apply a predefined operation to the datatype: otherwise, only the first reduction would
 * fail, at one of the processes, and the others would wait for its result. */
static int check_operation(const offbeat_partitioned_arguments *given, const specifics *own) {
    enum { PREDEFINED = 12 };
    const MPI_Op predefined[PREDEFINED] = {MPI_MAX, MPI_MIN, MPI_SUM,  MPI_PROD, MPI_LAND,   MPI_BAND,
                                           MPI_LOR, MPI_BOR, MPI_LXOR, MPI_BXOR, MPI_MAXLOC, MPI_MINLOC};
    int64_t left[8] = {0}, right[8] = {0}; /* larger than each predefined datatype */
    if (own->op == MPI_OP_NULL || own->op == MPI_REPLACE || own->op == MPI_NO_OP)
        return offbeat_partitioned_fail(given->comm, MPI_ERR_OP,
                                        "%s: the operation is not one of a reduction", given->function);
    for (int i = 0; i < PREDEFINED; i++) {
        if (own->op != predefined[i])
            continue;
        if (!offbeat_partitioned_is_predefined(given->datatype) ||
            PMPI_Reduce_local(left, right, 1, given->datatype, own->op) != MPI_SUCCESS)
            return offbeat_partitioned_fail(given->comm, MPI_ERR_OP,
                                            "%s: the operation is not defined for the datatype",
                                            given->function);
    }
    return MPI_SUCCESS;
}

static int check(const offbeat_partitioned_arguments *given, const specifics *own,
                 const offbeat_partitioned_comm *comm, offbeat_partitioned_collective_settings *settings) {
    char why[OFFBEAT_PARTITIONED_WHY_BYTES];
    int rc = offbeat_partitioned_check_elements(given);
    if (rc != MPI_SUCCESS)
        return rc;
    if (own->root < 0 || own->root >= comm->peers)
        return offbeat_partitioned_fail(given->comm, MPI_ERR_ROOT, "%s: the root is %d; it must be 0 to %d",
                                        given->function, own->root, comm->peers - 1);
    if (!offbeat_partitioned_read_collective_settings(own->info, settings, why))
        return offbeat_partitioned_fail(given->comm, MPI_ERR_INFO_VALUE, "%s: %s", given->function, why);
    return own->is_allreduce ? check_operation(given, own) : MPI_SUCCESS;
}

/* --- agreement --- */

static void describe(const offbeat_partitioned_request *request, const specifics *own,
                     const offbeat_partitioned_collective_settings *settings, int64_t *record) {
    int is_commutative = 1;
    if (own->is_allreduce)
        PMPI_Op_commutative(own->op, &is_commutative);
    record[IS_ALLREDUCE] = own->is_allreduce;
    record[ROOT] = own->root;
    record[PARTITIONS] = request->partitions;
    record[PARTITION_BYTES] = request->count * request->element_bytes;
    record[IS_COMMUTATIVE] = is_commutative;
    record[ELEMENT_BYTES] = request->element_bytes;
    record[MESSAGE_BYTES] = settings->message_bytes;
    record[FIRST_LANE] =
        settings->lane >= 0
            ? settings->lane
            : (int64_t)(atomic_fetch_add(&request->comm->next_lane, 1) % (unsigned)request->comm->lane_count);
    record[LANE_STEP] = settings->lane < 0;
    record[FANOUT] = settings->fanout;
    record[IS_IN_RANK_ORDER] = settings->is_in_rank_order;
    record[IS_VALID] = 1;
}

/* Compares the records of all processes, which find the same. @return an error code, which was raised */
static int compare(const offbeat_partitioned_arguments *given, const int64_t *records, int size, int rank) {
    if (!records[rank * LENGTH + IS_VALID])
        return MPI_ERR_ARG; /* was raised before */
    for (int i = 0; i < size; i++)
        if (!records[i * LENGTH + IS_VALID])
            return offbeat_partitioned_fail(given->comm, MPI_ERR_ARG,
                                            "%s: the arguments of rank %d are wrong", given->function, i);
    for (int i = 1; i < size; i++)
        for (int k = 0; k < EQUAL; k++)
            if (records[i * LENGTH + k] != records[k])
                return offbeat_partitioned_fail(
                    given->comm, MPI_ERR_ARG,
                    "%s: %s is %lld at rank %d and %lld at rank 0; it must be equal on all processes",
                    given->function, names[k], (long long)records[i * LENGTH + k], i, (long long)records[k]);
    return MPI_SUCCESS;
}

/* The size of a unit: the largest element of all processes if the others divide it, else a partition. */
static int64_t unit_bytes_of(const int64_t *records, int size) {
    int64_t largest = 1;
    for (int i = 0; i < size; i++)
        if (records[i * LENGTH + ELEMENT_BYTES] > largest)
            largest = records[i * LENGTH + ELEMENT_BYTES];
    for (int i = 0; i < size; i++)
        if (records[i * LENGTH + ELEMENT_BYTES] > 0 && largest % records[i * LENGTH + ELEMENT_BYTES] != 0)
            return records[PARTITION_BYTES];
    return largest;
}

/* --- the request --- */

static void lay_out(offbeat_partitioned_request *request, const int64_t *records, int root) {
    offbeat_partitioned_collective *of = request->collective;
    const int64_t *decided = &records[root * LENGTH];
    const int64_t unit_bytes = unit_bytes_of(records, of->size);
    const int64_t units = unit_bytes > 0 ? records[PARTITION_BYTES] / unit_bytes : 0;
    const int64_t message_bytes = decided[MESSAGE_BYTES] > 0
                                      ? decided[MESSAGE_BYTES]
                                      : offbeat_partitioned_default_message_bytes(
                                            of->size, request->partitions * records[PARTITION_BYTES]);
    of->layout = offbeat_partitioned_divide(request->partitions, units, unit_bytes, message_bytes);
    of->unit_elements = request->element_bytes > 0 ? unit_bytes / request->element_bytes : 0;
    of->is_in_rank_order = decided[IS_IN_RANK_ORDER] || !decided[IS_COMMUTATIVE];
    request->first_lane = (int)decided[FIRST_LANE];
    request->lane_step = (int)decided[LANE_STEP];
    const int messages = offbeat_partitioned_steps(of);
    const int fanout =
        decided[FANOUT] > 0 ? (int)decided[FANOUT] : offbeat_partitioned_best_fanout(of->size, messages);
    of->tree = offbeat_partitioned_tree_of(of->rank, of->size, root, fanout);
    if (of->is_allreduce)
        of->tree = (offbeat_partitioned_tree){.parent = (of->rank + of->size - 1) % of->size,
                                              .first_child = (of->rank + 1) % of->size,
                                              .children = of->size > 1};
}

static int allocate_reduction(offbeat_partitioned_request *request, const specifics *own) {
    offbeat_partitioned_collective *of = request->collective;
    int64_t largest = 0;
    for (int i = 0; i < offbeat_partitioned_steps(of); i++) {
        const int64_t units = offbeat_partitioned_first_unit(&of->layout, i + 1) -
                              offbeat_partitioned_first_unit(&of->layout, i);
        largest = units > largest ? units : largest;
    }
    of->reduction = (offbeat_partitioned_reduction){.op = own->op,
                                                    .may_swap = !of->is_in_rank_order,
                                                    .datatype = own->datatype,
                                                    .element_bytes = request->element_bytes,
                                                    .extent = request->extent,
                                                    .send = own->send == MPI_IN_PLACE ? NULL : own->send,
                                                    .result = request->buffer};
    return offbeat_partitioned_reduction_allocate(&of->reduction, request->partitions * request->count,
                                                  largest * of->unit_elements);
}

/* Allocates the memory and the tags of this process. @return an MPI error code */
static int allocate(offbeat_partitioned_request *request, const specifics *own) {
    offbeat_partitioned_collective *of = request->collective;
    offbeat_partitioned_plan_init(&request->plan, request->partitions, of->layout.groups, 0);
    request->most_messages = of->layout.groups;
    request->sender_partitions = request->partitions;
    request->sender_partition_bytes = request->count * request->element_bytes;
    int rc = offbeat_partitioned_allocate_messages(request);
    if (rc == MPI_SUCCESS)
        rc = offbeat_partitioned_allocate_bits(request);
    if (rc == MPI_SUCCESS)
        rc = offbeat_partitioned_collective_allocate(request);
    if (rc == MPI_SUCCESS && of->is_allreduce)
        rc = allocate_reduction(request, own);
    if (rc == MPI_SUCCESS)
        rc = offbeat_partitioned_take_tags(request, offbeat_partitioned_steps(of) * (1 + of->is_allreduce));
    return rc == OFFBEAT_PARTITIONED_NO_TAGS ? MPI_ERR_TAG : rc;
}

/* Tells all processes the own first tag, or the failure. @return an error code, which was raised */
static int exchange_tags(const offbeat_partitioned_arguments *given, offbeat_partitioned_request *request,
                         int own_rc) {
    offbeat_partitioned_collective *of = request->collective;
    int own_tag = own_rc == MPI_SUCCESS ? request->first_tag : -1;
    int *tags = malloc((size_t)of->size * sizeof *tags);
    if (tags == NULL)
        return offbeat_partitioned_raise(given->comm, MPI_ERR_NO_MEM);
    int rc = PMPI_Allgather(&own_tag, 1, MPI_INT, tags, 1, MPI_INT, request->comm->setup), failed = -1;
    for (int i = 0; i < of->size && rc == MPI_SUCCESS; i++)
        if (tags[i] < 0 && failed < 0)
            failed = i;
    of->parent_tag = rc == MPI_SUCCESS && of->tree.parent >= 0 ? tags[of->tree.parent] : 0;
    free(tags);
    if (rc != MPI_SUCCESS)
        return offbeat_partitioned_raise(given->comm, rc);
    if (failed < 0)
        return MPI_SUCCESS;
    return offbeat_partitioned_fail(given->comm, own_rc == MPI_SUCCESS ? MPI_ERR_OTHER : own_rc,
                                    "%s: rank %d has no memory or no tags left for the request",
                                    given->function, failed);
}

/* Agrees with the other processes on the request. @return an error code, which was raised */
static int agree(const offbeat_partitioned_arguments *given, const specifics *own,
                 const offbeat_partitioned_comm *comm, const int64_t *record,
                 offbeat_partitioned_request *request) {
    const int size = comm->peers;
    int64_t *records = malloc((size_t)size * LENGTH * sizeof *records);
    if (records == NULL)
        return offbeat_partitioned_raise(given->comm, MPI_ERR_NO_MEM);
    int rank = 0;
    PMPI_Comm_rank(comm->setup, &rank);
    int rc = offbeat_partitioned_raise(
        given->comm, PMPI_Allgather(record, LENGTH, MPI_INT64_T, records, LENGTH, MPI_INT64_T, comm->setup));
    if (rc == MPI_SUCCESS)
        rc = compare(given, records, size, rank);
    if (rc == MPI_SUCCESS) {
        request->collective->rank = rank;
        request->collective->size = size;
        request->collective->is_allreduce = own->is_allreduce;
        lay_out(request, records, own->root);
        rc = exchange_tags(given, request, allocate(request, own));
    }
    free(records);
    return rc;
}

static int create(const offbeat_partitioned_arguments *given, offbeat_partitioned_comm *comm,
                  offbeat_partitioned_request **created) {
    int rc = offbeat_partitioned_describe(given, comm, created);
    if (rc != MPI_SUCCESS)
        return rc;
    (*created)->collective = calloc(1, sizeof *(*created)->collective);
    return (*created)->collective == NULL ? MPI_ERR_NO_MEM : MPI_SUCCESS;
}

static int init(offbeat_partitioned_arguments *given, const specifics *own, offbeat_prequest *request) {
    offbeat_partitioned_comm *comm = NULL;
    offbeat_partitioned_collective_settings settings = {0};
    offbeat_partitioned_request *created = NULL;
    int64_t record[LENGTH] = {0};
    int rc = offbeat_partitioned_find_comm(given, &comm, request);
    if (rc == MPI_SUCCESS)
        rc = check_comm(given, comm);
    if (rc != MPI_SUCCESS || comm == NULL)
        return rc;
    int wrong = check(given, own, comm, &settings);
    if (wrong == MPI_SUCCESS)
        wrong = offbeat_partitioned_raise(given->comm, create(given, comm, &created));
    if (wrong == MPI_SUCCESS)
        describe(created, own, &settings, record);
    rc = agree(given, own, comm, record, created);
    offbeat_partitioned_progress_some();
    if (rc == MPI_SUCCESS)
        *request = created;
    else if (created != NULL)
        offbeat_partitioned_destroy(created);
    return wrong != MPI_SUCCESS ? wrong : rc;
}

int offbeat_pbcast_init(void *buffer, int partitions, MPI_Count count, MPI_Datatype datatype, int root,
                        MPI_Comm comm, MPI_Info info, offbeat_prequest *request) {
    int rank = MPI_PROC_NULL;
    if (comm != MPI_COMM_NULL)
        PMPI_Comm_rank(comm, &rank);
    offbeat_partitioned_arguments given = {.function = "offbeat_pbcast_init",
                                           .is_send = rank == root,
                                           .buffer = buffer,
                                           .partitions = partitions,
                                           .count = count,
                                           .datatype = datatype,
                                           .peer = MPI_PROC_NULL,
                                           .comm = comm};
    const specifics own = {.root = root, .op = MPI_OP_NULL, .info = info};
    return init(&given, &own, request);
}

int offbeat_pallreduce_init(const void *sendbuf, void *recvbuf, int partitions, MPI_Count count,
                            MPI_Datatype datatype, MPI_Op op, MPI_Comm comm, MPI_Info info,
                            offbeat_prequest *request) {
    offbeat_partitioned_arguments given = {.function = "offbeat_pallreduce_init",
                                           .is_send = 1,
                                           .buffer = recvbuf,
                                           .partitions = partitions,
                                           .count = count,
                                           .datatype = datatype,
                                           .peer = MPI_PROC_NULL,
                                           .comm = comm};
    const specifics own = {.is_allreduce = 1, .send = sendbuf, .op = op, .datatype = datatype, .info = info};
    return init(&given, &own, request);
}
