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
    // bcast has one buffer: the root's output holds the data
    if (call.collective->result == Result::FROM_ROOT && call.collective->sent == Blocks::NO_BLOCK) {
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
    const Collective &collective = *call_.collective;
    if (collective.received == Blocks::NO_BLOCK ||
        (collective.root == Root::ROOT_RECEIVES && rank != call_.root) ||
        (collective.result == Result::REDUCE_BEFORE && rank == 0)) {
        return 0;
    }
    const bool all_blocks = collective.received == Blocks::BLOCK_PER_RANK;
    return static_cast<size_t>(call_.count) * (all_blocks ? static_cast<size_t>(p_) : 1);
}

uint32_t Check::expected(int rank, size_t index) const {
    const auto n = static_cast<size_t>(call_.count);
    const bool own_block = call_.collective->sent == Blocks::BLOCK_PER_RANK;
    const size_t first =
        own_block ? static_cast<size_t>(rank) * n : 0; // of what each sender has for this rank
    switch (call_.collective->result) {
    case Result::FROM_ROOT:
        return value(call_.root, first + index);
    case Result::FROM_EACH:
        return value(static_cast<int>(index / n), first + index % n);
    case Result::REDUCE_UPTO:
        return sum(rank + 1, index);
    case Result::REDUCE_BEFORE:
        return sum(rank, index);
    default:
        return sum(p_, first + index);
    }
}

} // namespace offbeat::smpi
