#include "algorithms/catalogue.hpp"

namespace offbeat::algorithms {

std::vector<Algorithm> scan_algorithms() {
    return {};
}

} // namespace offbeat::algorithms
