/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What MPI 4 promises of partitioned communication, on a ring of processes: each sends to its right neighbour
 * and receives from its left one; with one process, to itself.
 */
#include <offbeat/partitioned.h>

#include "partitioned/progress.h"
#include "testing/mpi_assert.h"

#include <stdlib.h>
#include <string.h>

static int rank, size, right, left;

static void find_neighbours(MPI_Comm comm) {
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    right = (rank + 1) % size;
    left = (rank + size - 1) % size;
}

/* Partitions and doubles in each, of sender and receiver. */
typedef struct shape {
    int send_partitions, send_count, receive_partitions, receive_count;
} shape;

/* A send to the right and the receive from the left, with their buffers. */
typedef struct pair {
    shape outline;
    int length;
    double *output, *input;
    offbeat_prequest requests[2];
} pair;

enum { SEND, RECEIVE };

static double expected_number(int sender, int iteration, int index) {
    return sender * 1e9 + iteration * 1e6 + index;
}

// NOLINTBEGIN(clang-analyzer-unix.Malloc): discard() frees the buffers.
static void make(pair *result, shape outline, int tag, MPI_Comm comm, MPI_Info info) {
    result->outline = outline;
    result->length = outline.send_partitions * outline.send_count;
    result->output = calloc((size_t)result->length + 1, sizeof(double));
    result->input = calloc((size_t)result->length + 1, sizeof(double));
    mpi_assert_success(offbeat_psend_init(result->output, outline.send_partitions, outline.send_count,
                                          MPI_DOUBLE, right, tag, comm, info, &result->requests[SEND]),
                       "offbeat_psend_init");
    mpi_assert_success(offbeat_precv_init(result->input, outline.receive_partitions, outline.receive_count,
                                          MPI_DOUBLE, left, tag, comm, MPI_INFO_NULL,
                                          &result->requests[RECEIVE]),
                       "offbeat_precv_init");
}
// NOLINTEND(clang-analyzer-unix.Malloc)

static void discard(pair *result) {
    for (int i = 0; i < 2; i++) {
        mpi_assert_success(offbeat_prequest_free(&result->requests[i]), "offbeat_prequest_free");
        mpi_assert(result->requests[i] == OFFBEAT_PREQUEST_NULL, "A freed request is not null.");
    }
    free(result->output);
    free(result->input);
}

static void fill(pair *result, int iteration) {
    for (int i = 0; i < result->length; i++) {
        result->output[i] = expected_number(rank, iteration, i);
        result->input[i] = -1;
    }
}

static void check(const pair *result, int iteration, int first, int last) {
    for (int i = first; i < last; i++)
        mpi_assert(result->input[i] == expected_number(left, iteration, i),
                   "%d/%d partitions, iteration %d: element %d is %.0f instead of %.0f.",
                   result->outline.send_partitions, result->outline.receive_partitions, iteration, i,
                   result->input[i], expected_number(left, iteration, i));
}

static void check_status(const MPI_Status *status, int tag, int length) {
    int count;
    MPI_Get_count(status, MPI_DOUBLE, &count);
    mpi_assert(status->MPI_SOURCE == left && status->MPI_TAG == tag && count == length,
               "The status says source %d, tag %d, %d elements.", status->MPI_SOURCE, status->MPI_TAG, count);
}

static void iterate(pair *result, int tag, int iteration) {
    MPI_Status statuses[2];
    const int n = result->outline.send_partitions;
    fill(result, iteration);
    mpi_assert_success(offbeat_pstartall(2, result->requests), "offbeat_pstartall");
    for (int i = 0; i < n; i++) /* in an order that differs between iterations; 7919 is prime */
        offbeat_pready((int)((i * 7919LL + iteration) % n), result->requests[SEND]);
    mpi_assert_success(offbeat_pwaitall(2, result->requests, statuses), "offbeat_pwaitall");
    check(result, iteration, 0, result->length);
    check_status(&statuses[RECEIVE], tag, result->length);
}

