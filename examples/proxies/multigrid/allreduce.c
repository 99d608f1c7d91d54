/* SPDX-License-Identifier: BSD-3-Clause */
#include "multigrid/allreduce.h"

#include "frame/program.h"

#include <stdlib.h>

const char allreduce_names[] = "library|ring|recursive-doubling|reduce-bcast|rabenseifner";

enum { TAG = 7 };

/* A call: the vector, and space for what another process sends. */
typedef struct call {
    double *vector, *received;
    int count, rank, p;
    MPI_Comm comm;
} call;

/* Block `i` of `parts` begins here; block i ends where block i + 1 begins. */
static int begin_of(const call *c, int i, int parts) {
    return (int)((long long)c->count * i / parts);
}

static void add(const call *c, int begin, int end) {
    for (int i = begin; i < end; i++)
        c->vector[i] += c->received[i];
}

static void send(const call *c, int to, int begin, int end) {
    MPI_Send(c->vector + begin, end - begin, MPI_DOUBLE, to, TAG, c->comm);
}

static void receive(const call *c, double *buffer, int from, int begin, int end) {
    MPI_Recv(buffer + begin, end - begin, MPI_DOUBLE, from, TAG, c->comm, MPI_STATUS_IGNORE);
}

/* --- ring --- */

/* Sends a block to the next process of the ring and receives another one from the process before. */
static void shift(const call *c, double *buffer, int sent, int received) {
    const int sent_begin = begin_of(c, sent, c->p), received_begin = begin_of(c, received, c->p);
    MPI_Sendrecv(c->vector + sent_begin, begin_of(c, sent + 1, c->p) - sent_begin, MPI_DOUBLE,
                 (c->rank + 1) % c->p, TAG, buffer + received_begin,
                 begin_of(c, received + 1, c->p) - received_begin, MPI_DOUBLE, (c->rank + c->p - 1) % c->p,
                 TAG, c->comm, MPI_STATUS_IGNORE);
}

static void ring(const call *c) {
    for (int step = 0; step < c->p - 1; step++) {
        const int received = (c->rank - step - 1 + 2 * c->p) % c->p;
        shift(c, c->received, (received + 1) % c->p, received);
        add(c, begin_of(c, received, c->p), begin_of(c, received + 1, c->p));
    }
    for (int step = 0; step < c->p - 1; step++) {
        const int received = (c->rank - step + c->p) % c->p;
        shift(c, c->vector, (received + 1) % c->p, received);
    }
}

/* --- trees --- */

static void reduce_broadcast(const call *c) {
    int distance = 1;
    for (; distance < c->p && !(c->rank & distance); distance *= 2)
        if (c->rank + distance < c->p) {
            receive(c, c->received, c->rank + distance, 0, c->count);
            add(c, 0, c->count);
        }
    if (c->rank > 0) {
        send(c, c->rank - distance, 0, c->count);
        receive(c, c->vector, c->rank - distance, 0, c->count);
    }
    for (distance /= 2; distance > 0; distance /= 2)
        if (c->rank + distance < c->p)
            send(c, c->rank + distance, 0, c->count);
}

/* --- hypercubes --- */

static int largest_power_of_two(int p) {
    int power = 1;
    while (power <= p / 2)
        power *= 2;
    return power;
}

/* Runs an algorithm for a power of two of processes. Of the first 2 (p - power) processes, those with an even
 * rank give their vector to the next one, which takes part, and receive the result from it. */
static void with_power_of_two(const call *c, void (*run)(const call *c, int place, int power)) {
    const int power = largest_power_of_two(c->p), paired = 2 * (c->p - power);
    if (c->rank < paired && c->rank % 2 == 0) {
        send(c, c->rank + 1, 0, c->count);
        receive(c, c->vector, c->rank + 1, 0, c->count);
        return;
    }
    if (c->rank < paired) {
        receive(c, c->received, c->rank - 1, 0, c->count);
        add(c, 0, c->count);
    }
    run(c, c->rank < paired ? c->rank / 2 : c->rank - paired / 2, power);
    if (c->rank < paired)
        send(c, c->rank - 1, 0, c->count);
}

