#include "algorithms/catalogue.hpp"

namespace offbeat::algorithms {

std::vector<Algorithm> reduce_algorithms() {
    return {};
}

} // namespace offbeat::algorithms
