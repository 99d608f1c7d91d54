#include "algorithms/catalogue.hpp"

namespace offbeat::algorithms {

std::vector<Algorithm> barrier_algorithms() {
    return {};
}

} // namespace offbeat::algorithms