static void any_numbers_of_partitions_can_match(MPI_Info info, int iterations) {
    static const shape shapes[] = {
        {4, 3, 4, 3},       {6, 2, 4, 3},      {4, 3, 6, 2},          {3, 5, 5, 3},       {5, 3, 3, 5},
        {1, 35, 7, 5},      {7, 5, 1, 35},     {31, 37, 37, 31},      {101, 97, 97, 101}, {1, 1, 1, 1},
        {1024, 1, 1, 1024}, {2000, 1, 8, 250}, {2, 150000, 3, 100000}};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        pair result;
        make(&result, shapes[i], 5, MPI_COMM_WORLD, info);
        for (int iteration = 0; iteration < iterations; iteration++)
            iterate(&result, 5, iteration);
        discard(&result);
    }
}

static void the_number_of_messages_can_be_chosen(void) {
    static const char *const values[][2] = {{"offbeat_messages", "1"},        {"offbeat_messages", "4"},
                                            {"offbeat_messages", "1000000"},  {"offbeat_messages", "learned"},
                                            {"offbeat_message_bytes", "256"}, {"offbeat_lane", "6"}};
    any_numbers_of_partitions_can_match(MPI_INFO_NULL, 3);
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        MPI_Info info;
        MPI_Info_create(&info);
        MPI_Info_set(info, values[i][0], values[i][1]);
        int is_learned = strcmp(values[i][1], "learned") == 0; /* trials until iterations 8 and 39 */
        any_numbers_of_partitions_can_match(info, is_learned ? 43 : 3);
        MPI_Info_free(&info);
    }
}

static void many_requests_of_equal_tags_match_in_order(void) {
    enum { PAIRS = 40 };
    pair pairs[PAIRS];
    offbeat_prequest requests[2 * PAIRS];
    for (int i = 0; i < PAIRS; i++)
        make(&pairs[i], (shape){i % 7 + 1, 6, 2 * (i % 7 + 1), 3}, 9, MPI_COMM_WORLD, MPI_INFO_NULL);
    for (int iteration = 0; iteration < 5; iteration++) {
        for (int i = 0; i < PAIRS; i++) {
            fill(&pairs[i], iteration * 100 + i);
            memcpy(&requests[2 * i], pairs[i].requests, sizeof pairs[i].requests);
        }
        mpi_assert_success(offbeat_pstartall(2 * PAIRS, requests), "offbeat_pstartall");
        for (int i = PAIRS - 1; i >= 0; i--)
            offbeat_pready_range(0, pairs[i].outline.send_partitions - 1, pairs[i].requests[SEND]);
        mpi_assert_success(offbeat_pwaitall(2 * PAIRS, requests, MPI_STATUSES_IGNORE), "offbeat_pwaitall");
        for (int i = 0; i < PAIRS; i++)
            check(&pairs[i], iteration * 100 + i, 0, pairs[i].length);
    }
    for (int i = 0; i < PAIRS; i++)
        discard(&pairs[i]);
}

/* Waits for one partition by offbeat_parrived alone. */
static void await_partition(offbeat_prequest request, int partition) {
    for (int flag = 0; !flag;)
        mpi_assert_success(offbeat_parrived(request, partition, &flag), "offbeat_parrived");
}

static void partitions_arrive_one_by_one(void) {
    enum { N = 6 };
    MPI_Info info;
    MPI_Info_create(&info);
    MPI_Info_set(info, "offbeat_messages", "6");
    pair result;
    make(&result, (shape){N, 4, 3, 8}, 3, MPI_COMM_WORLD, info);
    for (int iteration = 0; iteration < 4; iteration++) {
        int flag;
        fill(&result, iteration);
        offbeat_pstartall(2, result.requests);
        for (int i = 0; i < 3; i++) { /* the receiver's partition 2 - i is the sender's 4 - 2i and 5 - 2i */
            offbeat_pready(4 - 2 * i, result.requests[SEND]);
            MPI_Barrier(MPI_COMM_WORLD);
            offbeat_parrived(result.requests[RECEIVE], 2 - i, &flag);
            mpi_assert(!flag, "A partition arrived of which only a half was sent.");
            MPI_Barrier(MPI_COMM_WORLD);
            offbeat_pready(5 - 2 * i, result.requests[SEND]);
            await_partition(result.requests[RECEIVE], 2 - i);
            check(&result, iteration, (2 - i) * 8, (3 - i) * 8);
            offbeat_ptest(&result.requests[RECEIVE], &flag, MPI_STATUS_IGNORE);
            mpi_assert(i == 2 || !flag, "A receive is complete before its last partition was sent.");
            MPI_Barrier(MPI_COMM_WORLD); /* no sender is ahead of its receiver's checks */
        }
        offbeat_pwaitall(2, result.requests, MPI_STATUSES_IGNORE);
        offbeat_parrived(result.requests[RECEIVE], 1, &flag);
        mpi_assert(flag, "A partition of an inactive request has not arrived.");
    }
    discard(&result);
    MPI_Info_free(&info);
}

