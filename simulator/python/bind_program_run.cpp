#include "evaluate/program_run.hpp"
#include "python/schedule.hpp"
#include "schedule/halo_exchange.hpp"

#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <tuple>

namespace nb = nanobind;
using namespace nb::literals;

namespace offbeat::python {

namespace {

template <typename Number>
using Array = nb::ndarray<const Number, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

/** (segment, -1 for work or -2 for an ideal synchronisation; work; every; logs sends) */
using StepTuple = std::tuple<int64_t, uint32_t, uint32_t, bool>;
/** (seconds, bytes, flow class), an array of p each */
using WorkTuple = std::tuple<Array<double>, Array<double>, Array<uint32_t>>;

template <typename Number> std::vector<Number> vector_of(const Array<Number> &array) {
    return {array.data(), array.data() + array.size()};
}

schedule::HaloSends sends_named(const std::string &name) {
    if (name == "nonblocking")
        return schedule::HaloSends::nonblocking;
    if (name == "blocking")
        return schedule::HaloSends::blocking;
    if (name == "synchronous")
        return schedule::HaloSends::synchronous;
    if (name == "buffered")
        return schedule::HaloSends::buffered;
    throw std::invalid_argument("there are no sends '" + name +
                                "'; there are nonblocking, blocking, synchronous and buffered");
}

Schedule *exchange(int p, const Array<int32_t> &source, const Array<int32_t> &target,
                   const Array<int64_t> &bytes, const std::string &sends, bool local_work) {
    if (source.size() != target.size() || source.size() != bytes.size())
        throw std::invalid_argument("every message has a source, a target and a size");
    std::vector<schedule::HaloMessage> messages;
    messages.reserve(source.size());
    for (size_t i = 0; i < source.size(); ++i)
        messages.push_back({source(i), target(i), bytes(i)});
    const schedule::HaloSends kind = sends_named(sends);
    const nb::gil_scoped_release gil_release;
    return new Schedule(schedule::halo_exchange(p, messages, kind, local_work));
}

/** Noise in the order of ranks, as arrays of the same length. */
struct NoiseArrays {
    Array<uint32_t> rank, iteration, step;
    Array<double> seconds;
};

schedule::Iterations program_of(size_t p, uint32_t iterations, const std::vector<StepTuple> &steps,
                                const std::vector<WorkTuple> &works, const NoiseArrays &noise) {
    schedule::Iterations program{.iterations = iterations, .first_noise = std::vector<uint32_t>(p + 1)};
    for (const auto &[segment, work, period, logs_sends] : steps)
        program.steps.push_back({segment < 0 ? schedule::no_segment : static_cast<uint32_t>(segment), work,
                                 period, logs_sends, segment == -2});
    for (const auto &[seconds, bytes, flow_class] : works)
        program.works.push_back({vector_of(seconds), vector_of(bytes), vector_of(flow_class)});
    for (size_t i = 0; i < noise.rank.size(); ++i) {
        if (noise.rank(i) >= p || (i > 0 && noise.rank(i) < noise.rank(i - 1)))
            throw std::invalid_argument("noise is listed by rank");
        ++program.first_noise[noise.rank(i) + 1];
        program.noise.push_back({noise.iteration(i), noise.step(i), noise.seconds(i)});
    }
    for (size_t rank = 0; rank < p; ++rank)
        program.first_noise[rank + 1] += program.first_noise[rank];
    return program;
}

evaluate::Memory memory_of(const Array<uint32_t> &domain_of_rank, double bandwidth, double message_bandwidth,
                           double message_traffic, const std::vector<double> &work_rates) {
    evaluate::Memory memory;
    const auto limit = [](double rate) { return rate > 0 ? rate : evaluate::never; };
    memory.bandwidths = {limit(bandwidth), limit(message_bandwidth)};
    memory.message_traffic = message_traffic;
    memory.domain_of_rank = vector_of(domain_of_rank);
    for (const double rate : work_rates)
        memory.work_classes.push_back({rate, 1, false});
    return memory;
}

/** A view of results, which lives as long as the run. */
template <typename Number>
nb::ndarray<nb::numpy, const Number> view(const std::vector<Number> &numbers, nb::handle owner) {
    return nb::ndarray<nb::numpy, const Number>(numbers.data(), {numbers.size()}, owner);
}

} // namespace

void bind_program_run(nb::module_ &module) {
    using evaluate::Memory;
    using evaluate::ProgramRun;
    module.def("exchange", &exchange, "p"_a, "source"_a, "target"_a, "bytes"_a, "sends"_a = "nonblocking",
               "local_work"_a = false, nb::rv_policy::take_ownership,
               "The Schedule of an exchange of messages between ranks; its elements are bytes.");
    nb::class_<Memory>(module, "Memory", "The memory domains of the nodes, and the ranks on them.")
        .def(
            nb::new_(&memory_of), "domain_of_rank"_a, nb::kw_only(), "bandwidth"_a, "message_bandwidth"_a,
            "message_traffic"_a, "work_rates"_a,
            "Bandwidths in bytes per second, 0: no limit. work_rates: the maximum rate of one rank, for each "
            "class of work.");
    nb::class_<ProgramRun>(module, "ProgramRun", "The run of a program of many iterations.")
        .def(
            "__init__",
            [](ProgramRun *self, const platform::Network &network,
               const std::vector<std::tuple<const Schedule *, int64_t>> &segments, uint32_t iterations,
               const std::vector<StepTuple> &steps, const std::vector<WorkTuple> &works,
               const Array<uint32_t> &noise_rank, const Array<uint32_t> &noise_iteration,
               const Array<uint32_t> &noise_step, const Array<double> &noise_s, std::optional<Memory> memory,
               std::pair<uint32_t, uint32_t> log_range) {
                const size_t p = network.node_of_rank.size();
                schedule::Iterations program = program_of(p, iterations, steps, works,
                                                          {noise_rank, noise_iteration, noise_step, noise_s});
                const nb::gil_scoped_release gil_release;
                schedule::Graph graph;
                graph.p = static_cast<int>(p);
                for (const auto &[schedule, element_bytes] : segments)
                    schedule::append(graph, schedule->graph(), element_bytes);
                new (self) ProgramRun(std::move(graph), std::move(program), network, std::move(memory),
                                      {log_range.first, log_range.second});
            },
            "network"_a, "segments"_a, nb::kw_only(), "iterations"_a, "steps"_a, "works"_a, "noise_rank"_a,
            "noise_iteration"_a, "noise_step"_a, "noise_s"_a, "memory"_a = nb::none(),
            "logged"_a = std::pair<uint32_t, uint32_t>{0, 0},
            "segments: (schedule, bytes per element). steps: (segment, -1 for work or -2 for an ideal "
            "synchronisation of all ranks; work; every; whether sends are logged). works: "
            "(seconds, bytes, class) of each rank. noise: additional seconds of a rank at the beginning of a "
            "step of work, sorted by rank, iteration and step. logged: the first iteration whose steps are "
            "logged, and the one after the last.")
        .def("proceed", &ProgramRun::proceed, "events"_a, nb::call_guard<nb::gil_scoped_release>(),
             "Continues by about this many events; False when the program is complete.")
        .def_prop_ro("events", &ProgramRun::events)
        .def_prop_ro("messages", &ProgramRun::messages, "Of all segments, each counted once.")
        .def_prop_ro(
            "completed", [](const ProgramRun &run) { return run.course().completions(); },
            "The sum over ranks of completed iterations.")
        .def_prop_ro(
            "iteration_end_s",
            [](nb::handle_t<ProgramRun> self) {
                return view(nb::cast<const ProgramRun &>(self).course().iteration_end_s(), self);
            },
            "The end of each iteration, (iterations × p).")
        .def_prop_ro(
            "communication_s",
            [](nb::handle_t<ProgramRun> self) {
                return view(nb::cast<const ProgramRun &>(self).course().communication_s(), self);
            },
            "The time of each iteration outside of work, (iterations × p).")
        .def_prop_ro(
            "synchronised_s",
            [](nb::handle_t<ProgramRun> self) {
                return view(nb::cast<const ProgramRun &>(self).course().synchronised_s(), self);
            },
            "When all ranks continued after each executed synchronisation, in the order of time.")
        .def(
            "take_log",
            [](ProgramRun &run) {
                evaluate::Log log = run.take_log();
                return nb::make_tuple(array_of(std::move(log.time_s)), array_of(std::move(log.rank)),
                                      array_of(std::move(log.iteration)), array_of(std::move(log.step)));
            },
            "What ranks did since the last call, in the order of time: arrays of time, rank, iteration and "
            "step. The number of steps stands for the begin of an iteration, one more for a completed send.");
}

} // namespace offbeat::python
