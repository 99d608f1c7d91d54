/* SPDX-License-Identifier: BSD-3-Clause */
#include "check.hpp"

#include <algorithm>

namespace offbeat::smpi {

namespace {

constexpr uint32_t untouched = 0xC0FFEE;

} // namespace

Check::Check(const Call &call, int p)
    : call_(call), p_(p), length_(buffer_bytes(call, p) / sizeof(uint32_t)),
      inputs_(length_ * static_cast<size_t>(p)), outputs_(length_ * static_cast<size_t>(p), untouched) {
    for (int rank = 0; rank < p; rank++) {
        auto *mine = static_cast<uint32_t *>(input(rank));
        for (size_t place = 0; place < length_; place++) {
            mine[place] = value(rank, place);
        }
    }
    if (call.collective == "bcast") { // in place: the root's output holds the data
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

int64_t Check::wrong() const {
    int64_t found = 0;
    for (int rank = 0; rank < p_; rank++) {
        const uint32_t *mine = outputs_.data() + static_cast<size_t>(rank) * length_;
        for (size_t place = 0; place < result_length(rank); place++) {
            found += mine[place] != expected(rank, place);
        }
    }
    return found;
}

uint32_t Check::value(int rank, size_t place) {
    const auto r = static_cast<uint32_t>(rank);
    return 1 + r * r + 5 * static_cast<uint32_t>(place);
}

uint32_t Check::sum(int ranks, size_t place) {
    uint32_t total = 0;
    for (int rank = 0; rank < ranks; rank++) {
        total += value(rank, place);
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

uint32_t Check::expected(int rank, size_t place) const {
    const std::string &name = call_.collective;
    const auto n = static_cast<size_t>(call_.count);
    const size_t here = static_cast<size_t>(rank) * n + place; // in a buffer with a block for each rank
    if (name == "bcast") {
        return value(call_.root, place);
    }
    if (name == "scatter") {
        return value(call_.root, here);
    }
    if (name == "allgather" || name == "gather") {
        return value(static_cast<int>(place / n), place % n);
    }
    if (name == "alltoall") {
        return value(static_cast<int>(place / n), static_cast<size_t>(rank) * n + place % n);
    }
    if (name == "scan") {
        return sum(rank + 1, place);
    }
    if (name == "exscan") {
        return sum(rank, place);
    }
    const bool scattered = name == "reduce_scatter" || name == "reduce_scatter_block";
    return sum(p_, scattered ? here : place);
}

} // namespace offbeat::smpi
