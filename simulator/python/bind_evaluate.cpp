#include "python/schedule.hpp"

#include <nanobind/ndarray.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <stdexcept>

namespace nb = nanobind;

namespace offbeat::python {

namespace {

using Times = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

evaluate::Choice choice_of(const std::string &engine) {
    if (engine == "best")
        return evaluate::Choice::best;
    if (engine == "longest_path")
        return evaluate::Choice::longest_path;
    if (engine == "fluid")
        return evaluate::Choice::fluid;
    throw std::invalid_argument("there is no evaluation '" + engine +
                                "'; there are best, longest_path and fluid");
}

nb::tuple evaluate_patterns(Schedule &schedule, const platform::Network &network, const Times &arrivals_s,
                            double bytes_per_element, const std::string &engine) {
    const auto p = static_cast<size_t>(schedule.graph().p);
    if (arrivals_s.shape(1) != p)
        throw std::invalid_argument("arrivals have " + std::to_string(arrivals_s.shape(1)) +
                                    " columns; there are " + std::to_string(p) + " ranks");
    const evaluate::Choice choice = schedule.effective_choice(choice_of(engine));
    const size_t patterns = arrivals_s.shape(0);
    auto exits = std::make_unique<double[]>(patterns * p); // NOLINT(*-avoid-c-arrays)
    std::vector<evaluate::Engine> engines;
    {
        const nb::gil_scoped_release release;
        const auto traffic = schedule.traffic_on(network);
        engines = evaluate::evaluate(schedule.graph(), *traffic, network, bytes_per_element,
                                     {arrivals_s.data(), patterns * p}, {exits.get(), patterns * p}, choice);
        schedule.note_engines(choice, engines);
    }
    nb::list names;
    for (const evaluate::Engine evaluation : engines)
        names.append(evaluate::name_of(evaluation));
    double *const data = exits.release();
    const nb::capsule owner(data, [](void *array) noexcept { delete[] static_cast<double *>(array); });
    return nb::make_tuple(nb::ndarray<nb::numpy, double>(data, {patterns, p}, owner), names);
}

} // namespace

void bind_evaluate(nb::module_ &module) {
    nb::class_<Schedule>(module, "Schedule",
                         "The programs of all ranks of one collective call, for evaluate().")
        .def(nb::init<const std::string &, const std::string &, const std::string &,
                      const std::map<std::string, int64_t> &, int, int, int64_t, int64_t,
                      const std::vector<int> &, bool, bool, int, int>(),
             nb::arg("collective"), nb::arg("family"), nb::arg("name"), nb::arg("parameters"), nb::arg("p"),
             nb::arg("root"), nb::arg("count"), nb::arg("element_bytes"), nb::arg("node_of_rank"),
             nb::arg("commutative") = true, nb::arg("local_work") = false, nb::arg("communicators") = 1,
             nb::arg("stride") = 1,
             "local_work: keep local work, for networks with costs of reductions, copies and receipts. "
             "communicators: the number of communicators of p processes each that call at the same time; the "
             "ranks of consecutive members are `stride` apart. node_of_rank has the nodes of all processes.")
        .def(nb::init<const Programs &, bool>(), nb::arg("programs"), nb::arg("local_work") = false,
             "An algorithm that was written in Python.")
        .def_prop_ro("p", [](const Schedule &schedule) { return schedule.graph().p; })
        .def_prop_ro("messages", [](const Schedule &schedule) { return schedule.graph().messages.size(); })
        .def_prop_ro("vertices", [](const Schedule &schedule) { return schedule.graph().vertices(); })
        .def_prop_ro("memory_bytes",
                     [](const Schedule &schedule) { return schedule.graph().memory_bytes(); });
    module.def("evaluate", evaluate_patterns, nb::arg("schedule"), nb::arg("network"), nb::arg("arrivals_s"),
               nb::arg("bytes_per_element"), nb::arg("engine") = "best",
               "Exits in seconds (patterns × p), and the evaluation of each pattern.");
}

} // namespace offbeat::python
