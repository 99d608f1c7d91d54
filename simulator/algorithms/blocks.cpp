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

std::vector<Span> Blocks::cyclic_run(const Span &buffer, int64_t from, int64_t number) const {
    from %= blocks_;
    if (from + number <= blocks_)
        return {run(buffer, from, from + number)};
    return {run(buffer, from, blocks_), run(buffer, 0, from + number - blocks_)};
}

Segments::Segments(Span buffer, int64_t length) : buffer_(buffer), length_(length), count_(1) {
    if (length_ <= 0 || length_ >= buffer.length)
        length_ = buffer.length;
    else
        count_ = (buffer.length + length_ - 1) / length_;
}

Span Segments::operator[](int64_t index) const {
    const int64_t from = index * length_;
    return buffer_.part(from, std::min(length_, buffer_.length - from));
}

int64_t openmpi_segment(const Call &call, int64_t bytes, int64_t count) {
    const int64_t element = call.element_bytes;
    if (bytes < element || bytes >= element * count)
        return count;
    return bytes / element + (bytes % element > element / 2 ? 1 : 0);
}

int64_t elements_within(const Call &call, int64_t bytes) {
    return std::max<int64_t>(1, bytes / call.element_bytes);
}

std::vector<Span> mpich_chunks(const Call &call, const Span &buffer, int64_t chunk_bytes) {
    int64_t length = chunk_bytes / call.element_bytes;
    if (length < 1 || length > buffer.length)
        length = buffer.length;
    std::vector<Span> chunks;
    for (int64_t from = 0; from < buffer.length; from += chunks.back().length) {
        const int64_t remainder = buffer.length % length;
        chunks.push_back(buffer.part(from, from == 0 && remainder != 0 ? remainder : length));
    }
    return chunks;
}

} // namespace offbeat::algorithms
