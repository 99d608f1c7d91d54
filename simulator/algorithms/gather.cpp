#include "algorithms/catalogue.hpp"

namespace offbeat::algorithms {

std::vector<Algorithm> gather_algorithms() {
    return {};
}

} // namespace offbeat::algorithms
