/* SPDX-License-Identifier: BSD-3-Clause */
#include "ft/slabs.h"

#include <string.h>

size_t ft_part_first(size_t total, int p, int rank) {
    return total * (size_t)rank / (size_t)p;
}

size_t ft_part_size(size_t total, int p, int rank) {
    return ft_part_first(total, p, rank + 1) - ft_part_first(total, p, rank);
}

size_t ft_part_largest(size_t total, int p) {
    return (total + (size_t)p - 1) / (size_t)p;
}

ft_slabs ft_slabs_with_blocks(ft_slabs slabs) {
    slabs.block = ft_part_largest(slabs.planes, slabs.p) * slabs.depth *
                  ft_part_largest(slabs.columns, slabs.p) * slabs.width;
    return slabs;
}

size_t ft_slabs_elements(const ft_slabs *slabs) {
    return slabs->block * (size_t)slabs->p;
}

/* The block of a process has the same offset in the send buffer and in the receive buffer. */
static size_t block_at(const ft_slabs *slabs, int rank) {
    return slabs->block * (size_t)rank;
}

/* Elements of the columns of one process in one line [column][w], and the first of them. */
static size_t own_width(const ft_slabs *slabs, int rank) {
    return ft_part_size(slabs->columns, slabs->p, rank) * slabs->width;
}

static size_t own_first(const ft_slabs *slabs, int rank) {
    return ft_part_first(slabs->columns, slabs->p, rank) * slabs->width;
}

static void copy(ft_complex *to, const ft_complex *from, size_t elements) {
    memcpy(to, from, elements * sizeof *to);
}

void ft_slab_to_blocks(const ft_slabs *slabs, const ft_complex *slab, ft_complex *blocks) {
    size_t lines = ft_part_size(slabs->planes, slabs->p, slabs->rank) * slabs->depth;
    for (int to = 0; to < slabs->p; to++) {
        size_t first = own_first(slabs, to), width = own_width(slabs, to);
        ft_complex *block = blocks + block_at(slabs, to);
        for (size_t line = 0; line < lines; line++)
            copy(block + line * width, slab + line * slabs->columns * slabs->width + first, width);
    }
}

void ft_blocks_to_slab(const ft_slabs *slabs, const ft_complex *blocks, ft_complex *slab) {
    size_t lines = ft_part_size(slabs->planes, slabs->p, slabs->rank) * slabs->depth;
    for (int from = 0; from < slabs->p; from++) {
        size_t first = own_first(slabs, from), width = own_width(slabs, from);
        const ft_complex *block = blocks + block_at(slabs, from);
        for (size_t line = 0; line < lines; line++)
            copy(slab + line * slabs->columns * slabs->width + first, block + line * width, width);
    }
}

/* The own columns of consecutive planes are contiguous in the pencils and in a block: one copy per process.
 */
void ft_blocks_to_pencils(const ft_slabs *slabs, const ft_complex *blocks, ft_complex *pencils) {
    size_t plane = slabs->depth * own_width(slabs, slabs->rank);
    for (int from = 0; from < slabs->p; from++)
        copy(pencils + ft_part_first(slabs->planes, slabs->p, from) * plane, blocks + block_at(slabs, from),
             ft_part_size(slabs->planes, slabs->p, from) * plane);
}

void ft_pencils_to_blocks(const ft_slabs *slabs, const ft_complex *pencils, ft_complex *blocks) {
    size_t plane = slabs->depth * own_width(slabs, slabs->rank);
    for (int to = 0; to < slabs->p; to++)
        copy(blocks + block_at(slabs, to), pencils + ft_part_first(slabs->planes, slabs->p, to) * plane,
             ft_part_size(slabs->planes, slabs->p, to) * plane);
}
