#include "algorithms/catalogue.hpp"

namespace offbeat::algorithms {

std::vector<Algorithm> allgather_algorithms() {
    return {};
}

} // namespace offbeat::algorithms
