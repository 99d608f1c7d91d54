/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What partitioned collectives promise: partitions arrive before others are ready, the order of reduction,
 * threads, large messages, communicators of their own, and wrong calls as errors with a sentence.
 */
#include <offbeat/partitioned_collectives.h>

#include "testing/mpi_assert.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank, size, errors_handled;
static MPI_Comm comm;

static MPI_Info info_with(const char *key, const char *value) {
    MPI_Info info;
    MPI_Info_create(&info);
    MPI_Info_set(info, key, value);
    return info;
}

static double number(int source, int iteration, int index) {
    return source * 1e6 + iteration * 1e4 + index;
}

static void wait_for(offbeat_prequest request, int partition) {
    for (int flag = 0; !flag; sched_yield())
        mpi_assert_success(offbeat_parrived(request, partition, &flag), "offbeat_parrived");
}

static void complete_and_free(offbeat_prequest *request) {
    mpi_assert_success(offbeat_pwait(request, MPI_STATUS_IGNORE), "offbeat_pwait");
    mpi_assert_success(offbeat_prequest_free(request), "offbeat_prequest_free");
    mpi_assert(*request == OFFBEAT_PREQUEST_NULL, "A freed request is not null.");
}

/* --- the early bird --- */

/* The root marks a partition only after the last process has confirmed that the previous partition arrived.
 */
static void receivers_have_a_partition_before_the_next_is_ready(int count, const char *fanout) {
    enum { PARTITIONS = 3 };
    double *data = malloc(sizeof(double) * PARTITIONS * (size_t)count + 1);
    MPI_Info info = info_with("offbeat_message_bytes", "800");
    offbeat_prequest request;
    int token, last = size - 1;
    MPI_Info_set(info, "offbeat_fanout", fanout);
    mpi_assert_success(offbeat_pbcast_init(data, PARTITIONS, count, MPI_DOUBLE, 0, comm, info, &request),
                       "offbeat_pbcast_init");
    offbeat_pstart(&request);
    for (int i = 0; i < PARTITIONS; i++) {
        for (int k = 0; k < count && rank == 0; k++)
            data[i * count + k] = number(0, i, k);
        if (rank == 0)
            mpi_assert_success(offbeat_pready(i, request), "offbeat_pready");
        wait_for(request, i);
        mpi_assert(data[(i + 1) * count - 1] == number(0, i, count - 1), "Partition %d is wrong.", i);
        if (rank == last && rank != 0)
            MPI_Send(&token, 1, MPI_INT, 0, i, comm);
        for (int flag = 0; rank == 0 && last != 0 && !flag;
             sched_yield()) { /* large messages move only inside MPI */
            int is_complete;
            MPI_Iprobe(last, i, comm, &flag, MPI_STATUS_IGNORE);
            if (i < PARTITIONS - 1) {
                offbeat_ptest(&request, &is_complete, MPI_STATUS_IGNORE);
                mpi_assert(!is_complete, "A broadcast is complete before all partitions are ready.");
            } else {
                offbeat_parrived(request, i, &is_complete);
            }
        }
        if (rank == 0 && last != 0)
            MPI_Recv(&token, 1, MPI_INT, last, i, comm, MPI_STATUS_IGNORE);
    }
    complete_and_free(&request);
    MPI_Info_free(&info);
    free(data);
}

/* Each process marks a partition only after it has the sum of the previous one. */
static void sums_are_here_before_the_next_partition_is_ready(int count, int is_in_place) {
    enum { PARTITIONS = 3 };
    double *contribution = malloc(sizeof(double) * PARTITIONS * (size_t)count + 1),
           *sum = malloc(sizeof(double) * PARTITIONS * (size_t)count + 1);
    double *filled_buffer = is_in_place ? sum : contribution;
    MPI_Info info = info_with("offbeat_message_bytes", "800");
    offbeat_prequest request;
    mpi_assert_success(offbeat_pallreduce_init(is_in_place ? MPI_IN_PLACE : contribution, sum, PARTITIONS,
                                               count, MPI_DOUBLE, MPI_SUM, comm, info, &request),
                       "offbeat_pallreduce_init");
    offbeat_pstart(&request);
    for (int i = 0; i < PARTITIONS; i++) {
        for (int k = 0; k < count; k++)
            filled_buffer[i * count + k] = number(rank, i, k);
        mpi_assert_success(offbeat_pready(i, request), "offbeat_pready");
        wait_for(request, i);
        for (int k = 0; k < count; k++) {
            const double expected_sum = size * number(0, i, k) + 1e6 * size * (size - 1) / 2;
            mpi_assert(sum[i * count + k] == expected_sum, "Partition %d: %.0f instead of %.0f.", i,
                       sum[i * count + k], expected_sum);
        }
    }
    complete_and_free(&request);
    MPI_Info_free(&info);
    free(contribution);
    free(sum);
}

