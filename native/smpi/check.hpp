/* SPDX-License-Identifier: BSD-3-Clause */
/** @file
 * Checks the result of a collective on known numbers.
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
    /** After the call: the number of wrong elements in all outputs. */
    [[nodiscard]] int64_t count_wrong() const;

  private:
    /** The element of a rank's input at an index. */
    [[nodiscard]] static uint32_t value(int rank, size_t index);
    /** The sum of the elements of the first `ranks` ranks at an index. */
    [[nodiscard]] static uint32_t sum(int ranks, size_t index);
    /** Number of elements of a rank's result. */
    [[nodiscard]] size_t result_length(int rank) const;
    [[nodiscard]] uint32_t expected(int rank, size_t index) const;

    Call call_;
    int p_;
    size_t length_; /**< elements of each buffer */
    std::vector<uint32_t> inputs_;
    std::vector<uint32_t> outputs_;
};

} // namespace offbeat::smpi
