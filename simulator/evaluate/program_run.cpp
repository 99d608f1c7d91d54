#include "evaluate/program_run.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace offbeat::evaluate {

using schedule::Graph;
using schedule::Iterations;

ProgramRun::ProgramRun(Graph graph, Iterations program, platform::Network network,
                       std::optional<Memory> memory, Recording recording)
    : graph_(std::move(graph)), program_(std::move(program)), network_(std::move(network)),
      traffic_(route_messages(graph_, network_)), costs_(costs_by_size(graph_, network_, 1)),
      course_(program_, static_cast<size_t>(graph_.p), recording) {
    if (memory)
        memory_.emplace(node_memory(std::move(*memory)));
    check();
    fluid_ = std::make_unique<Fluid>(graph_, traffic_, network_.costs, costs_, 1, &course_,
                                     memory_ ? &*memory_ : nullptr);
}

/** Adds the flow classes of messages inside a node to those of work. */
NodeMemory ProgramRun::node_memory(Memory memory) const {
    std::vector<FlowClass> classes = std::move(memory.work_classes);
    std::vector<uint32_t> class_of_size(costs_.size(), no_class);
    const bool messages_share = memory.bandwidths.messages < never || memory.message_traffic > 0;
    for (size_t size = 0; size < costs_.size() && messages_share; ++size) {
        const SizeCosts &cost = costs_[size];
        if (cost.inside_transfer_s <= negligible_transfer * cost.inside_latency_s)
            continue;
        const FlowClass requested_class{cost.inside_rate, memory.message_traffic, true};
        const auto equal_class = std::ranges::find(classes, requested_class);
        class_of_size[size] = static_cast<uint32_t>(equal_class - classes.begin());
        if (equal_class == classes.end())
            classes.push_back(requested_class);
    }
    const uint32_t domains = 1 + *std::ranges::max_element(memory.domain_of_rank);
    return {MemoryDomains(domains, memory.bandwidths, std::move(classes)), std::move(memory.domain_of_rank),
            std::move(class_of_size)};
}

void ProgramRun::check() const {
    const auto p = static_cast<size_t>(graph_.p);
    if (memory_ && memory_->domain_of_rank.size() != p)
        throw std::invalid_argument("there must be one domain for each rank");
    if (program_.first_noise.size() != p + 1 || program_.first_noise.back() != program_.noise.size())
        throw std::invalid_argument("the noise is not divided among the ranks");
    for (const schedule::Work &work : program_.works) {
        if (work.seconds.size() != p || work.bytes.size() != p || work.flow_class.size() != p)
            throw std::invalid_argument("work must have one number for each rank");
        if (!memory_ && std::ranges::any_of(work.bytes, [](double bytes) { return bytes > 0; }))
            throw std::invalid_argument("there is memory traffic, but no memory");
    }
    for (const schedule::Step &step : program_.steps)
        if (step.every < 1 || (!step.synchronises &&
                               (step.segment == schedule::no_segment ? step.work >= program_.works.size()
                                                                     : step.segment >= graph_.segments())))
            throw std::invalid_argument("a step refers to nothing");
}

} // namespace offbeat::evaluate