static void nothing_is_complete_before_it_is_ready(void) {
    int flag = 1, index;
    pair result;
    make(&result, (shape){4, 10, 4, 10}, 3, MPI_COMM_WORLD, MPI_INFO_NULL);
    for (int iteration = 0; iteration < 3; iteration++) {
        fill(&result, iteration);
        offbeat_pstartall(2, result.requests);
        for (int i = 0; i < 100; i++) {
            offbeat_ptestall(2, result.requests, &flag, MPI_STATUSES_IGNORE);
            mpi_assert(!flag, "Requests are complete before a partition is ready.");
            offbeat_ptestany(2, result.requests, &index, &flag, MPI_STATUS_IGNORE);
            mpi_assert(!flag, "A request is complete before a partition is ready.");
            offbeat_ptest(&result.requests[SEND], &flag, MPI_STATUS_IGNORE);
            mpi_assert(!flag, "A send is complete before a partition is ready.");
        }
        MPI_Barrier(MPI_COMM_WORLD);
        offbeat_pready_list(4, (const int[]){2, 0, 3, 1}, result.requests[SEND]);
        for (int round = 0; round < 2; round++) {
            offbeat_pwaitany(2, result.requests, &index, MPI_STATUS_IGNORE);
            mpi_assert(index == SEND || index == RECEIVE, "No request of two is complete.");
        }
        offbeat_pwaitany(2, result.requests, &index, MPI_STATUS_IGNORE);
        mpi_assert(index == MPI_UNDEFINED, "An inactive request was completed.");
        check(&result, iteration, 0, result.length);
    }
    discard(&result);
}

static void requests_can_be_freed_unstarted(void) {
    pair freed_pair, active_pair;
    for (int i = 0; i < 20; i++) {
        make(&freed_pair, (shape){4, 10, 2, 20}, 3, MPI_COMM_WORLD, MPI_INFO_NULL);
        make(&active_pair, (shape){4, 5, 2, 10}, 3, MPI_COMM_WORLD, MPI_INFO_NULL);
        discard(&freed_pair);
        iterate(&active_pair, 3, i);
        discard(&active_pair);
    }
}

/* The receive finds all data at its first test, and is neither started again nor freed. The sender's MPI
 * needs its reply before the memory of a freed send can be released. */
