#include "algorithms/catalogue.hpp"

namespace offbeat::algorithms {

std::vector<Algorithm> reduce_scatter_algorithms() {
    return {};
}

} // namespace offbeat::algorithms
