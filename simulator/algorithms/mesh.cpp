#include "algorithms/mesh.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

namespace offbeat::algorithms {

Mesh2d mesh_2d_of(int p) {
    for (int factor = static_cast<int>(std::sqrt(p)); factor <= p / 2; ++factor)
        if (p % factor == 0)
            return {std::min(factor, p / factor), std::max(factor, p / factor)};
    throw std::invalid_argument(
        std::to_string(p) + " ranks make no two-dimensional mesh: the number has no two suitable factors");
}

Mesh3d mesh_3d_of(int p) {
    for (int side = static_cast<int>(std::cbrt(p)); side <= p / 3; ++side)
        if (p % (side * side) == 0)
            return {side, p / (side * side)};
    throw std::invalid_argument(
        std::to_string(p) +
        " ranks make no three-dimensional mesh: that needs a p with a square factor from " +
        "its cube root on");
}

std::vector<int> others_on_line(int first, int stride, int number, int self) {
    std::vector<int> others;
    for (int i = 0; i < number; ++i)
        if (first + i * stride != self)
            others.push_back(first + i * stride);
    return others;
}

} // namespace offbeat::algorithms
