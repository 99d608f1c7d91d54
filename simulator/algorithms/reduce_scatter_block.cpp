#include "algorithms/catalogue.hpp"

namespace offbeat::algorithms {

std::vector<Algorithm> reduce_scatter_block_algorithms() {
    return {};
}

} // namespace offbeat::algorithms