/* --- the order of reduction --- */

/* Numbers whose sum depends on the order. */
static double rough(int source, int index) {
    return (source % 2 ? -1.0 : 1.0) * (1.0 + index * 0.7) / (1 + source * 3 + index % 5) *
           (index % 3 ? 1.0 : 1e15);
}

static void reduce_rough(double *sum, int partitions, int count, const char *order, int messages_bytes,
                         int shift) {
    double *contribution = malloc(sizeof(double) * (size_t)(partitions * count));
    MPI_Info info = info_with("offbeat_order", order);
    char bytes[20];
    offbeat_prequest request;
    snprintf(bytes, sizeof bytes, "%d", messages_bytes);
    MPI_Info_set(info, "offbeat_message_bytes", bytes);
    for (int i = 0; i < partitions * count; i++)
        contribution[i] = rough(rank, i);
    offbeat_pallreduce_init(contribution, sum, partitions, count, MPI_DOUBLE, MPI_SUM, comm, info, &request);
    offbeat_pstart(&request);
    for (int i = 0; i < partitions; i++)
        offbeat_pready((i * 7 + shift * rank) % partitions, request);
    complete_and_free(&request);
    MPI_Info_free(&info);
    free(contribution);
}

/* In order of ranks: the same bits with any partitions and messages. */
static void rank_order_gives_the_bits_of_a_sum_from_left_to_right(void) {
    enum { LENGTH = 360 };
    static const int partitions[] = {1, 5, 8, 360};
    double sum[LENGTH];
    for (int i = 0; i < 4; i++) {
        reduce_rough(sum, partitions[i], LENGTH / partitions[i], "rank", i % 2 ? 8 : 300, 1);
        for (int k = 0; k < LENGTH; k++) {
            double expected_sum = rough(0, k);
            for (int source = 1; source < size; source++)
                expected_sum += rough(source, k);
            mpi_assert(sum[k] == expected_sum, "%d partitions: element %d is %a instead of %a.",
                       partitions[i], k, sum[k], expected_sum);
        }
    }
}

/* Message m begins at rank m mod p; here each partition is a message. */
static void ring_order_begins_at_the_number_of_the_message(void) {
    enum { PARTITIONS = 12, COUNT = 30 };
    double sum[PARTITIONS * COUNT];
    for (int shift = 0; shift < 3; shift++) {
        reduce_rough(sum, PARTITIONS, COUNT, "ring", sizeof(double) * COUNT, shift);
        for (int k = 0; k < PARTITIONS * COUNT; k++) {
            const int start = k / COUNT % size;
            double expected_sum = rough(start, k);
            for (int source = 1; source < size; source++)
                expected_sum += rough((start + source) % size, k);
            mpi_assert(sum[k] == expected_sum, "Element %d is %a instead of %a.", k, sum[k], expected_sum);
        }
    }
}

/* --- threads --- */

typedef struct share {
    offbeat_prequest request;
    double *contribution;
    int first, partitions, count;
} share;

static void *fill_share(void *argument) {
    const share *part = argument;
    for (int i = part->first; i < part->first + part->partitions; i++) {
        for (int k = 0; k < part->count; k++)
            part->contribution[i * part->count + k] = number(rank, i, k);
        mpi_assert_success(offbeat_pready(i, part->request), "offbeat_pready");
    }
    return NULL;
}

/* Threads mark partitions while another one waits, which may complete and free the request before they have
 * returned. */
