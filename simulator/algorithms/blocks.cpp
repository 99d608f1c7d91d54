#include "algorithms/blocks.hpp"

#include <algorithm>

namespace offbeat::algorithms {

Blocks Blocks::even(int64_t elements, int64_t blocks) {
    return {elements, blocks, elements / blocks, elements % blocks};
}

Blocks Blocks::remainder_last(int64_t elements, int64_t blocks) {
    return {elements, blocks, elements / blocks, 0};
}

Blocks Blocks::rounded_up(int64_t elements, int64_t blocks) {
    return {elements, blocks, (elements + blocks - 1) / blocks, 0};
}

Blocks Blocks::equal(int64_t length, int64_t blocks) {
    return {length * blocks, blocks, length, 0};
}

int64_t Blocks::offset(int64_t index) const {
    if (index >= blocks_)
        return elements_;
    return std::min(elements_, index * length_ + std::min(index, longer_));
}

std::vector<schedule::Span> Blocks::around(const schedule::Span &buffer, int64_t from, int64_t number) const {
    from %= blocks_;
    if (from + number <= blocks_)
        return {run(buffer, from, from + number)};
    return {run(buffer, from, blocks_), run(buffer, 0, from + number - blocks_)};
}

} // namespace offbeat::algorithms
