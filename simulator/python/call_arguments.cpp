#include "python/bindings.hpp"

#include <cstdint>
#include <stdexcept>
#include <utility>

namespace offbeat::python {

schedule::Collective collective_named(const std::string &name) {
    const auto collective = schedule::collective_of(name);
    if (!collective)
        throw std::invalid_argument("there is no collective '" + name + "'");
    return *collective;
}

const algorithms::Algorithm &algorithm_named(const std::string &collective, const std::string &family,
                                             const std::string &name) {
    const auto *algorithm = algorithms::find(collective_named(collective), family, name);
    if (algorithm == nullptr)
        throw std::invalid_argument("there is no algorithm '" + name + "' of " + family + " for " +
                                    collective);
    return *algorithm;
}

algorithms::Parameters parameters_of(const algorithms::Algorithm &algorithm,
                                     const std::map<std::string, int64_t> &values) {
    algorithms::Parameters parameters(algorithm.parameters);
    for (const auto &[name, value] : values)
        parameters.set(name, value);
    return parameters;
}

OwnedCall::OwnedCall(const std::string &collective, int p, int root, int64_t count, int64_t element_bytes,
                     std::vector<int> node_of_rank, bool commutative)
    : nodes(std::move(node_of_rank)),
      call{collective_named(collective), p, root, count, element_bytes, nodes, commutative} {
    if (p < 1)
        throw std::invalid_argument("p is " + std::to_string(p) + "; a call has at least 1 process");
    if (root < 0 || root >= p)
        throw std::invalid_argument("the root is rank " + std::to_string(root) + " of " + std::to_string(p));
    if (count < 0)
        throw std::invalid_argument("the count is " + std::to_string(count) + "; it must be at least 0");
    if (element_bytes < 1)
        throw std::invalid_argument("an element has " + std::to_string(element_bytes) +
                                    " bytes; it must have at least 1");
    if (!nodes.empty() && nodes.size() != static_cast<size_t>(p))
        throw std::invalid_argument("there are nodes for " + std::to_string(nodes.size()) + " ranks of " +
                                    std::to_string(p));
    for (const int node : nodes)
        if (node < 0)
            throw std::invalid_argument("there is no node " + std::to_string(node));
    call.node_map = &node_map_.emplace(call);
}

namespace {

void check_layout(const schedule::CommunicatorLayout &layout, size_t nodes) {
    const int64_t processes = int64_t{layout.p} * layout.communicators;
    if (layout.p < 1 || layout.communicators < 1 || processes > INT32_MAX)
        throw std::invalid_argument(std::to_string(layout.communicators) + " communicators of " +
                                    std::to_string(layout.p) +
                                    " processes; both are at least 1, and their product a 32-bit integer");
    if (layout.stride < 1 || layout.communicators % layout.stride != 0)
        throw std::invalid_argument("the stride is " + std::to_string(layout.stride) +
                                    "; it must divide the number of communicators, " +
                                    std::to_string(layout.communicators));
    if (nodes != 0 && nodes != static_cast<size_t>(processes))
        throw std::invalid_argument("there are nodes for " + std::to_string(nodes) + " ranks of " +
                                    std::to_string(processes));
}

} // namespace

OwnedCalls::OwnedCalls(const std::string &collective, const schedule::CommunicatorLayout &layout, int root,
                       int64_t count, int64_t element_bytes, const std::vector<int> &node_of_rank,
                       bool commutative)
    : layout_(layout) {
    check_layout(layout_, node_of_rank.size());
    for (int communicator = 0; communicator < layout_.communicators; ++communicator) {
        std::vector<int> nodes;
        for (int member = 0; member < layout_.p && !node_of_rank.empty(); ++member)
            nodes.push_back(node_of_rank[static_cast<size_t>(layout_.rank(communicator, member))]);
        calls_.emplace_back(collective, layout_.p, root, count, element_bytes, std::move(nodes), commutative);
    }
}

void OwnedCalls::write_program(const algorithms::Algorithm &algorithm,
                               const algorithms::Parameters &parameters, int rank,
                               schedule::Program &program) const {
    const int communicator = layout_.communicator(rank);
    algorithms::write_program(algorithm, parameters, calls_[static_cast<size_t>(communicator)].call,
                              layout_.member(rank), program);
    schedule::renumber(program, layout_, communicator);
}

} // namespace offbeat::python