static void threads_mark_partitions_while_another_waits(void) {
    enum { THREADS = 3, PER_THREAD = 5, COUNT = 40, N = THREADS * PER_THREAD * COUNT };
    double contribution[N], sum[N];
    MPI_Info info = info_with("offbeat_message_bytes", "160");
    for (int round = 0; round < 20; round++) {
        pthread_t threads[THREADS];
        share shares[THREADS];
        offbeat_prequest request;
        offbeat_pallreduce_init(contribution, sum, THREADS * PER_THREAD, COUNT, MPI_DOUBLE, MPI_SUM, comm,
                                info, &request);
        offbeat_pstart(&request);
        for (int i = 0; i < THREADS; i++) {
            shares[i] = (share){request, contribution, i * PER_THREAD, PER_THREAD, COUNT};
            mpi_assert(pthread_create(&threads[i], NULL, fill_share, &shares[i]) == 0,
                       "No thread was created.");
        }
        complete_and_free(&request);
        for (int i = 0; i < THREADS; i++)
            pthread_join(threads[i], NULL);
        for (int k = 0; k < N; k++)
            mpi_assert(sum[k] == size * number(0, k / COUNT, k % COUNT) + 1e6 * size * (size - 1) / 2,
                       "Element %d is %.0f.", k, sum[k]);
    }
    MPI_Info_free(&info);
}

/* --- beside other traffic --- */

/* Collectives of equal kind on two communicators and partitioned messages, all at once; ranks are reversed in
 * one of the communicators. */
static void collectives_and_messages_do_not_mix(void) {
    enum { PARTITIONS = 4, COUNT = 50, N = PARTITIONS * COUNT };
    double data[4][N];
    offbeat_prequest requests[4];
    MPI_Comm reversed_comm;
    MPI_Comm_split(comm, 0, size - rank, &reversed_comm);
    mpi_assert_success(offbeat_partitioned_attach(reversed_comm, MPI_INFO_NULL),
                       "offbeat_partitioned_attach");
    offbeat_pbcast_init(data[0], PARTITIONS, COUNT, MPI_DOUBLE, 0, reversed_comm, MPI_INFO_NULL,
                        &requests[0]);
    offbeat_pbcast_init(data[1], PARTITIONS, COUNT, MPI_DOUBLE, 0, comm, MPI_INFO_NULL, &requests[1]);
    offbeat_psend_init(data[2], PARTITIONS, COUNT, MPI_DOUBLE, (rank + 1) % size, 0, comm, MPI_INFO_NULL,
                       &requests[2]);
    offbeat_precv_init(data[3], PARTITIONS, COUNT, MPI_DOUBLE, (rank + size - 1) % size, 0, comm,
                       MPI_INFO_NULL, &requests[3]);
    for (int iteration = 0; iteration < 5; iteration++) {
        for (int k = 0; k < N; k++) {
            data[0][k] = number(100, iteration, k);
            data[1][k] = number(200, iteration, k);
            data[2][k] = number(rank, iteration, k);
        }
        offbeat_pstartall(4, requests);
        for (int i = 2; i >= 0; i--)
            if (i == 2 || rank == (i == 0 ? size - 1 : 0))
                offbeat_pready_range(0, PARTITIONS - 1, requests[i]);
        mpi_assert_success(offbeat_pwaitall(4, requests, MPI_STATUSES_IGNORE), "offbeat_pwaitall");
        for (int k = 0; k < N; k++)
            mpi_assert(data[0][k] == number(100, iteration, k) && data[1][k] == number(200, iteration, k) &&
                           data[3][k] == number((rank + size - 1) % size, iteration, k),
                       "Element %d is wrong.", k);
    }
    for (int i = 0; i < 4; i++)
        offbeat_prequest_free(&requests[i]);
    MPI_Comm_free(&reversed_comm);
}

/* --- user-defined operations --- */

static MPI_Datatype pair_type;

/* An operation may be defined for some datatypes only, and compare their handles. */
static void add_pairs(void *left, void *right, int *length, MPI_Datatype *type) {
    mpi_assert(*type == pair_type, "The operation has another datatype than the allreduce.");
    for (int i = 0; i < 2 * *length; i++)
        ((double *)right)[i] += ((double *)left)[i];
}

