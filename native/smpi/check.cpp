/* SPDX-License-Identifier: BSD-3-Clause */
#include "check.hpp"

#include <algorithm>

namespace offbeat::smpi {

namespace {

constexpr uint32_t unwritten = 0xC0FFEE;

} // namespace

Check::Check(const Call &call, int p)
    : call_(call), p_(p), length_(buffer_bytes(call, p) / sizeof(uint32_t)),
      inputs_(length_ * static_cast<size_t>(p)), outputs_(length_ * static_cast<size_t>(p), unwritten) {
    for (int rank = 0; rank < p; rank++) {
        auto *elements = static_cast<uint32_t *>(input(rank));
        for (size_t index = 0; index < length_; index++) {
            elements[index] = value(rank, index);
        }
    }
    if (call.collective == "bcast") { // in index: the root's output holds the data
        std::copy_n(static_cast<uint32_t *>(input(call.root)), length_,
                    static_cast<uint32_t *>(output(call.root)));
    }
}

void *Check::input(int rank) {
    return inputs_.data() + static_cast<size_t>(rank) * length_;
}

void *Check::output(int rank) {
    return outputs_.data() + static_cast<size_t>(rank) * length_;
}

int64_t Check::count_wrong() const {
    int64_t wrong = 0;
    for (int rank = 0; rank < p_; rank++) {
        const uint32_t *elements = outputs_.data() + static_cast<size_t>(rank) * length_;
        for (size_t index = 0; index < result_length(rank); index++) {
            wrong += elements[index] != expected(rank, index);
        }
    }
    return wrong;
}

uint32_t Check::value(int rank, size_t index) {
    const auto r = static_cast<uint32_t>(rank);
    return 1 + r * r + 5 * static_cast<uint32_t>(index);
}

uint32_t Check::sum(int ranks, size_t index) {
    uint32_t total = 0;
    for (int rank = 0; rank < ranks; rank++) {
        total += value(rank, index);
    }
    return total;
}

size_t Check::result_length(int rank) const {
    const std::string &name = call_.collective;
    if (name == "barrier" || (rank != call_.root && (name == "gather" || name == "reduce")) ||
        (rank == 0 && name == "exscan")) {
        return 0;
    }
    const bool all_blocks = name == "allgather" || name == "alltoall" || name == "gather";
    return static_cast<size_t>(call_.count) * (all_blocks ? static_cast<size_t>(p_) : 1);
}

uint32_t Check::expected(int rank, size_t index) const {
    const std::string &name = call_.collective;
    const auto n = static_cast<size_t>(call_.count);
    const size_t block_index =
        static_cast<size_t>(rank) * n + index; // in a buffer with a block for each rank
    if (name == "bcast") {
        return value(call_.root, index);
    }
    if (name == "scatter") {
        return value(call_.root, block_index);
    }
    if (name == "allgather" || name == "gather") {
        return value(static_cast<int>(index / n), index % n);
    }
    if (name == "alltoall") {
        return value(static_cast<int>(index / n), static_cast<size_t>(rank) * n + index % n);
    }
    if (name == "scan") {
        return sum(rank + 1, index);
    }
    if (name == "exscan") {
        return sum(rank, index);
    }
    const bool scattered = name == "reduce_scatter" || name == "reduce_scatter_block";
    return sum(p_, scattered ? block_index : index);
}

} // namespace offbeat::smpi
