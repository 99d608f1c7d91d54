/* SPDX-License-Identifier: BSD-3-Clause */
#include "regions/block.h"

#include <math.h>

/* The first element of part k of n: part k has 1 + imbalance × (2 k / (parts - 1) - 1) times the mean. */
static int begin_of(int elements, int parts, int k, double imbalance) {
    const double before =
        k * (1 - imbalance) + (parts > 1 ? imbalance * k * (k - 1) / (parts - 1) : k * imbalance);
    return (int)floor(elements * before / parts + 0.5);
}

/* The places of one side of all fields of a group: in `direction` only `place`, in the others all elements.
 */
static MPI_Datatype side_type(const block *b, int direction, int place) {
    int sizes[1 + DIMENSIONS] = {FIELDS}, counts[1 + DIMENSIONS] = {FIELDS}, starts[1 + DIMENSIONS] = {0};
    for (int d = X; d <= Z; d++) {
        sizes[DIMENSIONS - d] = b->n[d] + 2;
        counts[DIMENSIONS - d] = d == direction ? 1 : b->n[d];
        starts[DIMENSIONS - d] = d == direction ? place : 1;
    }
    MPI_Datatype type;
    MPI_Type_create_subarray(1 + DIMENSIONS, sizes, counts, starts, MPI_ORDER_C, MPI_DOUBLE, &type);
    MPI_Type_commit(&type);
    return type;
}

int block_create(block *b, const int elements[DIMENSIONS], double imbalance, MPI_Comm comm) {
    int places[DIMENSIONS], periods[DIMENSIONS], place[DIMENSIONS], is_possible = 1;
    MPI_Cart_get(comm, DIMENSIONS, places, periods, place);
    b->comm = comm;
    b->cells = 1;
    for (int d = X; d <= Z; d++) {
        const int parts = places[Z - d], k = place[Z - d];
        const double share = d == Z ? imbalance : 0;
        b->elements[d] = elements[d];
        b->first[d] = begin_of(elements[d], parts, k, share);
        b->n[d] = begin_of(elements[d], parts, k + 1, share) - b->first[d];
        b->distance[d] = b->cells;
        b->cells *= (size_t)b->n[d] + 2;
        MPI_Cart_shift(comm, Z - d, 1, &b->neighbour[d][LOW], &b->neighbour[d][HIGH]);
        is_possible &= b->n[d] > 0;
    }
    MPI_Allreduce(MPI_IN_PLACE, &is_possible, 1, MPI_INT, MPI_LAND, comm);
    for (int d = X; is_possible && d <= Z; d++)
        for (int side = LOW; side <= HIGH; side++) {
            b->sent[d][side] = side_type(b, d, side == LOW ? 1 : b->n[d]);
            b->received[d][side] = side_type(b, d, side == LOW ? 0 : b->n[d] + 1);
        }
    return is_possible;
}

void block_free(block *b) {
    for (int d = X; d <= Z; d++)
        for (int side = LOW; side <= HIGH; side++) {
            MPI_Type_free(&b->sent[d][side]);
            MPI_Type_free(&b->received[d][side]);
        }
}

void block_exchange(const block *b, double *groups, size_t distance) {
    MPI_Request requests[2 * DIMENSIONS * SIDES];
    MPI_Status
        statuses[2 * DIMENSIONS * SIDES]; /* GCC takes MPICH's MPI_STATUSES_IGNORE for an array, and warns */
    int count = 0;
    for (int d = X; d <= Z; d++)
        for (int side = LOW; side <= HIGH; side++)
            MPI_Irecv(groups + (size_t)d * distance, 1, b->received[d][side], b->neighbour[d][side],
                      2 * d + !side, b->comm, &requests[count++]);
    for (int d = X; d <= Z; d++)
        for (int side = LOW; side <= HIGH; side++)
            MPI_Isend(groups + (size_t)d * distance, 1, b->sent[d][side], b->neighbour[d][side], 2 * d + side,
                      b->comm, &requests[count++]);
    MPI_Waitall(count, requests, statuses);
}

/* Of one field. */
static void reflect_field(const block *b, double *field, int direction, int side, double sign) {
    const int u = (direction + 1) % DIMENSIONS, v = (direction + 2) % DIMENSIONS;
    const size_t beyond = side == LOW ? 0 : (size_t)b->n[direction] + 1;
    const size_t beside = side == LOW ? 1 : (size_t)b->n[direction];
    for (int i = 1; i <= b->n[u]; i++)
        for (int k = 1; k <= b->n[v]; k++) {
            const size_t line = (size_t)i * b->distance[u] + (size_t)k * b->distance[v];
            field[line + beyond * b->distance[direction]] =
                sign * field[line + beside * b->distance[direction]];
        }
}

void block_reflect(const block *b, double *group, int direction, double normal, double others) {
    for (int side = LOW; side <= HIGH; side++)
        for (int f = 0; b->neighbour[direction][side] == MPI_PROC_NULL && f < FIELDS; f++)
            reflect_field(b, group + (size_t)f * b->cells, direction, side,
                          f == MOTION + direction ? normal : others);
}