static void an_operation_gets_the_handle_of_the_datatype(void) {
    enum { PARTITIONS = 4, PAIRS = 3, NUMBERS = 2 * PAIRS };
    double contribution[PARTITIONS * NUMBERS], sum[PARTITIONS * NUMBERS];
    offbeat_prequest request;
    MPI_Op op;
    MPI_Op_create(add_pairs, 1, &op);
    MPI_Type_contiguous(2, MPI_DOUBLE, &pair_type);
    MPI_Type_commit(&pair_type);
    mpi_assert_success(offbeat_pallreduce_init(contribution, sum, PARTITIONS, PAIRS, pair_type, op, comm,
                                               MPI_INFO_NULL, &request),
                       "offbeat_pallreduce_init");
    for (int i = 0; i < PARTITIONS * NUMBERS; i++)
        contribution[i] = rank + i;
    offbeat_pstart(&request);
    offbeat_pready_range(0, PARTITIONS - 1, request);
    complete_and_free(&request);
    for (int i = 0; i < PARTITIONS * NUMBERS; i++)
        mpi_assert(sum[i] == size * i + size * (size - 1) / 2.0, "Sum %d is %.0f.", i, sum[i]);
    MPI_Type_free(&pair_type);
    MPI_Op_free(&op);
}

/* --- wrong calls --- */

/* The MPI standard declares error handlers as variadic functions. */
static void handle(MPI_Comm *failed_comm, int *code, ...) {
    (void)failed_comm;
    (void)code;
    errors_handled++;
}

/* An error of a class was raised once, with a sentence that contains some words. */
static void assert_error(int code, int error_class, const char *words) {
    int found_class = MPI_SUCCESS;
    const char *sentence = offbeat_partitioned_error();
    MPI_Error_class(code, &found_class);
    mpi_assert(found_class == error_class, "'%s' has the error class %d.", words, found_class);
    mpi_assert(errors_handled == 1, "'%s' called the error handler %d times.", words, errors_handled);
    mpi_assert(strstr(sentence, words) != NULL, "The sentence is '%s' instead of '%s'.", sentence, words);
    errors_handled = 0;
}

static void wrong_arguments_are_refused_on_all_processes(void) {
    double data[8] = {0}, sum[8];
    offbeat_prequest request;
    const int is_last = rank == size - 1;
    MPI_Info info = info_with("offbeat_order", is_last ? "any" : "ring");
    assert_error(offbeat_pbcast_init(data, 2, 4, MPI_DOUBLE, size, comm, MPI_INFO_NULL, &request),
                 MPI_ERR_ROOT, "the root is");
    assert_error(offbeat_pallreduce_init(data, sum, is_last ? -2 : 2, 4, MPI_DOUBLE, MPI_SUM, comm,
                                         MPI_INFO_NULL, &request),
                 MPI_ERR_ARG, is_last ? "-2 partitions" : "the arguments of rank");
    assert_error(offbeat_pallreduce_init(data, sum, 2, 4, MPI_DOUBLE, MPI_SUM, comm, info, &request),
                 is_last ? MPI_ERR_INFO_VALUE : MPI_ERR_ARG,
                 is_last ? "offbeat_order is 'any'; it must be ring or rank" : "the arguments of rank");
    assert_error(
        offbeat_pallreduce_init(data, sum, 2, 4, MPI_DOUBLE, MPI_OP_NULL, comm, MPI_INFO_NULL, &request),
        MPI_ERR_OP, "the operation is not one of a reduction");
    mpi_assert(request == OFFBEAT_PREQUEST_NULL, "A refused request is not null.");
    MPI_Info_free(&info);
}

static void an_operation_must_be_defined_for_the_datatype(void) {
    double data[8] = {0}, sum[8];
    offbeat_prequest request;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    int rc = offbeat_pallreduce_init(data, sum, 2, 4, MPI_DOUBLE, MPI_BAND, comm, MPI_INFO_NULL, &request);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
    assert_error(rc, MPI_ERR_OP, "the operation is not defined for the datatype");
    MPI_Datatype four;
    MPI_Type_contiguous(4, MPI_DOUBLE, &four);
    MPI_Type_commit(&four);
    rc = offbeat_pallreduce_init(data, sum, 2, 1, four, MPI_SUM, comm, MPI_INFO_NULL, &request);
    assert_error(rc, MPI_ERR_OP, "the operation is not defined for the datatype");
    MPI_Type_free(&four);
}

