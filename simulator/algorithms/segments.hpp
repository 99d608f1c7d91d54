/** @file
 * How pipelined algorithms cut a buffer into segments.
 */
#pragma once

#include "schedule/program.hpp"

#include <cstdint>

namespace offbeat::algorithms {

/** Segments of equal length, of which the last one may be shorter. */
class Segments {
  public:
    /** @param length elements in a segment; one segment holds everything if it is 0 or less, or no less than
     * the whole. */
    Segments(schedule::Span whole, int64_t length);
    /** At least 1, also for an empty buffer. */
    [[nodiscard]] int64_t count() const {
        return count_;
    }
    [[nodiscard]] schedule::Span operator[](int64_t index) const;

  private:
    schedule::Span whole_;
    int64_t length_;
    int64_t count_;
};

/** Elements in a segment of `bytes` of a buffer of `count` elements, as Open MPI and SimGrid's ompi_*
 * compute it: the nearest number of elements; everything if that is less than one element, or no less than
 * everything. */
int64_t openmpi_segment(const schedule::Call &call, int64_t bytes, int64_t count);

/** Whole elements within `bytes`, at least one. */
int64_t elements_within(const schedule::Call &call, int64_t bytes);

} // namespace offbeat::algorithms
