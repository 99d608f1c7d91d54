/* SPDX-License-Identifier: BSD-3-Clause */
#include "multigrid/level.h"

#include "frame/program.h"

#include <stdlib.h>

static int row_of(const level *l, const int cell[DIMENSIONS]) {
    return (cell[Z] * l->n[Y] + cell[Y]) * l->n[X] + cell[X];
}

static void cell_of(const level *l, int row, int cell[DIMENSIONS]) {
    cell[X] = row % l->n[X];
    cell[Y] = row / l->n[X] % l->n[Y];
    cell[Z] = row / l->n[X] / l->n[Y];
}

uint64_t level_number(const level *l, int row) {
    uint64_t number = 0;
    int cell[DIMENSIONS];
    cell_of(l, row, cell);
    for (int d = Z; d >= X; d--)
        number =
            number * (uint64_t)l->n[d] * (uint64_t)l->places[d] + (uint64_t)(l->place[d] * l->n[d] + cell[d]);
    return number;
}

/* The steps of -1, 0 and 1 in each direction, by their number from 0 to 26; 13 is no step. */
static void steps_of(int number, int steps[DIMENSIONS]) {
    for (int d = X; d <= Z; d++, number /= 3)
        steps[d] = number % 3 - 1;
}

/* --- peers --- */

/* The cells of a side, an edge or a corner of the block: of one direction, those at its end; of others, all.
 */
static int side_cells(const level *l, const int steps[DIMENSIONS]) {
    int count = 1;
    for (int d = X; d <= Z; d++)
        count *= steps[d] ? 1 : l->n[d];
    return count;
}

static void list_side(const level *l, const int steps[DIMENSIONS], int *rows) {
    int lo[DIMENSIONS], hi[DIMENSIONS], cell[DIMENSIONS];
    for (int d = X; d <= Z; d++) {
        lo[d] = steps[d] > 0 ? l->n[d] - 1 : 0;
        hi[d] = steps[d] < 0 ? 0 : l->n[d] - 1;
    }
    for (cell[Z] = lo[Z]; cell[Z] <= hi[Z]; cell[Z]++)
        for (cell[Y] = lo[Y]; cell[Y] <= hi[Y]; cell[Y]++)
            for (cell[X] = lo[X]; cell[X] <= hi[X]; cell[X]++)
                *rows++ = row_of(l, cell);
}

/* Finds the peers. @param received the first received cell of each of the 27 steps; -1: there is no peer */
static void find_peers(level *l, int received[STENCIL]) {
    int most = 0;
    l->length = l->rows;
    for (int number = 0; number < STENCIL; number++) {
        int steps[DIMENSIONS], coordinates[DIMENSIONS], is_in_grid = 1;
        steps_of(number, steps);
        for (int d = X; d <= Z; d++) {
            coordinates[Z - d] = l->place[d] + steps[d];
            is_in_grid &= coordinates[Z - d] >= 0 && coordinates[Z - d] < l->places[d];
        }
        received[number] = -1;
        if (!is_in_grid || number == STENCIL / 2)
            continue;
        peer *one = &l->peer[l->peers++];
        *one = (peer){.tag = number, .count = side_cells(l, steps), .received = l->length};
        MPI_Cart_rank(l->comm, coordinates, &one->rank);
        one->sent = program_allocate((size_t)one->count, sizeof *one->sent);
        list_side(l, steps, one->sent);
        received[number] = one->received;
        l->length += one->count;
        most = one->count > most ? one->count : most;
    }
    l->sent = program_allocate((size_t)most, sizeof *l->sent);
}

/* Messages leave in the order of the peers; each is packed when the one before has been sent, as in HPCG. */
void level_exchange(level *l, double *vector, timing *t) {
    MPI_Request requests[MOST_PEERS];
    timing_enter(t, HALO_EXCHANGE);
    for (int i = 0; i < l->peers; i++) {
        const peer *from = &l->peer[i];
        MPI_Irecv(vector + from->received, from->count, MPI_DOUBLE, from->rank, MOST_PEERS - from->tag,
                  l->comm, &requests[i]);
    }
    for (int i = 0; i < l->peers; i++) {
        const peer *to = &l->peer[i];
        timing_enter(t, COMPUTATION);
        for (int k = 0; k < to->count; k++)
            l->sent[k] = vector[to->sent[k]];
        timing_enter(t, HALO_EXCHANGE);
        MPI_Send(l->sent, to->count, MPI_DOUBLE, to->rank, to->tag, l->comm);
    }
    for (int i = 0; i < l->peers; i++)
        MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
    timing_enter(t, COMPUTATION);
}

