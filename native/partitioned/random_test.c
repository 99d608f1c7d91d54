/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Random transfers with checked data: sizes, partitions, datatypes, orders, tags, settings and, with
 * MPI_THREAD_MULTIPLE, threads. Arguments: number of transfers (default: 1000 with one process or two,
 * 250 with more; give more for a search), seed (default 1), `serialized` (at this thread level instead). All
 * processes draw the same numbers, so that both sides of a transfer agree.
 */
#include <offbeat/partitioned.h>

#include "testing/mpi_assert.h"
#include "testing/thread_level.h"

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_PAIRS = 4, MOST_THREADS = 3, MOST_ITERATIONS = 28, ROUNDS_A_COMMUNICATOR = 10 };

static MPI_Comm comm;
static int rank, size, right, left, threads_allowed;
static uint64_t state;

/* The next number of a xorshift generator, below a limit. */
static int draw(int limit) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (int)(state >> 33) % limit;
}

typedef struct transfer {
    int send_partitions, receive_partitions, bytes, tag, threads;
    int send_bytes, receive_bytes; /* of an element */
    unsigned order;
    unsigned char *output, *input;
    offbeat_prequest send, receive;
} transfer;

static unsigned char byte_of(int sender, int iteration, int tag, int index) {
    uint32_t hash = (uint32_t)index * 2654435761u + (uint32_t)(sender * 977 + iteration * 31 + tag * 7);
    return (unsigned char)(hash >> 24 ^ hash >> 11);
}

/* A datatype of so many bytes; 1, 4 and 8 are basic ones. */
static MPI_Datatype type_of(int bytes) {
    MPI_Datatype type = bytes == 1 ? MPI_BYTE : bytes == 4 ? MPI_INT32_T : MPI_INT64_T;
    if (bytes == 1 || bytes == 4 || bytes == 8)
        return type;
    MPI_Type_contiguous(bytes, MPI_BYTE, &type);
    MPI_Type_commit(&type);
    return type;
}

static void free_type(MPI_Datatype type, int bytes) {
    if (bytes != 1 && bytes != 4 && bytes != 8)
        MPI_Type_free(&type);
}

static MPI_Info draw_info(void) {
    MPI_Info info = MPI_INFO_NULL;
    char text[20] = "learned";
    int choice = draw(5);
    if (choice == 0)
        return info;
    MPI_Info_create(&info);
    if (choice == 1)
        snprintf(text, sizeof text, "%d", 1 + draw(40));
    if (choice <= 2)
        MPI_Info_set(info, "offbeat_messages", text);
    snprintf(text, sizeof text, "%d", 1 + draw(3000));
    if (choice == 3)
        MPI_Info_set(info, "offbeat_message_bytes", text);
    if (choice == 4)
        MPI_Info_set(info, "offbeat_lane", text);
    return info;
}

/* Draws a transfer whose partitions are multiples of both elements. */
static void draw_transfer(transfer *draft) {
    static const int counts[] = {1, 2, 3, 4, 5, 7, 8, 13, 32, 37, 64, 100, 130};
    static const int elements[] = {1, 4, 8, 3, 12};
    draft->send_partitions = counts[draw(13)]; /* the last ones need several words of bits */
    draft->receive_partitions = counts[draw(11)];
    draft->send_bytes = elements[draw(5)];
    draft->receive_bytes = elements[draw(5)];
    int unit = draft->send_partitions * draft->receive_partitions * 24;
    int longest = draw(50) == 0 ? 1 << 21 : draw(5) == 0 ? 1 << 16 : 1 << 12;
    draft->bytes = unit * draw(longest / unit + 2);
    draft->tag = draw(3);
    draft->order = (unsigned)draw(1 << 30);
    draft->output = malloc((size_t)draft->bytes + 1);
    draft->input = malloc((size_t)draft->bytes + 1);
}

// NOLINTBEGIN(clang-analyzer-unix.Malloc): the buffers are freed with the transfer.
static void init_transfer(transfer *draft) {
    MPI_Info info = draw_info();
    MPI_Datatype output = type_of(draft->send_bytes), input = type_of(draft->receive_bytes);
    int send_bytes = draft->bytes / draft->send_partitions,
        receive_bytes = draft->bytes / draft->receive_partitions;
    mpi_assert_success(offbeat_psend_init(draft->output, draft->send_partitions,
                                          send_bytes / draft->send_bytes, output, right, draft->tag, comm,
                                          info, &draft->send),
                       "offbeat_psend_init");
    mpi_assert_success(offbeat_precv_init(draft->input, draft->receive_partitions,
                                          receive_bytes / draft->receive_bytes, input, left, draft->tag, comm,
                                          info, &draft->receive),
                       "offbeat_precv_init");
    free_type(output, draft->send_bytes);
    free_type(input, draft->receive_bytes);
    if (info != MPI_INFO_NULL)
        MPI_Info_free(&info);
}
// NOLINTEND(clang-analyzer-unix.Malloc)

/* The partition that is marked as the i-th: a permutation that depends on the order. */
static int partition_at(const transfer *draft, int i) {
    static const int steps[] = {7919, 104729, 1299709};
    return (int)((i * (int64_t)steps[draft->order % 3] + draft->order) % draft->send_partitions);
}

/* A thread's share of the partitions; it also looks at partitions that arrive. */
typedef struct share {
    transfer *owner;
    int thread;
} share;

