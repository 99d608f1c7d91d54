/** @file
 * How libraries cut a buffer of n elements into blocks, one for each of p ranks. They differ in who gets the
 * remainder, and with it in the lengths of messages.
 */
#pragma once

#include "schedule/program.hpp"

#include <cstdint>
#include <vector>

namespace offbeat::algorithms {

class Blocks {
  public:
    /** Lengths differ by one at most; the first n mod p blocks are the longer ones. */
    static Blocks even(int64_t elements, int64_t blocks);
    /** n div p each; the last one takes the remainder as well. */
    static Blocks remainder_last(int64_t elements, int64_t blocks);
    /** n / p rounded up each, until nothing is left: the last ones may be shorter or empty. */
    static Blocks rounded_up(int64_t elements, int64_t blocks);
    /** `length` each. */
    static Blocks equal(int64_t length, int64_t blocks);

    [[nodiscard]] int64_t blocks() const {
        return blocks_;
    }
    /** Where block `index` starts; for index = blocks(), the end of the last one. */
    [[nodiscard]] int64_t offset(int64_t index) const;
    [[nodiscard]] int64_t length(int64_t index) const {
        return offset(index + 1) - offset(index);
    }
    /** Blocks `from` up to and without `end` of a buffer. */
    [[nodiscard]] schedule::Span run(const schedule::Span &buffer, int64_t from, int64_t end) const {
        return buffer.part(offset(from), offset(end) - offset(from));
    }
    [[nodiscard]] schedule::Span block(const schedule::Span &buffer, int64_t index) const {
        return run(buffer, index, index + 1);
    }

    /** `number` blocks from block `from` on, around the circle: one piece or two; `from` and `number` are at
     * most blocks(). */
    [[nodiscard]] std::vector<schedule::Span> around(const schedule::Span &buffer, int64_t from,
                                                     int64_t number) const;

  private:
    Blocks(int64_t elements, int64_t blocks, int64_t length, int64_t longer)
        : elements_(elements), blocks_(blocks), length_(length), longer_(longer) {
    }

    int64_t elements_;
    int64_t blocks_;
    int64_t length_; /**< of a block that is not one of the longer ones */
    int64_t longer_; /**< so many blocks at the start have one element more */
};

} // namespace offbeat::algorithms
