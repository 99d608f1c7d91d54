#include "algorithms/catalogue.hpp"

namespace offbeat::algorithms {

std::vector<Algorithm> exscan_algorithms() {
    return {};
}

} // namespace offbeat::algorithms
