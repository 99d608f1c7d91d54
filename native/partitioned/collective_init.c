/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Initialisation of collectives. The processes exchange what they were arguments before anything is sent: if
 * one of them was called wrongly, or differently, the call fails on all.
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
typedef struct collective_arguments {
    int is_allreduce, root;
    const void *send;
    MPI_Op op;
    MPI_Datatype datatype; /* the caller's handle: a user-defined operation may compare it */
    MPI_Info info;
} collective_arguments;

/* --- checks --- */

static int check_comm(const offbeat_partitioned_arguments *arguments, const offbeat_partitioned_comm *comm) {
    int is_inter = 0;
    int rc = PMPI_Comm_test_inter(arguments->comm, &is_inter);
    if (rc == MPI_SUCCESS && is_inter)
        return offbeat_partitioned_fail(
            arguments->comm, MPI_ERR_COMM,
            "%s: the communicator is an inter-communicator; a partitioned collective "
            "needs an intra-communicator",
            arguments->function);
    if (rc == MPI_SUCCESS && comm->root != comm)
        return offbeat_partitioned_fail(
            arguments->comm, MPI_ERR_COMM,
            "%s: the communicator uses the private communicators of MPI_COMM_WORLD; a partitioned "
            "collective needs own ones",
            arguments->function);
    return rc;
}

/* Whether MPI can apply a predefined operation to the datatype: otherwise, only the first reduction would
 * fail, at one of the processes, and the others would wait for its result. */
static int check_operation(const offbeat_partitioned_arguments *arguments,
                           const collective_arguments *details) {
    enum { OPERATIONS = 12 };
    const MPI_Op operations[OPERATIONS] = {MPI_MAX, MPI_MIN, MPI_SUM,  MPI_PROD, MPI_LAND,   MPI_BAND,
                                           MPI_LOR, MPI_BOR, MPI_LXOR, MPI_BXOR, MPI_MAXLOC, MPI_MINLOC};
    int64_t left[8] = {0}, right[8] = {0}; /* larger than each predefined datatype */
    if (details->op == MPI_OP_NULL || details->op == MPI_REPLACE || details->op == MPI_NO_OP)
        return offbeat_partitioned_fail(arguments->comm, MPI_ERR_OP,
                                        "%s: the operation is not one of a reduction", arguments->function);
    for (int i = 0; i < OPERATIONS; i++) {
        if (details->op != operations[i])
            continue;
        if (!offbeat_partitioned_is_predefined(arguments->datatype) ||
            PMPI_Reduce_local(left, right, 1, arguments->datatype, details->op) != MPI_SUCCESS)
            return offbeat_partitioned_fail(arguments->comm, MPI_ERR_OP,
                                            "%s: the operation is not defined for the datatype",
                                            arguments->function);
    }
    return MPI_SUCCESS;
}

static int check(const offbeat_partitioned_arguments *arguments, const collective_arguments *details,
                 const offbeat_partitioned_comm *comm, offbeat_partitioned_collective_settings *settings) {
    char why[OFFBEAT_PARTITIONED_WHY_BYTES];
    int rc = offbeat_partitioned_check_elements(arguments);
    if (rc != MPI_SUCCESS)
        return rc;
    if (details->root < 0 || details->root >= comm->peers)
        return offbeat_partitioned_fail(arguments->comm, MPI_ERR_ROOT,
                                        "%s: the root is %d; it must be 0 to %d", arguments->function,
                                        details->root, comm->peers - 1);
    if (!offbeat_partitioned_read_collective_settings(details->info, settings, why))
        return offbeat_partitioned_fail(arguments->comm, MPI_ERR_INFO_VALUE, "%s: %s", arguments->function,
                                        why);
    return details->is_allreduce ? check_operation(arguments, details) : MPI_SUCCESS;
}

/* --- agreement --- */

