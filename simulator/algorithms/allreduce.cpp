#include "algorithms/catalogue.hpp"

namespace offbeat::algorithms {

std::vector<Algorithm> allreduce_algorithms() {
    return {};
}

} // namespace offbeat::algorithms
