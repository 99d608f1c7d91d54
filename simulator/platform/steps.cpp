#include "platform/network.hpp"

#include <algorithm>
#include <stdexcept>

namespace offbeat::platform {

Steps::Steps(std::vector<double> from_bytes, std::vector<double> factors)
    : from_bytes_(std::move(from_bytes)), factors_(std::move(factors)) {
    if (from_bytes_.size() != factors_.size() || !std::is_sorted(from_bytes_.begin(), from_bytes_.end()))
        throw std::invalid_argument("a step function needs ascending sizes and as many factors");
}

double Steps::at(double bytes) const {
    const auto after = std::upper_bound(from_bytes_.begin(), from_bytes_.end(), bytes);
    return after == from_bytes_.begin() ? 1.0
                                        : factors_[static_cast<size_t>(after - from_bytes_.begin()) - 1];
}

} // namespace offbeat::platform