/* The rank of the process at a place among those that take part. */
static int rank_at(const call *c, int place, int power) {
    const int paired = 2 * (c->p - power);
    return place < paired / 2 ? 2 * place + 1 : place + paired / 2;
}

static void swap(const call *c, int partner, double *buffer, const int sent[2], const int received[2]) {
    MPI_Sendrecv(c->vector + sent[0], sent[1] - sent[0], MPI_DOUBLE, partner, TAG, buffer + received[0],
                 received[1] - received[0], MPI_DOUBLE, partner, TAG, c->comm, MPI_STATUS_IGNORE);
}

static void recursive_doubling(const call *c, int place, int power) {
    const int all[2] = {0, c->count};
    for (int distance = 1; distance < power; distance *= 2) {
        swap(c, rank_at(c, place ^ distance, power), c->received, all, all);
        add(c, 0, c->count);
    }
}

/* The part of the vector with the blocks of the `size` places around a place. */
static void blocks_around(const call *c, int place, int size, int power, int part[2]) {
    const int first = place / size * size;
    part[0] = begin_of(c, first, power);
    part[1] = begin_of(c, first + size, power);
}

static void halving_and_doubling(const call *c, int place, int power) {
    int own[2], partners[2];
    for (int distance = power / 2; distance > 0; distance /= 2) {
        blocks_around(c, place, distance, power, own);
        blocks_around(c, place ^ distance, distance, power, partners);
        swap(c, rank_at(c, place ^ distance, power), c->received, partners, own);
        add(c, own[0], own[1]);
    }
    for (int distance = 1; distance < power; distance *= 2) {
        blocks_around(c, place, distance, power, own);
        blocks_around(c, place ^ distance, distance, power, partners);
        swap(c, rank_at(c, place ^ distance, power), c->vector, own, partners);
    }
}

/* --- all --- */

void allreduce(allreduce_algorithm algorithm, double *vector, int count, MPI_Comm comm) {
    double one;
    call c = {.vector = vector, .received = &one, .count = count, .comm = comm};
    if (algorithm == LIBRARY) {
        MPI_Allreduce(MPI_IN_PLACE, vector, count, MPI_DOUBLE, MPI_SUM, comm);
        return;
    }
    MPI_Comm_rank(comm, &c.rank);
    MPI_Comm_size(comm, &c.p);
    if (count > 1)
        c.received = program_allocate((size_t)count, sizeof *c.received);
    if (algorithm == RING)
        ring(&c);
    else if (algorithm == REDUCE_BROADCAST)
        reduce_broadcast(&c);
    else
        with_power_of_two(&c, algorithm == RABENSEIFNER ? halving_and_doubling : recursive_doubling);
    if (count > 1)
        free(c.received);
}

int allreduce_is_right(allreduce_algorithm algorithm, MPI_Comm comm) {
    enum { LONGEST = 37 };
    static const int counts[] = {1, 2, 3, 8, LONGEST};
    int rank, is_right = 1;
    MPI_Comm_rank(comm, &rank);
    for (size_t k = 0; k < sizeof counts / sizeof *counts; k++) {
        double own[LONGEST], library[LONGEST];
        for (int i = 0; i < counts[k]; i++) /* whole numbers: their sum is exact in any order */
            own[i] = library[i] = (double)((rank + 1) * (i + 1) % 101 - 50);
        allreduce(algorithm, own, counts[k], comm);
        allreduce(LIBRARY, library, counts[k], comm);
        for (int i = 0; i < counts[k]; i++)
            is_right &= own[i] == library[i];
    }
    MPI_Allreduce(MPI_IN_PLACE, &is_right, 1, MPI_INT, MPI_LAND, comm);
    return is_right;
}
