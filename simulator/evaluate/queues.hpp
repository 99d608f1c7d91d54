/** @file
 * Event queues that know something about their events, and are faster for it than a heap of all.
 */
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace offbeat::evaluate {

inline constexpr double never = std::numeric_limits<double>::infinity();

/** Something that is due at a time, or at a place on another monotone scale. */
struct Due {
    double at = 0;
    uint32_t what = 0;
};

/** First in, first out, for entries that come (almost) in order: one that comes early is moved to its place.
 */
class OrderedQueue {
  public:
    [[nodiscard]] bool empty() const {
        return head_ == tail_;
    }
    /** When the first one is due; `never` if there is none. */
    [[nodiscard]] double time() const {
        return time_;
    }
    /** The first one. */
    [[nodiscard]] uint32_t which() const {
        return ring_[head_ & mask_].what;
    }
    void clear() {
        head_ = tail_ = 0;
        time_ = never;
    }
    void pop() {
        ++head_;
        time_ = empty() ? never : ring_[head_ & mask_].at;
    }
    void push(double at, uint32_t what) {
        if (tail_ - head_ == ring_.size())
            grow();
        uint64_t place = tail_++;
        while (place > head_ && ring_[(place - 1) & mask_].at > at) {
            ring_[place & mask_] = ring_[(place - 1) & mask_];
            --place;
        }
        ring_[place & mask_] = {at, what};
        if (place == head_)
            time_ = at;
    }

  private:
    void grow() {
        std::vector<Due> larger(std::max<size_t>(8, 2 * ring_.size()));
        for (uint64_t i = head_; i < tail_; ++i)
            larger[i - head_] = ring_[i & mask_];
        tail_ -= head_;
        head_ = 0;
        ring_.swap(larger);
        mask_ = ring_.size() - 1;
    }

    std::vector<Due> ring_; // its size is a power of two
    uint64_t mask_ = 0;     // that size, less one
    uint64_t head_ = 0;
    uint64_t tail_ = 0;
    double time_ = never;
};

/** The smallest of some numbers that change more often than they are asked for: the minimum of each block is
 * kept. */
class Smallest {
  public:
    /** So many numbers, not yet set. */
    void resize(size_t count) {
        const size_t blocks = (count + block - 1) / block;
        numbers_.assign(blocks, {});
        minima_.assign(blocks, never);
        stale_.assign(blocks, 1);
    }
    void set(size_t which, double number) {
        numbers_[which / block].of[which % block] = number;
        stale_[which / block] = 1;
    }
    /** Its place; the number itself in `number`, which is `never` when all are. */
    [[nodiscard]] size_t find(double &number) {
        size_t best = 0;
        for (size_t i = 0; i < minima_.size(); ++i) {
            if (stale_[i]) {
                minima_[i] = numbers_[i].minimum();
                stale_[i] = 0;
            }
            if (minima_[i] < minima_[best])
                best = i;
        }
        number = minima_[best];
        return best * block + numbers_[best].place(number);
    }

  private:
    static constexpr size_t block = 32;
    typedef double Four __attribute__((vector_size(4 * sizeof(double))));
    struct alignas(64) Block {
        Block() {
            std::ranges::fill(of, never);
        }
        [[nodiscard]] double minimum() const {
            const auto *four = reinterpret_cast<const Four *>(of);
            Four low = four[0];
            for (size_t i = 1; i < block / 4; ++i)
                low = four[i] < low ? four[i] : low;
            return std::min(std::min(low[0], low[1]), std::min(low[2], low[3]));
        }
        [[nodiscard]] size_t place(double number) const {
            size_t i = 0;
            while (of[i] != number)
                ++i;
            return i;
        }
        double of[block];
    };

    std::vector<Block> numbers_;
    std::vector<double> minima_;
    std::vector<uint8_t> stale_;
};

/** The earliest of a fixed number of times, which change often: a tree of minima. */
class Earliest {
  public:
    explicit Earliest(size_t count)
        : leaves_(std::bit_ceil(std::max<size_t>(count, 1))), tree_(2 * leaves_, never) {
    }
    void reset() {
        std::ranges::fill(tree_, never);
    }
    [[nodiscard]] double time() const {
        return tree_[1];
    }
    [[nodiscard]] uint32_t which() const {
        size_t node = 1;
        while (node < leaves_)
            node = 2 * node + (tree_[2 * node] > tree_[node] ? 1 : 0);
        return static_cast<uint32_t>(node - leaves_);
    }
    void set(uint32_t which, double at) {
        size_t node = leaves_ + which;
        tree_[node] = at;
        for (node /= 2; node > 0; node /= 2) {
            const double smaller = std::min(tree_[2 * node], tree_[2 * node + 1]);
            if (tree_[node] == smaller)
                break;
            tree_[node] = smaller;
        }
    }
    /** Many at once: put() each, then rebuild(). */
    void put(uint32_t which, double at) {
        tree_[leaves_ + which] = at;
    }
    void rebuild() {
        for (size_t node = leaves_ - 1; node > 0; --node)
            tree_[node] = std::min(tree_[2 * node], tree_[2 * node + 1]);
    }
    [[nodiscard]] size_t size() const {
        return leaves_;
    }

  private:
    size_t leaves_;
    std::vector<double> tree_;
};

} // namespace offbeat::evaluate
