#include "algorithms/segments.hpp"

#include <algorithm>

namespace offbeat::algorithms {

using schedule::Call;
using schedule::Span;

Segments::Segments(Span whole, int64_t length) : whole_(whole), length_(length), count_(1) {
    if (length_ <= 0 || length_ >= whole.length)
        length_ = whole.length;
    else
        count_ = (whole.length + length_ - 1) / length_;
}

Span Segments::operator[](int64_t index) const {
    const int64_t from = index * length_;
    return whole_.part(from, std::min(length_, whole_.length - from));
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

} // namespace offbeat::algorithms
