#include "algorithms/catalogue.hpp"

namespace offbeat::algorithms {

std::vector<Algorithm> scatter_algorithms() {
    return {};
}

} // namespace offbeat::algorithms
