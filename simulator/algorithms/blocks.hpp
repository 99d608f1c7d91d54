/** @file
 * How libraries divide a buffer: into blocks, one for each rank, and into segments or chunks of a pipeline.
 */
#pragma once

#include "schedule/program.hpp"

#include <cstdint>
#include <vector>

namespace offbeat::algorithms {

using namespace schedule;

/** n elements in p blocks. Libraries differ in which block gets the remainder, and so in the lengths of
 * messages. */
class Blocks {
  public:
    /** Lengths differ by one at most; the first n mod p blocks are the longer ones. */
    static Blocks even(int64_t elements, int64_t blocks);
    /** n div p each; the last block also takes the remainder. */
    static Blocks remainder_last(int64_t elements, int64_t blocks);
    /** n / p rounded up each, until no element is left: the last blocks may be shorter or empty. */
    static Blocks rounded_up(int64_t elements, int64_t blocks);
    /** `length` each. */
    static Blocks equal(int64_t length, int64_t blocks);

    [[nodiscard]] int64_t blocks() const {
        return blocks_;
    }
    /** The start of block `index`; for index = blocks(), the end of the last block. */
    [[nodiscard]] int64_t offset(int64_t index) const;
    [[nodiscard]] int64_t length(int64_t index) const {
        return offset(index + 1) - offset(index);
    }
    /** Blocks [from, end) of a buffer. */
    [[nodiscard]] Span run(const Span &buffer, int64_t from, int64_t end) const {
        return buffer.part(offset(from), offset(end) - offset(from));
    }
    [[nodiscard]] Span block(const Span &buffer, int64_t index) const {
        return run(buffer, index, index + 1);
    }
    /** `number` blocks from block `from` on, modulo blocks(): one piece or two; `from` and `number` are at
     * most blocks(). */
    [[nodiscard]] std::vector<Span> cyclic_run(const Span &buffer, int64_t from, int64_t number) const;

  private:
    Blocks(int64_t elements, int64_t blocks, int64_t length, int64_t longer)
        : elements_(elements), blocks_(blocks), length_(length), longer_(longer) {
    }

    int64_t elements_;
    int64_t blocks_;
    int64_t length_; /**< of a block that is not one of the longer ones */
    int64_t longer_; /**< this many blocks at the start have one element more */
};

/** Segments of equal length, of which the last one may be shorter. */
class Segments {
  public:
    /** @param length elements in a segment; there is one segment if it is 0 or less, or at least the buffer's
     * length.
     */
    Segments(Span buffer, int64_t length);
    /** At least 1, also for an empty buffer. */
    [[nodiscard]] int64_t count() const {
        return count_;
    }
    [[nodiscard]] Span operator[](int64_t index) const;

  private:
    Span buffer_;
    int64_t length_;
    int64_t count_;
};

/** Elements in a segment of `bytes` of a buffer of `count` elements, as Open MPI and SimGrid's ompi_* compute
 * it: the nearest number of elements; `count` if the segment is shorter than one element or at least as long
 * as the buffer. */
int64_t openmpi_segment(const Call &call, int64_t bytes, int64_t count);

/** Whole elements within `bytes`, at least one. */
int64_t elements_within(const Call &call, int64_t bytes);

/** MPICH's chunks of a buffer: the first chunk takes the remainder. One chunk if a chunk is shorter than an
 * element or at least as long as the buffer; none for an empty buffer. */
std::vector<Span> mpich_chunks(const Call &call, const Span &buffer, int64_t chunk_bytes);

} // namespace offbeat::algorithms
