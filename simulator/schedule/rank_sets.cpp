#include "schedule/rank_sets.hpp"

#include <algorithm>
#include <bit>

namespace offbeat::schedule {

namespace {

constexpr uint64_t in_table = uint64_t{1} << 63;

bool has(const std::vector<uint64_t> &bits, int rank) {
    return (bits[static_cast<size_t>(rank) / 64] >> (rank % 64) & 1) != 0;
}

uint64_t hash_of(const std::vector<uint64_t> &bits) {
    uint64_t hash = 0;
    for (const uint64_t bits_of_64 : bits)
        hash = (std::rotl(hash, 29) ^ bits_of_64) * 0x9e3779b97f4a7c15U;
    return hash;
}

} // namespace

RankSets::RankSets(int p) : p_(p) {
}

RankSet RankSets::range(int first, int length) const {
    if (length == 0)
        return no_ranks;
    if (length == p_)
        first = 0;
    return static_cast<uint64_t>(first) << 32 | static_cast<uint64_t>(length);
}

RankSet RankSets::single(int rank) const {
    return range(rank, 1);
}

RankSet RankSets::all() const {
    return range(0, p_);
}

bool RankSets::is_range(RankSet set) {
    return (set & in_table) == 0;
}

int RankSets::first_of(RankSet range) const {
    return static_cast<int>(range >> 32);
}

int RankSets::length_of(RankSet range) const {
    return static_cast<int>(range & 0xffffffffU);
}

bool RankSets::contains(RankSet range, int rank) const {
    const int distance = rank - first_of(range);
    return (distance < 0 ? distance + p_ : distance) < length_of(range);
}

void RankSets::add_to(RankSet set, Bits &bits) const {
    if (!is_range(set)) {
        const Bits &table = tables_[set & ~in_table];
        for (size_t i = 0; i < bits.size(); ++i)
            bits[i] |= table[i];
        return;
    }
    for (int i = 0; i < length_of(set); ++i) {
        const int rank = (first_of(set) + i) % p_;
        bits[static_cast<size_t>(rank) / 64] |= uint64_t{1} << (rank % 64);
    }
}

RankSet RankSets::intern(const Bits &bits) {
    int size = 0;
    int starts = 0;
    int start = 0;
    uint64_t last = has(bits, p_ - 1) ? 1 : 0;
    for (size_t i = 0; i < bits.size(); ++i) {
        const uint64_t begins = bits[i] & ~(bits[i] << 1 | last);
        last = bits[i] >> 63;
        size += std::popcount(bits[i]);
        starts += std::popcount(begins);
        if (begins != 0)
            start = static_cast<int>(i) * 64 + std::countr_zero(begins);
    }
    if (starts <= 1)
        return range(start, size);
    const uint64_t hash = hash_of(bits);
    const auto [from, to] = by_hash_.equal_range(hash);
    for (auto entry = from; entry != to; ++entry)
        if (tables_[entry->second] == bits)
            return in_table | entry->second;
    tables_.push_back(bits);
    by_hash_.emplace(hash, static_cast<uint32_t>(tables_.size() - 1));
    return in_table | (tables_.size() - 1);
}

RankSet RankSets::unite(RankSet a, RankSet b) {
    if (a == b || b == no_ranks)
        return a;
    if (a == no_ranks)
        return b;
    if (is_range(a) && is_range(b) && !common(a, b)) {
        if ((first_of(a) + length_of(a)) % p_ == first_of(b))
            return range(first_of(a), length_of(a) + length_of(b));
        if ((first_of(b) + length_of(b)) % p_ == first_of(a))
            return range(first_of(b), length_of(a) + length_of(b));
    }
    united_.assign((static_cast<size_t>(p_) + 63) / 64, 0);
    add_to(a, united_);
    add_to(b, united_);
    return intern(united_);
}

std::optional<int> RankSets::common(RankSet a, RankSet b) const {
    if (a == no_ranks || b == no_ranks)
        return std::nullopt;
    if (is_range(a) && is_range(b)) {
        if (contains(a, first_of(b)))
            return first_of(b);
        if (contains(b, first_of(a)))
            return first_of(a);
        return std::nullopt;
    }
    if (is_range(a))
        std::swap(a, b);
    const Bits &bits = tables_[a & ~in_table];
    if (is_range(b)) {
        for (int i = 0; i < length_of(b); ++i)
            if (const int rank = (first_of(b) + i) % p_; has(bits, rank))
                return rank;
        return std::nullopt;
    }
    const Bits &others = tables_[b & ~in_table];
    for (size_t i = 0; i < bits.size(); ++i)
        if (const uint64_t both = bits[i] & others[i]; both != 0)
            return static_cast<int>(i) * 64 + std::countr_zero(both);
    return std::nullopt;
}

std::optional<RankSet> RankSets::append_range(RankSet a, RankSet b) const {
    if (!is_range(a) || !is_range(b) || first_of(a) + length_of(a) != first_of(b) ||
        first_of(b) + length_of(b) > p_)
        return std::nullopt;
    return range(first_of(a), length_of(a) + length_of(b));
}

std::optional<int> RankSets::first_missing(RankSet set) const {
    Bits bits((static_cast<size_t>(p_) + 63) / 64);
    add_to(set, bits);
    for (int rank = 0; rank < p_; ++rank)
        if (!has(bits, rank))
            return rank;
    return std::nullopt;
}

std::string RankSets::describe(RankSet set) const {
    Bits bits((static_cast<size_t>(p_) + 63) / 64);
    add_to(set, bits);
    std::vector<std::string> parts;
    int size = 0;
    for (int rank = 0; rank < p_; ++rank) {
        if (!has(bits, rank))
            continue;
        const int first = rank;
        while (rank + 1 < p_ && has(bits, rank + 1))
            ++rank;
        size += rank - first + 1;
        parts.push_back(std::to_string(first) + (rank == first       ? ""
                                                 : rank == first + 1 ? " and " + std::to_string(rank)
                                                                     : " to " + std::to_string(rank)));
    }
    if (size == 0)
        return "no rank";
    if (parts.size() > 4) {
        parts.resize(3);
        parts.emplace_back("others");
    }
    std::string text = size == 1 ? "rank " : "ranks ";
    for (size_t i = 0; i < parts.size(); ++i)
        text += (i == 0 ? "" : i + 1 < parts.size() ? ", " : " and ") + parts[i];
    return text;
}

} // namespace offbeat::schedule