static void *mark_share(void *argument) {
    const share *part = argument;
    transfer *draft = part->owner;
    for (int i = part->thread; i < draft->send_partitions; i += draft->threads) {
        int flag;
        mpi_assert_success(offbeat_pready(partition_at(draft, i), draft->send), "offbeat_pready");
        offbeat_parrived(draft->receive, i % draft->receive_partitions, &flag);
    }
    return NULL;
}

/* Usually by one thread; sometimes by several, from a later iteration on, too. */
static void mark_all(transfer *draft) {
    pthread_t threads[MOST_THREADS] = {0};
    draft->threads = threads_allowed && draw(20) == 0 ? 2 + draw(MOST_THREADS - 1) : 1;
    share shares[MOST_THREADS] = {0};
    for (int i = 0; i < draft->threads; i++)
        shares[i] = (share){draft, i};
    for (int i = 1; i < draft->threads; i++)
        mpi_assert(pthread_create(&threads[i], NULL, mark_share, &shares[i]) == 0, "No thread was created.");
    mark_share(&shares[0]);
    for (int i = 1; i < draft->threads; i++)
        pthread_join(threads[i], NULL);
}

static void check(const transfer *draft, int iteration, int partition) {
    int bytes = draft->bytes / draft->receive_partitions;
    for (int i = partition * bytes; i < (partition + 1) * bytes; i++)
        mpi_assert(
            draft->input[i] == byte_of(left, iteration, draft->tag, i),
            "%d -> %d partitions, %d bytes, elements of %d -> %d bytes, iteration %d: byte %d is wrong.",
            draft->send_partitions, draft->receive_partitions, draft->bytes, draft->send_bytes,
            draft->receive_bytes, iteration, i);
}

static void run(transfer transfers[], int count, int iteration) {
    offbeat_prequest requests[2 * MOST_PAIRS];
    for (int i = 0; i < count; i++) {
        for (int k = 0; k < transfers[i].bytes; k++)
            transfers[i].output[k] = byte_of(rank, iteration, transfers[i].tag, k);
        memset(transfers[i].input, 0, (size_t)transfers[i].bytes);
        requests[2 * i] = transfers[i].send;
        requests[2 * i + 1] = transfers[i].receive;
    }
    mpi_assert_success(offbeat_pstartall(2 * count, requests), "offbeat_pstartall");
    for (int i = count - 1; i >= 0; i--)
        mark_all(&transfers[i]);
    for (int i = 0; i < count; i++) { /* one partition is read as soon as it is here */
        int partition = (int)(transfers[i].order % (unsigned)transfers[i].receive_partitions);
        for (int flag = 0; !flag;)
            mpi_assert_success(offbeat_parrived(transfers[i].receive, partition, &flag), "offbeat_parrived");
        check(&transfers[i], iteration, partition);
    }
    mpi_assert_success(offbeat_pwaitall(2 * count, requests, MPI_STATUSES_IGNORE), "offbeat_pwaitall");
    for (int i = 0; i < count; i++)
        for (int k = 0; k < transfers[i].receive_partitions; k++)
            check(&transfers[i], iteration, k);
}

/* @return the number of transfers */
static int run_round(void) {
    transfer transfers[MOST_PAIRS] = {0};
    int count = 1 + draw(MOST_PAIRS);
    int iterations = 1 + draw(draw(10) == 0 ? MOST_ITERATIONS : MOST_ITERATIONS / 2);
    for (int i = 0; i < count; i++) {
        draw_transfer(&transfers[i]);
        init_transfer(&transfers[i]);
    }
    for (int iteration = 0; iteration < iterations; iteration++)
        run(transfers, count, iteration);
    for (int i = 0; i < count; i++) {
        mpi_assert_success(offbeat_prequest_free(&transfers[i].send), "offbeat_prequest_free");
        mpi_assert_success(offbeat_prequest_free(&transfers[i].receive), "offbeat_prequest_free");
        free(transfers[i].output);
        free(transfers[i].input);
    }
    return count * iterations;
}

/* A new communicator, as sends of an old one that several threads have marked do not begin with an owner of
 * their ready bits. @return the number of transfers */
static int run_on_new_communicator(void) {
    int run_count = 0;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    mpi_assert_success(offbeat_partitioned_attach(comm, MPI_INFO_NULL), "offbeat_partitioned_attach");
    for (int i = 0; i < ROUNDS_A_COMMUNICATOR; i++)
        run_count += run_round();
    MPI_Comm_free(&comm);
    return run_count;
}

int main(int argc, char **argv) {
    int provided_level;
    const int level = offbeat_testing_thread_level(&argc, argv, MPI_THREAD_MULTIPLE);
    MPI_Init_thread(&argc, &argv, level, &provided_level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    right = (rank + 1) % size;
    left = (rank + size - 1) % size;
    threads_allowed = provided_level == MPI_THREAD_MULTIPLE;
    const long transfers = argc > 1 ? strtol(argv[1], NULL, 10) : size > 2 ? 250 : 1000;
    state = (uint64_t)(argc > 2 ? strtol(argv[2], NULL, 10) : 1) * 0x9E3779B97F4A7C15u;
    for (long run_count = 0; run_count < transfers; run_count += run_on_new_communicator())
        ;
    if (rank == 0)
        printf("%ld random transfers by %d processes arrived as they were sent\n", transfers, size);
    MPI_Finalize();
    return 0;
}