static void describe(const offbeat_partitioned_request *request, const collective_arguments *details,
                     const offbeat_partitioned_collective_settings *settings, int64_t *record) {
    int is_commutative = 1;
    if (details->is_allreduce)
        PMPI_Op_commutative(details->op, &is_commutative);
    record[IS_ALLREDUCE] = details->is_allreduce;
    record[ROOT] = details->root;
    record[PARTITIONS] = request->partitions;
    record[PARTITION_BYTES] = offbeat_partitioned_partition_bytes(request);
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
static int compare(const offbeat_partitioned_arguments *arguments, const int64_t *records, int size,
                   int rank) {
    if (!records[rank * LENGTH + IS_VALID])
        return MPI_ERR_ARG; /* was raised before */
    for (int i = 0; i < size; i++)
        if (!records[i * LENGTH + IS_VALID])
            return offbeat_partitioned_fail(arguments->comm, MPI_ERR_ARG,
                                            "%s: the arguments of rank %d are wrong", arguments->function, i);
    for (int i = 1; i < size; i++)
        for (int k = 0; k < EQUAL; k++)
            if (records[i * LENGTH + k] != records[k])
                return offbeat_partitioned_fail(
                    arguments->comm, MPI_ERR_ARG,
                    "%s: %s is %lld at rank %d and %lld at rank 0; it must be equal on all processes",
                    arguments->function, names[k], (long long)records[i * LENGTH + k], i,
                    (long long)records[k]);
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

static void lay_out(offbeat_partitioned_collective *call, const int64_t *records, int root) {
    const offbeat_partitioned_request *request = &call->marks.head;
    const int64_t *root_record = &records[root * LENGTH];
    const int64_t unit_bytes = unit_bytes_of(records, call->size);
    const int64_t units = unit_bytes > 0 ? records[PARTITION_BYTES] / unit_bytes : 0;
    const int64_t message_bytes = root_record[MESSAGE_BYTES] > 0
                                      ? root_record[MESSAGE_BYTES]
                                      : offbeat_partitioned_default_message_bytes(
                                            call->size, request->partitions * records[PARTITION_BYTES]);
    call->layout = offbeat_partitioned_divide(request->partitions, units, unit_bytes, message_bytes);
    call->unit_elements = request->element_bytes > 0 ? unit_bytes / request->element_bytes : 0;
    call->is_in_rank_order = root_record[IS_IN_RANK_ORDER] || !root_record[IS_COMMUTATIVE];
    call->marks.messages.first_lane = (int)root_record[FIRST_LANE];
    call->marks.messages.lane_step = (int)root_record[LANE_STEP];
    const int messages = offbeat_partitioned_steps(call);
    const int fanout = root_record[FANOUT] > 0 ? (int)root_record[FANOUT]
                                               : offbeat_partitioned_best_fanout(call->size, messages);
    call->tree = offbeat_partitioned_tree_of(call->rank, call->size, root, fanout);
    if (call->is_allreduce)
        call->tree = (offbeat_partitioned_tree){.parent = (call->rank + call->size - 1) % call->size,
                                                .first_child = (call->rank + 1) % call->size,
                                                .children = call->size > 1};
}

static int allocate_reduction(offbeat_partitioned_collective *call, const collective_arguments *details) {
    const offbeat_partitioned_request *request = &call->marks.head;
    int64_t largest = 0;
    for (int i = 0; i < offbeat_partitioned_steps(call); i++) {
        const int64_t units = offbeat_partitioned_first_unit(&call->layout, i + 1) -
                              offbeat_partitioned_first_unit(&call->layout, i);
        largest = units > largest ? units : largest;
    }
    call->reduction =
        (offbeat_partitioned_reduction){.op = details->op,
                                        .may_swap = !call->is_in_rank_order,
                                        .datatype = details->datatype,
                                        .element_bytes = request->element_bytes,
                                        .extent = request->extent,
                                        .send = details->send == MPI_IN_PLACE ? NULL : details->send,
                                        .result = request->buffer};
    return offbeat_partitioned_reduction_allocate(&call->reduction, request->partitions * request->count,
                                                  largest * call->unit_elements);
}

/* Allocates the memory and the tags of this process. @return an MPI error code */
static int allocate(offbeat_partitioned_collective *call, const collective_arguments *details) {
    offbeat_partitioned_request *request = &call->marks.head;
    offbeat_partitioned_messages *groups = &call->marks.messages;
    offbeat_partitioned_plan_init(&groups->plan, request->partitions, call->layout.groups, 0);
    groups->limit = call->layout.groups;
    groups->partitions = request->partitions;
    groups->partition_bytes = offbeat_partitioned_partition_bytes(request);
    int rc = offbeat_partitioned_messages_allocate(groups, request);
    if (rc == MPI_SUCCESS)
        rc = offbeat_partitioned_marks_allocate(&call->marks);
    if (rc == MPI_SUCCESS)
        rc = offbeat_partitioned_collective_allocate(call);
    if (rc == MPI_SUCCESS && call->is_allreduce)
        rc = allocate_reduction(call, details);
    if (rc == MPI_SUCCESS)
        rc = offbeat_partitioned_comm_take_tags(
            request->comm, offbeat_partitioned_steps(call) * (1 + call->is_allreduce), &request->tags);
    groups->first_tag = request->tags.first;
    return rc == OFFBEAT_PARTITIONED_NO_TAGS ? MPI_ERR_TAG : rc;
}

/* Tells all processes the own first tag, or the failure. @return an error code, which was raised */
static int exchange_tags(const offbeat_partitioned_arguments *arguments, offbeat_partitioned_collective *call,
                         int own_rc) {
    int own_tag = own_rc == MPI_SUCCESS ? call->marks.messages.first_tag : -1;
    int *tags = malloc((size_t)call->size * sizeof *tags);
    if (tags == NULL)
        return offbeat_partitioned_raise(arguments->comm, MPI_ERR_NO_MEM);
    int rc = PMPI_Allgather(&own_tag, 1, MPI_INT, tags, 1, MPI_INT,
                            call->marks.head.comm->root->matching.comm),
        failed_rank = -1;
    for (int i = 0; i < call->size && rc == MPI_SUCCESS; i++)
        if (tags[i] < 0 && failed_rank < 0)
            failed_rank = i;
    call->parent_tag = rc == MPI_SUCCESS && call->tree.parent >= 0 ? tags[call->tree.parent] : 0;
    free(tags);
    if (rc != MPI_SUCCESS)
        return offbeat_partitioned_raise(arguments->comm, rc);
    if (failed_rank < 0)
        return MPI_SUCCESS;
    return offbeat_partitioned_fail(arguments->comm, own_rc == MPI_SUCCESS ? MPI_ERR_OTHER : own_rc,
                                    "%s: rank %d has no memory or no tags left for the request",
                                    arguments->function, failed_rank);
}

/* Agrees with the other processes on the request. @return an error code, which was raised */
static int agree(const offbeat_partitioned_arguments *arguments, const collective_arguments *details,
                 const offbeat_partitioned_comm *comm, const int64_t *record,
                 offbeat_partitioned_collective *call) {
    const int size = comm->peers;
    int64_t *records = malloc((size_t)size * LENGTH * sizeof *records);
    if (records == NULL)
        return offbeat_partitioned_raise(arguments->comm, MPI_ERR_NO_MEM);
    int rank = 0;
    PMPI_Comm_rank(comm->root->matching.comm, &rank);
    int rc = offbeat_partitioned_raise(
        arguments->comm,
        PMPI_Allgather(record, LENGTH, MPI_INT64_T, records, LENGTH, MPI_INT64_T, comm->root->matching.comm));
    if (rc == MPI_SUCCESS)
        rc = compare(arguments, records, size, rank);
    if (rc == MPI_SUCCESS) {
        call->rank = rank;
        call->size = size;
        call->is_allreduce = details->is_allreduce;
        lay_out(call, records, details->root);
        rc = exchange_tags(arguments, call, allocate(call, details));
    }
    free(records);
    return rc;
}

static int init(offbeat_partitioned_arguments *arguments, const collective_arguments *details,
                offbeat_prequest *request) {
    offbeat_partitioned_comm *comm = NULL;
    offbeat_partitioned_collective_settings settings = {0};
    offbeat_partitioned_request *result = NULL;
    int64_t record[LENGTH] = {0};
    int rc = offbeat_partitioned_find_comm(arguments, &comm, request);
    if (rc == MPI_SUCCESS)
        rc = check_comm(arguments, comm);
    if (rc != MPI_SUCCESS || comm == NULL)
        return rc;
    int wrong = check(arguments, details, comm, &settings);
    if (wrong == MPI_SUCCESS)
        wrong = offbeat_partitioned_raise(
            arguments->comm, offbeat_partitioned_describe(
                                 arguments, comm, &offbeat_partitioned_collective_operations, &result));
    if (wrong == MPI_SUCCESS)
        describe(result, details, &settings, record);
    rc = agree(arguments, details, comm, record, (offbeat_partitioned_collective *)result);
    offbeat_partitioned_progress_some();
    if (rc == MPI_SUCCESS)
        *request = result;
    else if (result != NULL)
        offbeat_partitioned_destroy(result);
    return wrong != MPI_SUCCESS ? wrong : rc;
}

int offbeat_pbcast_init(void *buffer, int partitions, MPI_Count count, MPI_Datatype datatype, int root,
                        MPI_Comm comm, MPI_Info info, offbeat_prequest *request) {
    int rank = MPI_PROC_NULL;
    if (comm != MPI_COMM_NULL)
        PMPI_Comm_rank(comm, &rank);
    offbeat_partitioned_arguments arguments = {.function = "offbeat_pbcast_init",
                                               .can_be_ready = rank == root,
                                               .buffer = buffer,
                                               .partitions = partitions,
                                               .count = count,
                                               .datatype = datatype,
                                               .comm = comm};
    const collective_arguments details = {.root = root, .op = MPI_OP_NULL, .info = info};
    return init(&arguments, &details, request);
}

int offbeat_pallreduce_init(const void *sendbuf, void *recvbuf, int partitions, MPI_Count count,
                            MPI_Datatype datatype, MPI_Op op, MPI_Comm comm, MPI_Info info,
                            offbeat_prequest *request) {
    offbeat_partitioned_arguments arguments = {.function = "offbeat_pallreduce_init",
                                               .can_be_ready = 1,
                                               .buffer = recvbuf,
                                               .partitions = partitions,
                                               .count = count,
                                               .datatype = datatype,
                                               .comm = comm};
    const collective_arguments details = {
        .is_allreduce = 1, .send = sendbuf, .op = op, .datatype = datatype, .info = info};
    return init(&arguments, &details, request);
}