static void a_send_can_be_freed_while_its_receive_is_kept(void) {
    enum { MOST_CALLS = 10000 };
    pair first_pair, second_pair;
    make(&first_pair, (shape){4, 5, 2, 10}, 3, MPI_COMM_WORLD, MPI_INFO_NULL);
    make(&second_pair, (shape){1, 1, 1, 1}, 3, MPI_COMM_WORLD, MPI_INFO_NULL);
    MPI_Barrier(MPI_COMM_WORLD);
    fill(&first_pair, 0);
    offbeat_pstartall(2, first_pair.requests);
    MPI_Barrier(MPI_COMM_WORLD);
    offbeat_pready_range(0, 3, first_pair.requests[SEND]);
    offbeat_pwait(&first_pair.requests[SEND], MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
    offbeat_pwait(&first_pair.requests[RECEIVE], MPI_STATUS_IGNORE);
    offbeat_prequest_free(&first_pair.requests[SEND]);
    for (int i = 0, lists_any = 1; lists_any; i++) {
        int is_listed = offbeat_partitioned_needs_progress();
        mpi_assert(i < MOST_CALLS, "The reply to a freed send did not come.");
        MPI_Allreduce(&is_listed, &lists_any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
        iterate(&second_pair, 3, i);
    }
    discard(&second_pair);
    offbeat_prequest_free(&first_pair.requests[RECEIVE]);
    free(first_pair.output);
    free(first_pair.input);
}

/* Even ranks describe their sends when the receives of odd ranks are started; all data arrives before the
 * receiver calls the library again. */
static void receives_may_start_before_their_sends_are_described(void) {
    enum { PAIRS = 3, N = 4 };
    const int peer = rank ^ 1, is_sender = rank % 2 == 0;
    int data[PAIRS][N] = {{0}};
    offbeat_prequest requests[PAIRS];
    for (int round = 0; round < 20; round++) {
        for (int i = 0; i < PAIRS && !is_sender; i++) {
            offbeat_precv_init(data[i], N, 1, MPI_INT, peer, 4, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[i]);
            offbeat_pstart(&requests[i]);
        }
        MPI_Barrier(MPI_COMM_WORLD);
        for (int i = 0; i < PAIRS && is_sender && peer < size; i++) {
            for (int k = 0; k < N; k++)
                data[i][k] = round * 100 + i * 10 + k;
            offbeat_psend_init(data[i], N, 1, MPI_INT, peer, 4, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[i]);
            offbeat_pstart(&requests[i]);
            offbeat_pready_range(0, N - 1, requests[i]);
            offbeat_pwait(&requests[i], MPI_STATUS_IGNORE);
            offbeat_prequest_free(&requests[i]);
        }
        MPI_Barrier(MPI_COMM_WORLD);
        for (int i = PAIRS - 1; i >= 0 && !is_sender; i--) {
            offbeat_pwait(&requests[i], MPI_STATUS_IGNORE);
            mpi_assert(data[i][N - 1] == round * 100 + i * 10 + N - 1, "Request %d received %d.", i,
                       data[i][N - 1]);
            offbeat_prequest_free(&requests[i]);
        }
    }
}

/* The program's own receives with wildcards, and neighbouring tags, see none of our messages. */
static void the_programs_own_messages_are_not_disturbed(void) {
    enum { TAG = 7 };
    pair pairs[3];
    for (int i = 0; i < 3; i++)
        make(&pairs[i], (shape){5, 7, 7, 5}, TAG - 1 + i, MPI_COMM_WORLD, MPI_INFO_NULL);
    for (int iteration = 0; iteration < 20; iteration++) {
        int own_number = iteration * 10 + rank, peer_number = -1;
        MPI_Request mpi_requests[2];
        MPI_Status status;
        MPI_Irecv(&peer_number, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &mpi_requests[0]);
        for (int i = 2; i >= 0; i--) {
            fill(&pairs[i], iteration + i);
            offbeat_pstartall(2, pairs[i].requests);
            offbeat_pready_range(0, 4, pairs[i].requests[SEND]);
        }
        MPI_Isend(&own_number, 1, MPI_INT, right, TAG, MPI_COMM_WORLD, &mpi_requests[1]);
        for (int i = 0; i < 3; i++) {
            offbeat_pwaitall(2, pairs[i].requests, MPI_STATUSES_IGNORE);
            check(&pairs[i], iteration + i, 0, pairs[i].length);
        }
        MPI_Wait(&mpi_requests[0], &status);
        MPI_Wait(&mpi_requests[1], MPI_STATUS_IGNORE);
        mpi_assert(peer_number == iteration * 10 + left && status.MPI_TAG == TAG,
                   "The program received %d with tag %d.", peer_number, status.MPI_TAG);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    for (int i = 0; i < 3; i++)
        discard(&pairs[i]);
}

static void empty_partitions_and_null_processes_work(void) {
    int flag;
    MPI_Status status;
    offbeat_prequest null_requests[2];
    static const shape empty[] = {{4, 0, 4, 0}, {3, 0, 5, 0}, {0, 0, 4, 0},
                                  {4, 0, 0, 0}, {0, 5, 0, 5}, {0, 5, 3, 0}};
    for (size_t i = 0; i < sizeof empty / sizeof *empty; i++) {
        pair result;
        make(&result, empty[i], 3, MPI_COMM_WORLD, MPI_INFO_NULL);
        for (int iteration = 0; iteration < 3; iteration++)
            iterate(&result, 3, iteration);
        discard(&result);
    }
    offbeat_psend_init(NULL, 2, 5, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD, MPI_INFO_NULL,
                       &null_requests[0]);
    offbeat_precv_init(NULL, 2, 5, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD, MPI_INFO_NULL,
                       &null_requests[1]);
    for (int i = 0; i < 3; i++) {
        offbeat_pstartall(2, null_requests);
        offbeat_pwait(&null_requests[1], &status);
        mpi_assert(status.MPI_SOURCE == MPI_PROC_NULL, "A receive from nobody came from %d.",
                   status.MPI_SOURCE);
        offbeat_ptest(&null_requests[0], &flag, MPI_STATUS_IGNORE);
        mpi_assert(!flag, "A send to nobody is complete before its partitions are ready.");
        offbeat_pready_range(0, 1, null_requests[0]);
        offbeat_pwait(&null_requests[0], MPI_STATUS_IGNORE);
    }
    offbeat_prequest_free(&null_requests[0]);
    offbeat_prequest_free(&null_requests[1]);
    mpi_assert_success(offbeat_parrived(OFFBEAT_PREQUEST_NULL, 0, &flag), "offbeat_parrived");
    mpi_assert(flag, "A partition of the null request has not arrived.");
}

/* The columns of a matrix are sent, and received as elements of four doubles. */
static void any_datatype_can_be_sent(void) {
    enum { ROWS = 6, COLUMNS = 10 };
    double output[ROWS][COLUMNS] = {{0}}, input[ROWS * COLUMNS];
    MPI_Datatype column, resized_type, four;
    offbeat_prequest requests[2];
    MPI_Type_vector(ROWS, 1, COLUMNS, MPI_DOUBLE, &column);
    MPI_Type_create_resized(column, 0, sizeof(double), &resized_type);
    MPI_Type_contiguous(4, MPI_DOUBLE, &four);
    MPI_Type_commit(&resized_type); /* the requests commit their own duplicates: `four` need not be */
    offbeat_psend_init(output, 5, 2, resized_type, right, 1, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[SEND]);
    /* 12 doubles in a partition of the sender, 4 in an element, 20 in a partition of the receiver */
    offbeat_precv_init(input, 3, 5, four, left, 1, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[RECEIVE]);
    MPI_Type_free(&column);
    MPI_Type_free(&resized_type);
    MPI_Type_free(&four);
    for (int iteration = 0; iteration < 3; iteration++) {
        for (int i = 0; i < ROWS * COLUMNS; i++)
            output[i / COLUMNS][i % COLUMNS] = expected_number(rank, iteration, i);
        memset(input, 0, sizeof input);
        offbeat_pstartall(2, requests);
        offbeat_pready_range(0, 4, requests[SEND]);
        offbeat_pwaitall(2, requests, MPI_STATUSES_IGNORE);
        for (int i = 0; i < ROWS * COLUMNS; i++)
            mpi_assert(input[i] == expected_number(left, iteration, i % ROWS * COLUMNS + i / ROWS),
                       "Element %d of the columns is %.0f.", i, input[i]);
    }
    offbeat_prequest_free(&requests[SEND]);
    offbeat_prequest_free(&requests[RECEIVE]);
}

static void messages_may_end_inside_elements_of_the_receiver(void) {
    enum { LENGTH = 42 };
    double output[LENGTH] = {0}, input[2 * LENGTH];
    MPI_Datatype seven;
    offbeat_prequest requests[2];
    MPI_Info info;
    MPI_Info_create(&info);
    MPI_Info_set(info, "offbeat_messages", "14");
    MPI_Type_vector(7, 1, 2, MPI_DOUBLE, &seven); /* with gaps, and an extent of 13 doubles */
    MPI_Type_commit(&seven);
    offbeat_psend_init(output, 14, 3, MPI_DOUBLE, right, 1, MPI_COMM_WORLD, info, &requests[SEND]);
    offbeat_precv_init(input, 3, 2, seven, left, 1, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[RECEIVE]);
    for (int iteration = 0; iteration < 3; iteration++) {
        for (int i = 0; i < LENGTH; i++)
            output[i] = expected_number(rank, iteration, i);
        offbeat_pstartall(2, requests);
        offbeat_pready_range(0, 13, requests[SEND]);
        await_partition(requests[RECEIVE], 2);
        offbeat_pwaitall(2, requests, MPI_STATUSES_IGNORE);
        for (int i = 0; i < LENGTH; i++)
            mpi_assert(input[i / 7 * 13 + i % 7 * 2] == expected_number(left, iteration, i),
                       "Element %d was lost between partitions.", i);
    }
    offbeat_prequest_free(&requests[SEND]);
    offbeat_prequest_free(&requests[RECEIVE]);
    MPI_Type_free(&seven);
    MPI_Info_free(&info);
}

/* A communicator with other ranks is freed before its requests, and the world's requests live on. */
static void communicators_have_their_own_messages(void) {
    MPI_Comm reversed_comm;
    pair result, second_pair;
    make(&result, (shape){4, 4, 4, 4}, 3, MPI_COMM_WORLD, MPI_INFO_NULL);
    MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &reversed_comm);
    mpi_assert_success(offbeat_partitioned_attach(reversed_comm, MPI_INFO_NULL),
                       "offbeat_partitioned_attach");
    find_neighbours(reversed_comm);
    make(&second_pair, (shape){2, 8, 2, 8}, 3, reversed_comm, MPI_INFO_NULL);
    fill(&second_pair, 0);
    offbeat_pstartall(2, second_pair.requests);
    find_neighbours(MPI_COMM_WORLD);
    iterate(&result, 3, 0);
    find_neighbours(reversed_comm);
    offbeat_pready_range(0, 1, second_pair.requests[SEND]);
    offbeat_pwaitall(2, second_pair.requests, MPI_STATUSES_IGNORE);
    check(&second_pair, 0, 0, second_pair.length);
    MPI_Comm_free(&reversed_comm);
    iterate(&second_pair, 3, 1);
    discard(&second_pair);
    find_neighbours(MPI_COMM_WORLD);
    iterate(&result, 3, 1);
    discard(&result);
}

/* Both halves of an inter-communicator send to the process of equal rank in the other half. */
static void intercommunicators_work(void) {
    MPI_Comm half, inter;
    if (size % 2 != 0)
        return;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - rank % 2, 7, &inter);
    mpi_assert_success(offbeat_partitioned_attach(inter, MPI_INFO_NULL), "offbeat_partitioned_attach");
    pair result;
    right = left = rank / 2;
    make(&result, (shape){4, 6, 3, 8}, 3, inter, MPI_INFO_NULL);
    rank = left; /* what both sides expect of the data */
    for (int iteration = 0; iteration < 3; iteration++)
        iterate(&result, 3, iteration);
    discard(&result);
    find_neighbours(MPI_COMM_WORLD);
    MPI_Comm_free(&inter);
    MPI_Comm_free(&half);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    find_neighbours(MPI_COMM_WORLD);
    mpi_assert_success(offbeat_partitioned_attach(MPI_COMM_WORLD, MPI_INFO_NULL),
                       "offbeat_partitioned_attach");
    the_number_of_messages_can_be_chosen();
    many_requests_of_equal_tags_match_in_order();
    partitions_arrive_one_by_one();
    nothing_is_complete_before_it_is_ready();
    requests_can_be_freed_unstarted();
    a_send_can_be_freed_while_its_receive_is_kept();
    receives_may_start_before_their_sends_are_described();
    the_programs_own_messages_are_not_disturbed();
    empty_partitions_and_null_processes_work();
    any_datatype_can_be_sent();
    messages_may_end_inside_elements_of_the_receiver();
    communicators_have_their_own_messages();
    intercommunicators_work();
    MPI_Finalize();
    return 0;
}
