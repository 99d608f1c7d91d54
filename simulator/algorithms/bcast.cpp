#include "algorithms/catalogue.hpp"

namespace offbeat::algorithms {

std::vector<Algorithm> bcast_algorithms() {
    return {};
}

} // namespace offbeat::algorithms