static void processes_must_agree(void) {
    double data[8] = {0}, sum[8];
    offbeat_prequest request;
    const int is_last = rank == size - 1;
    assert_error(offbeat_pbcast_init(data, is_last ? 4 : 2, 2, MPI_DOUBLE, 0, comm, MPI_INFO_NULL, &request),
                 MPI_ERR_ARG, "the number of partitions is 4 at rank");
    assert_error(offbeat_pbcast_init(data, 2, is_last ? 2 : 4, MPI_DOUBLE, 0, comm, MPI_INFO_NULL, &request),
                 MPI_ERR_ARG, "the size of a partition in bytes is 16 at rank");
    assert_error(offbeat_pbcast_init(data, 2, 2, MPI_DOUBLE, is_last, comm, MPI_INFO_NULL, &request),
                 MPI_ERR_ARG, "the root is 1 at rank");
    assert_error(is_last ? offbeat_pbcast_init(data, 2, 2, MPI_DOUBLE, 0, comm, MPI_INFO_NULL, &request)
                         : offbeat_pallreduce_init(data, sum, 2, 2, MPI_DOUBLE, MPI_SUM, comm, MPI_INFO_NULL,
                                                   &request),
                 MPI_ERR_ARG, "the collective (0: broadcast, 1: allreduce) is 0 at rank");
}

static void wrong_calls_change_nothing(void) {
    double data[4] = {0};
    offbeat_prequest request, first_handle;
    int flag;
    offbeat_pbcast_init(data, 4, 1, MPI_DOUBLE, 0, comm, MPI_INFO_NULL, &request);
    for (int iteration = 0; iteration < 2; iteration++) {
        assert_error(offbeat_pready(0, request), MPI_ERR_REQUEST,
                     rank == 0 ? "is not started" : "only the root's partitions can be ready");
        offbeat_pstart(&request);
        first_handle = request;
        assert_error(offbeat_pstart(&request), MPI_ERR_REQUEST, "was started already");
        if (rank == 0) {
            assert_error(offbeat_prequest_free(&request), MPI_ERR_REQUEST, "the request is active");
            assert_error(offbeat_pready(4, request), MPI_ERR_ARG, "partition 4 does not exist");
            for (int i = 0; i < 4; i++)
                data[i] = number(0, iteration, i);
            offbeat_pready_range(0, 2, request);
            assert_error(offbeat_pready(1, request), MPI_ERR_ARG, "partition 1 was marked ready before");
            offbeat_pready(3, request);
        } else {
            assert_error(offbeat_pready(1, request), MPI_ERR_REQUEST,
                         "only the root's partitions can be ready");
        }
        assert_error(offbeat_parrived(request, 4, &flag), MPI_ERR_ARG, "partition 4 does not exist");
        mpi_assert(request == first_handle, "A refused call changed the request.");
        mpi_assert_success(offbeat_pwait(&request, MPI_STATUS_IGNORE), "offbeat_pwait");
        for (int i = 0; i < 4; i++)
            mpi_assert(data[i] == number(0, iteration, i), "Element %d is %.0f.", i, data[i]);
    }
    offbeat_prequest_free(&request);
}

int main(int argc, char **argv) {
    MPI_Errhandler handler;
    MPI_Comm unattached_comm;
    offbeat_prequest request;
    int provided_level;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided_level);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    mpi_assert_success(offbeat_partitioned_attach(comm, MPI_INFO_NULL), "offbeat_partitioned_attach");
    for (int count = 100; count <= 100000; count *= 1000) {
        receivers_have_a_partition_before_the_next_is_ready(count, "1");
        receivers_have_a_partition_before_the_next_is_ready(count, "2");
        sums_are_here_before_the_next_partition_is_ready(count, 0);
        sums_are_here_before_the_next_partition_is_ready(count, 1);
    }
    rank_order_gives_the_bits_of_a_sum_from_left_to_right();
    ring_order_begins_at_the_number_of_the_message();
    if (provided_level == MPI_THREAD_MULTIPLE)
        threads_mark_partitions_while_another_waits();
    collectives_and_messages_do_not_mix();
    an_operation_gets_the_handle_of_the_datatype();
    MPI_Comm_create_errhandler(handle, &handler);
    MPI_Comm_set_errhandler(comm, handler);
    wrong_arguments_are_refused_on_all_processes();
    an_operation_must_be_defined_for_the_datatype();
    if (size > 1)
        processes_must_agree();
    wrong_calls_change_nothing();
    MPI_Comm_dup(comm, &unattached_comm);
    assert_error(offbeat_pbcast_init(NULL, 0, 0, MPI_INT, 0, unattached_comm, MPI_INFO_NULL, &request),
                 MPI_ERR_COMM, "is not attached");
    MPI_Comm_free(&unattached_comm);
    MPI_Errhandler_free(&handler);
    MPI_Comm_free(&comm);
    MPI_Finalize();
    return 0;
}
