/* SPDX-License-Identifier: BSD-3-Clause */
#include "block.h"

#include <stdlib.h>
#include <string.h>

/* The place of a cell in the arrays. */
static size_t at(const block *b, int z, int y, int x) {
    return ((size_t)z * (size_t)(b->n[Y] + 2) + (size_t)y) * (size_t)(b->n[X] + 2) + (size_t)x;
}

/* The number of a cell in the grid. */
static uint64_t number(const block *b, int z, int y, int x) {
    uint64_t plane = (uint64_t)(b->first[Z] + z - 1), row = (uint64_t)(b->first[Y] + y - 1);
    return (plane * (uint64_t)b->grid[Y] + row) * (uint64_t)b->grid[X] + (uint64_t)(b->first[X] + x - 1);
}

int block_create(block *b, const int grid[3], const int places[3], const int place[3]) {
    for (int d = 0; d < 3; d++) {
        int64_t cells = b->grid[d] = grid[d];
        b->first[d] = (int)(cells * place[d] / places[d]);
        b->n[d] = (int)(cells * (place[d] + 1) / places[d]) - b->first[d];
    }
    size_t cells = at(b, b->n[Z] + 2, 0, 0);
    b->now = calloc(cells, sizeof *b->now);
    b->next = calloc(cells, sizeof *b->next);
    return b->now && b->next;
}

void block_free(block *b) {
    free(b->now);
    free(b->next);
}

static int is_wall(const block *b, int direction, int cell) {
    int in_grid = b->first[direction] + cell - 1;
    return in_grid < 0 || in_grid >= b->grid[direction];
}

void block_heat(block *b) {
    for (int z = 0; z < b->n[Z] + 2; z++)
        for (int y = 0; y < b->n[Y] + 2; y++)
            for (int x = 0; x < b->n[X] + 2; x++)
                if (!is_wall(b, Z, z) && !is_wall(b, Y, y) && !is_wall(b, X, x))
                    b->now[at(b, z, y, x)] = (double)(number(b, z, y, x) * 2654435761U % 1000003) / 1000003;
}

void block_relax(block *b, int z, int y0, int y1) {
    size_t row = at(b, 0, 1, 0), plane = at(b, 1, 0, 0);
    for (int y = y0; y < y1; y++) {
        const double *now = b->now + at(b, z, y, 0);
        double *restrict next = b->next + at(b, z, y, 0);
        for (int x = 1; x <= b->n[X]; x++) {
            double around =
                now[x - 1] + now[x + 1] + now[x - row] + now[x + row] + now[x - plane] + now[x + plane];
            next[x] = now[x] + 0.1 * (around - 6 * now[x]);
        }
    }
}

void block_advance(block *b) {
    double *next = b->next;
    b->next = b->now;
    b->now = next;
}

box block_face(const block *b, int face, int part, int parts, int is_neighbours) {
    box cells = {{1, 1, 1}, {b->n[Z] + 1, b->n[Y] + 1, b->n[X] + 1}};
    int normal = face / 2, is_upper = face % 2, divided = normal == Y ? Z : Y;
    cells.lo[normal] = is_upper ? b->n[normal] + is_neighbours : 1 - is_neighbours;
    cells.hi[normal] = cells.lo[normal] + 1;
    cells.lo[divided] = 1 + (int)((int64_t)b->n[divided] * part / parts);
    cells.hi[divided] = 1 + (int)((int64_t)b->n[divided] * (part + 1) / parts);
    return cells;
}

int block_face_cells(const block *b, int face, int parts) {
    int normal = face / 2, divided = normal == Y ? Z : Y, other = normal == X ? Z : X;
    return (b->n[divided] + parts - 1) / parts * b->n[other];
}

void block_pack(const block *b, box cells, double *buffer) {
    size_t length = (size_t)(cells.hi[X] - cells.lo[X]);
    for (int z = cells.lo[Z]; z < cells.hi[Z]; z++)
        for (int y = cells.lo[Y]; y < cells.hi[Y]; y++, buffer += length)
            memcpy(buffer, b->next + at(b, z, y, cells.lo[X]), length * sizeof *buffer);
}

void block_unpack(block *b, box cells, const double *buffer) {
    size_t length = (size_t)(cells.hi[X] - cells.lo[X]);
    for (int z = cells.lo[Z]; z < cells.hi[Z]; z++)
        for (int y = cells.lo[Y]; y < cells.hi[Y]; y++, buffer += length)
            memcpy(b->next + at(b, z, y, cells.lo[X]), buffer, length * sizeof *buffer);
}

uint64_t block_checksum(const block *b) {
    uint64_t sum = 0;
    for (int z = 1; z <= b->n[Z]; z++)
        for (int y = 1; y <= b->n[Y]; y++)
            for (int x = 1; x <= b->n[X]; x++) {
                uint64_t bits;
                memcpy(&bits, &b->now[at(b, z, y, x)], sizeof bits);
                sum += bits * (2 * number(b, z, y, x) + 1);
            }
    return sum;
}
