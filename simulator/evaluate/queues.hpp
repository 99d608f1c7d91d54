/** @file
 * Event queues for special cases, which are faster than one heap of all events.
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

/** Times that differ by less than this share of themselves are one event. Sums of times in double precision
 * differ in their last digits with the order of the additions: 1e-12 is the error of 4,500 additions that all
 * round in the same direction. */
inline constexpr double time_resolution = 1e-12;

/** The latest time that is one event with `time_s`. */
inline double end_of_event(double time_s) {
    return time_s * (1 + time_resolution);
}

/** When a rank exits that was at its exit at `time_s` after the origin of time; rounding does not let it exit
 * before it arrives. */
inline double exit_s(double arrival_s, double origin_s, double time_s) {
    return std::max(arrival_s, origin_s + time_s);
}

/** An entry that is due at a time, or at a value of another monotone quantity. */
struct TimedEntry {
    double time = 0;
    uint32_t id = 0;
};

/** A ring buffer for entries that are pushed (almost) in order; an entry that is early is moved to its
 * position. */
class OrderedQueue {
  public:
    [[nodiscard]] bool empty() const {
        return head_ == tail_;
    }
    /** The time of the first entry; `never` if there is none. */
    [[nodiscard]] double first_time() const {
        return time_;
    }
    /** The id of the first entry. */
    [[nodiscard]] uint32_t first_id() const {
        return ring_[head_ & mask_].id;
    }
    void clear() {
        head_ = tail_ = 0;
        time_ = never;
    }
    void pop() {
        ++head_;
        time_ = empty() ? never : ring_[head_ & mask_].time;
    }
    void push(double time_s, uint32_t id) {
        if (tail_ - head_ == ring_.size())
            grow();
        uint64_t index = tail_++;
        while (index > head_ && ring_[(index - 1) & mask_].time > time_s) {
            ring_[index & mask_] = ring_[(index - 1) & mask_];
            --index;
        }
        ring_[index & mask_] = {time_s, id};
        if (index == head_)
            time_ = time_s;
    }

  private:
    void grow() {
        std::vector<TimedEntry> larger(std::max<size_t>(8, 2 * ring_.size()));
        for (uint64_t i = head_; i < tail_; ++i)
            larger[i - head_] = ring_[i & mask_];
        tail_ -= head_;
        head_ = 0;
        ring_.swap(larger);
        mask_ = ring_.size() - 1;
    }

    std::vector<TimedEntry> ring_; // its size is a power of two
    uint64_t mask_ = 0;            // that size, less one
    uint64_t head_ = 0;
    uint64_t tail_ = 0;
    double time_ = never;
};

/** The minimum of numbers that change more often than the minimum is read: caches the minimum of each block.
 */
class BlockMinimum {
  public:
    /** `count` numbers, all `never`. */
    void resize(size_t count) {
        const size_t blocks = (count + block - 1) / block;
        numbers_.assign(blocks, {});
        minima_.assign(blocks, never);
        stale_.assign(blocks, 1);
    }
    void set(size_t index, double number) {
        numbers_[index / block].values[index % block] = number;
        stale_[index / block] = 1;
    }
    /** The index of the minimum, and the minimum in `number`; `never` if all numbers are. */
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
        return best * block + numbers_[best].index_of(number);
    }

  private:
    static constexpr size_t block = 32; // times: four cache lines
    typedef double Four __attribute__((vector_size(4 * sizeof(double))));
    struct alignas(64) Block {
        Block() {
            std::ranges::fill(values, never);
        }
        [[nodiscard]] double minimum() const {
            const auto *four = reinterpret_cast<const Four *>(values);
            Four low = four[0];
            for (size_t i = 1; i < block / 4; ++i)
                low = four[i] < low ? four[i] : low;
            return std::min(std::min(low[0], low[1]), std::min(low[2], low[3]));
        }
        [[nodiscard]] size_t index_of(double number) const {
            size_t i = 0;
            while (values[i] != number)
                ++i;
            return i;
        }
        double values[block];
    };

    std::vector<Block> numbers_;
    std::vector<double> minima_;
    std::vector<uint8_t> stale_;
};

/** The minimum of a fixed number of times that change often: a binary tree of minima. */
class MinTree {
  public:
    explicit MinTree(size_t count)
        : leaves_(std::bit_ceil(std::max<size_t>(count, 1))), tree_(2 * leaves_, never) {
    }
    void reset() {
        std::ranges::fill(tree_, never);
    }
    /** The smallest of the times; `never` if all are. */
    [[nodiscard]] double first_time() const {
        return tree_[1];
    }
    /** The number of the smallest time. */
    [[nodiscard]] uint32_t first_id() const {
        size_t node = 1;
        while (node < leaves_)
            node = 2 * node + (tree_[2 * node] > tree_[node] ? 1 : 0);
        return static_cast<uint32_t>(node - leaves_);
    }
    void set(uint32_t index, double time_s) {
        size_t node = leaves_ + index;
        tree_[node] = time_s;
        for (node /= 2; node > 0; node /= 2) {
            const double smaller = std::min(tree_[2 * node], tree_[2 * node + 1]);
            if (tree_[node] == smaller)
                break;
            tree_[node] = smaller;
        }
    }
    /** To change many times: put() each, then rebuild(). */
    void put(uint32_t index, double time_s) {
        tree_[leaves_ + index] = time_s;
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
