/** @file Schedule: the programs of all ranks of one call or exchange, for evaluate() and ProgramRun. */
#pragma once

#include "evaluate/evaluate.hpp"
#include "python/bindings.hpp"
#include "schedule/graph.hpp"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace offbeat::python {

/** The programs of all ranks of one call, or of the same call on several communicators, and their messages on
 * the network of the last evaluation. */
class Schedule {
  public:
    Schedule(const std::string &collective, const std::string &family, const std::string &name,
             const std::map<std::string, int64_t> &values, int p, int root, int64_t count,
             int64_t element_bytes, const std::vector<int> &node_of_rank, bool commutative, bool local_work,
             int communicators, int stride) {
        const auto &algorithm = algorithm_named(collective, family, name);
        const auto parameters = parameters_of(algorithm, values);
        const OwnedCalls calls(collective, {p, communicators, stride}, root, count, element_bytes,
                               node_of_rank, commutative);
        const nanobind::gil_scoped_release gil_release;
        const int processes = calls.layout().processes();
        schedule::GraphBuilder builder(processes, local_work);
        schedule::Program program;
        for (int rank = 0; rank < processes; ++rank) {
            calls.write_program(algorithm, parameters, rank, program);
            builder.add(program);
        }
        graph_ = builder.build();
    }

    explicit Schedule(schedule::Graph graph) : graph_(std::move(graph)) {
    }

    Schedule(const Programs &programs, bool local_work) {
        schedule::GraphBuilder builder(programs.owned_call.call.p, local_work);
        for (const schedule::Program &program : programs.programs)
            builder.add(program);
        graph_ = builder.build();
    }

    [[nodiscard]] const schedule::Graph &graph() const {
        return graph_;
    }

    /** Skips the longest path for a large schedule if all its patterns shared links before: it would cost
     * more than it saves. */
    [[nodiscard]] evaluate::Choice effective_choice(evaluate::Choice choice) const {
        return choice == evaluate::Choice::best && shares_links_ ? evaluate::Choice::fluid : choice;
    }
    void note_engines(evaluate::Choice choice, const std::vector<evaluate::Engine> &engines) {
        if (choice == evaluate::Choice::best && graph_.messages.size() > evaluate::many_messages)
            shares_links_ = std::ranges::count(engines, evaluate::Engine::longest_path) == 0;
    }

    /** Computed once per network, and kept for the last network. */
    std::shared_ptr<const evaluate::Traffic> traffic_on(const platform::Network &network) {
        const std::scoped_lock lock(mutex_);
        const bool is_last = traffic_ && topology_ == network.topology &&
                             node_of_rank_ == network.node_of_rank &&
                             flow_bandwidth_ == network.costs.flow_bandwidth;
        if (!is_last) {
            traffic_ = std::make_shared<const evaluate::Traffic>(evaluate::route_messages(graph_, network));
            topology_ = network.topology;
            node_of_rank_ = network.node_of_rank;
            flow_bandwidth_ = network.costs.flow_bandwidth;
            shares_links_ = false;
        }
        return traffic_;
    }

  private:
    schedule::Graph graph_;
    std::mutex mutex_;
    std::shared_ptr<const evaluate::Traffic> traffic_;
    std::shared_ptr<const platform::Topology> topology_;
    std::vector<int> node_of_rank_;
    double flow_bandwidth_ = 0;
    std::atomic<bool> shares_links_ = false;
};

} // namespace offbeat::python
