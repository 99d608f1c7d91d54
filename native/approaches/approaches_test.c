/* SPDX-License-Identifier: BSD-3-Clause */
/** @file approaches_test.c  Every approach moves every byte, whichever thread and order its partitions have.
 */
#include "approaches/approaches.h"
#include "testing/mpi_assert.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { ITERATIONS = 4 };

typedef struct work {
    offbeat_transfer *transfer;
    const offbeat_message *message;
    int thread, iteration, status;
} work;

static unsigned char expected_byte(int iteration, int index) {
    return (unsigned char)(37 * iteration + index + index / 251);
}

/* The partitions of a thread, in descending order in every second iteration. */
static void *compute(void *argument) {
    work *thread_work = argument;
    const offbeat_message *message = thread_work->message;
    for (int i = 0; i < message->partitions && thread_work->status == MPI_SUCCESS; i++) {
        int partition = thread_work->iteration % 2 ? message->partitions - 1 - i : i;
        if (offbeat_thread_of_partition(message, partition) != thread_work->thread)
            continue;
        for (int byte = 0; byte < message->partition_bytes; byte++) {
            int index = partition * message->partition_bytes + byte;
            message->data[index] = expected_byte(thread_work->iteration, index);
        }
        thread_work->status = offbeat_transfer_ready(thread_work->transfer, partition);
    }
    return NULL;
}

static void send_partitions(offbeat_transfer *transfer, const offbeat_message *message, int iteration) {
    pthread_t threads[8];
    work works[8];
    for (int i = 0; i < message->threads; i++) {
        works[i] = (work){transfer, message, i, iteration, MPI_SUCCESS};
        mpi_assert(pthread_create(&threads[i], NULL, compute, &works[i]) == 0, "a thread starts");
    }
    for (int i = 0; i < message->threads; i++) {
        pthread_join(threads[i], NULL);
        mpi_assert_success(works[i].status, "ready");
    }
}

static void check_data(const offbeat_message *message, const char *approach, int iteration) {
    for (int i = 0; i < message->partitions * message->partition_bytes; i++)
        mpi_assert(message->data[i] == expected_byte(iteration, i),
                   "%s, %d partitions of %d bytes, %d threads, iteration %d: byte %d is right", approach,
                   message->partitions, message->partition_bytes, message->threads, iteration, i);
}

static void transfer_repeatedly(const offbeat_approach *approach, const offbeat_message *message, int rank) {
    offbeat_transfer *transfer;
    mpi_assert_success(offbeat_transfer_open(approach, message, &transfer), approach->name);
    for (int iteration = 0; iteration < ITERATIONS; iteration++) {
        mpi_assert_success(offbeat_transfer_start(transfer), "start");
        if (rank == 0)
            send_partitions(transfer, message, iteration);
        mpi_assert_success(offbeat_transfer_wait(transfer), "wait");
        if (rank == 1)
            check_data(message, approach->name, iteration);
    }
    mpi_assert_success(offbeat_transfer_close(&transfer), "close");
    mpi_assert(!transfer, "a closed transfer is NULL");
}

static void test_approaches(MPI_Comm pair, int max_threads) {
    static const int shapes[][3] = {{1, 64, 1}, {4, 1, 2}, {7, 100, 3}, {32, 4096, 4}, {3, 300000, 3}};
    int rank;
    MPI_Comm_rank(pair, &rank);
    for (size_t shape = 0; shape < sizeof shapes / sizeof *shapes; shape++) {
        const int *numbers = shapes[shape];
        offbeat_message message = {pair, NULL, numbers[0], numbers[1], numbers[2]};
        if (message.threads > max_threads)
            message.threads = max_threads;
        message.data = calloc((size_t)message.partitions, (size_t)message.partition_bytes);
        mpi_assert(message.data != NULL, "memory");
        for (size_t i = 0; offbeat_approaches[i]; i++)
            /* Open MPI 5.0 corrupts partitioned messages (ompi issue 12328): what it sends is not ours to
             * test. */
            if (strncmp(offbeat_approaches[i]->name, "library", strlen("library")) != 0)
                transfer_repeatedly(offbeat_approaches[i], &message, rank);
        free(message.data);
    }
}

static void approaches_have_names(void) {
    for (size_t i = 0; offbeat_approaches[i]; i++)
        mpi_assert(offbeat_approach_find(offbeat_approaches[i]->name) == offbeat_approaches[i],
                   "an approach is found by its name");
    mpi_assert(!offbeat_approach_find("none"), "there is no approach of an unknown name");
}

static void neighbouring_partitions_share_a_thread(void) {
    offbeat_message message = {.partitions = 7, .threads = 3};
    for (int partition = 1; partition < 7; partition++) {
        int step = offbeat_thread_of_partition(&message, partition) -
                   offbeat_thread_of_partition(&message, partition - 1);
        mpi_assert(step == 0 || step == 1, "partitions are divided into as many ranges as there are threads");
    }
    mpi_assert(offbeat_thread_of_partition(&message, 0) == 0 && offbeat_thread_of_partition(&message, 6) == 2,
               "each thread has a partition");
}

int main(int argc, char **argv) {
    int level, rank;
    MPI_Comm pair;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    approaches_have_names();
    neighbouring_partitions_share_a_thread();
    MPI_Comm_split(MPI_COMM_WORLD, rank < 2 ? 0 : MPI_UNDEFINED, rank, &pair);
    if (rank < 2) {
        test_approaches(pair, level == MPI_THREAD_MULTIPLE ? 4 : 1);
        MPI_Comm_free(&pair);
    }
    MPI_Finalize();
    return 0;
}