/* --- the matrix --- */

/* The place in a vector of a cell in this block or in a peer's; -1 if it is beyond the grid. */
static int column_of(const level *l, const int cell[DIMENSIONS], const int received[STENCIL]) {
    int number = 0, index = 0;
    for (int d = Z; d >= X; d--) {
        const int step = cell[d] < 0 ? -1 : cell[d] >= l->n[d];
        number = 3 * number + step + 1;
        index = step ? index : index * l->n[d] + cell[d];
    }
    if (number == STENCIL / 2)
        return index;
    return received[number] < 0 ? -1 : received[number] + index;
}

static void fill_matrix(level *l, const int received[STENCIL]) {
    for (int row = 0; row < l->rows; row++)
        for (int number = 0; number < STENCIL; number++) {
            const size_t entry = (size_t)row * STENCIL + (size_t)number;
            int cell[DIMENSIONS], steps[DIMENSIONS];
            cell_of(l, row, cell);
            steps_of(number, steps);
            for (int d = X; d <= Z; d++)
                cell[d] += steps[d];
            const int column = column_of(l, cell, received);
            l->columns[entry] = column < 0 ? row : column;
            l->values[entry] = number == STENCIL / 2 ? 26 : column < 0 ? 0 : -1;
        }
}

static double row_product(const level *l, int row, const double *vector) {
    const double *values = l->values + (size_t)row * STENCIL;
    const int *columns = l->columns + (size_t)row * STENCIL;
    double sum = 0;
    for (int i = 0; i < STENCIL; i++)
        sum += values[i] * vector[columns[i]];
    return sum;
}

void level_multiply(level *l, double *vector, double *product, timing *t) {
    level_exchange(l, vector, t);
    for (int row = 0; row < l->rows; row++)
        product[row] = row_product(l, row, vector);
}

void level_residual(level *l, const double *b, double *x, double *residual, timing *t) {
    level_exchange(l, x, t);
    for (int row = 0; row < l->rows; row++)
        residual[row] = b[row] - row_product(l, row, x);
}

/* --- levels --- */

static void create_coarse(level *l, int coarser) {
    const int half[DIMENSIONS] = {l->n[X] / 2, l->n[Y] / 2, l->n[Z] / 2};
    l->coarse = level_create(half, coarser - 1, l->comm);
    l->fine_rows = program_allocate((size_t)l->coarse->rows, sizeof *l->fine_rows);
    for (int row = 0; row < l->coarse->rows; row++) {
        int cell[DIMENSIONS];
        cell_of(l->coarse, row, cell);
        for (int d = X; d <= Z; d++)
            cell[d] *= 2;
        l->fine_rows[row] = row_of(l, cell);
    }
}

level *level_create(const int n[DIMENSIONS], int coarser, MPI_Comm comm) {
    int places[DIMENSIONS], place[DIMENSIONS], periods[DIMENSIONS], received[STENCIL];
    level *l = program_allocate(1, sizeof *l);
    MPI_Cart_get(comm, DIMENSIONS, places, periods, place);
    l->comm = comm;
    l->rows = n[X] * n[Y] * n[Z];
    for (int d = X; d <= Z; d++) {
        l->n[d] = n[d];
        l->places[d] = places[Z - d];
        l->place[d] = place[Z - d];
    }
    find_peers(l, received);
    l->values = program_allocate((size_t)l->rows * STENCIL, sizeof *l->values);
    l->columns = program_allocate((size_t)l->rows * STENCIL, sizeof *l->columns);
    fill_matrix(l, received);
    l->x = program_allocate((size_t)l->length, sizeof *l->x);
    l->b = program_allocate((size_t)l->length, sizeof *l->b);
    l->residual = program_allocate((size_t)l->length, sizeof *l->residual);
    if (coarser > 0)
        create_coarse(l, coarser);
    return l;
}

void level_free(level *l) {
    if (!l)
        return;
    level_free(l->coarse);
    for (int i = 0; i < l->peers; i++)
        free(l->peer[i].sent);
    double *const vectors[] = {l->values, l->sent, l->x, l->b, l->residual};
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++)
        free(vectors[i]);
    free(l->columns);
    free(l->fine_rows);
    free(l);
}
