/* SPDX-License-Identifier: BSD-3-Clause */
/** @file
 * Whether a collective computes what it should: numbers in, numbers out, compared with arithmetic.
 */
#pragma once

#include "calls.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace offbeat::smpi {

/** The buffers of all ranks for one call on MPI_INT with MPI_SUM. */
class Check {
  public:
    Check(const Call &call, int p);

    [[nodiscard]] void *input(int rank);
    [[nodiscard]] void *output(int rank);
    /** After the call: how many elements of all outputs are wrong. */
    [[nodiscard]] int64_t wrong() const;

  private:
    /** What rank contributes at a place of its input. */
    [[nodiscard]] static uint32_t value(int rank, size_t place);
    /** The sum of what the first `ranks` contribute at a place. */
    [[nodiscard]] static uint32_t sum(int ranks, size_t place);
    /** Elements of a rank's result; 0 where it gets none. */
    [[nodiscard]] size_t result_length(int rank) const;
    [[nodiscard]] uint32_t expected(int rank, size_t place) const;

    Call call_;
    int p_;
    size_t length_; /**< elements of each buffer */
    std::vector<uint32_t> inputs_;
    std::vector<uint32_t> outputs_;
};

} // namespace offbeat::smpi
