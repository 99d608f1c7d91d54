#include "python/bindings.hpp"
#include "schedule/check.hpp"
#include "schedule/check_range.hpp"

#include <nanobind/ndarray.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <stdexcept>

namespace nb = nanobind;

namespace offbeat::python {

using schedule::Program;

namespace {

using Values = std::map<std::string, int64_t>;

schedule::WriteProgram writer(const algorithms::Algorithm &algorithm,
                              const algorithms::Parameters &parameters) {
    return [&](const schedule::Call &call, int rank, Program &program) {
        algorithms::write_program(algorithm, parameters, call, rank, program);
    };
}

/** Writes the programs of a call of a listed algorithm and calls `action` with them. */
template <typename Action> auto with_programs(Action action) {
    return [action](const std::string &collective, const std::string &family, const std::string &name,
                    const Values &values, int p, int root, int64_t count, int64_t element_bytes,
                    const std::vector<int> &node_of_rank, bool commutative) {
        const auto &algorithm = algorithm_named(collective, family, name);
        const auto parameters = parameters_of(algorithm, values);
        const OwnedCall owned_call(collective, p, root, count, element_bytes, node_of_rank, commutative);
        const nb::gil_scoped_release gil_release;
        std::vector<Program> programs;
        schedule::write_programs(owned_call.call, writer(algorithm, parameters), programs);
        return action(programs, owned_call.call, algorithm.ordered);
    };
}

} // namespace

nb::dict messages_as_arrays(const std::vector<Program> &programs, const schedule::Call &call) {
    std::vector<schedule::DrawnMessage> drawn_messages;
    {
        const nb::gil_scoped_release gil_release;
        drawn_messages = schedule::messages(programs, call);
    }
    const auto column = [&](auto member) {
        std::vector<std::decay_t<decltype(drawn_messages[0].*member)>> numbers;
        for (const auto &message : drawn_messages)
            numbers.push_back(message.*member);
        return nb::cast(array_of(std::move(numbers)));
    };
    nb::dict arrays;
    arrays["source"] = column(&schedule::DrawnMessage::source);
    arrays["target"] = column(&schedule::DrawnMessage::target);
    arrays["elements"] = column(&schedule::DrawnMessage::elements);
    arrays["tag"] = column(&schedule::DrawnMessage::tag);
    arrays["depth"] = column(&schedule::DrawnMessage::depth);
    return arrays;
}

namespace {

schedule::CheckedCalls calls_of(const std::string &collective, const std::vector<int> &p,
                                const std::vector<int> &roots, const std::vector<int64_t> &counts,
                                int64_t element_bytes, int ranks_per_node, bool by_node,
                                const std::vector<bool> &commutative) {
    for (const int ranks : p)
        if (ranks < 1)
            throw std::invalid_argument("p is " + std::to_string(ranks) + "; a call has at least 1 process");
    for (const int64_t count : counts)
        if (count < 0)
            throw std::invalid_argument("a count is " + std::to_string(count) + "; it must be at least 0");
    if (element_bytes < 1)
        throw std::invalid_argument("an element has " + std::to_string(element_bytes) +
                                    " bytes; it must have at least 1");
    if (ranks_per_node < 0)
        throw std::invalid_argument("there are " + std::to_string(ranks_per_node) +
                                    " ranks on a node; it must be at least 1, or 0 for all");
    return {
        collective_named(collective), p, roots, counts, element_bytes, ranks_per_node, by_node, commutative};
}

nb::list as_tuples(const std::vector<schedule::Finding> &findings) {
    nb::list list;
    for (const auto &finding : findings)
        list.append(
            nb::make_tuple(finding.p, finding.root, finding.count, finding.commutative, finding.sentence));
    return list;
}

nb::dict as_dict(const schedule::CheckedRange &range) {
    nb::dict result;
    result["proved"] = range.proved;
    result["refused"] = range.refused;
    result["commutative_only"] = range.commutative_only;
    result["refusals"] = as_tuples(range.refusals);
    result["findings"] = as_tuples(range.findings);
    return result;
}

nb::dict check_listed(const std::string &collective, const std::string &family, const std::string &name,
                      const Values &values, const std::vector<int> &p, const std::vector<int> &roots,
                      const std::vector<int64_t> &counts, int64_t element_bytes, int ranks_per_node,
                      bool by_node, const std::vector<bool> &commutative) {
    const auto &algorithm = algorithm_named(collective, family, name);
    const auto parameters = parameters_of(algorithm, values);
    const auto calls =
        calls_of(collective, p, roots, counts, element_bytes, ranks_per_node, by_node, commutative);
    const auto range = [&] {
        const nb::gil_scoped_release gil_release;
        return schedule::check_range(calls, {algorithm.ordered, algorithm.scales},
                                     writer(algorithm, parameters));
    }();
    return as_dict(range);
}

nb::dict check_written(const std::string &collective, const nb::callable &write, const std::vector<int> &p,
                       const std::vector<int> &roots, const std::vector<int64_t> &counts,
                       int64_t element_bytes, int ranks_per_node, bool by_node,
                       const std::vector<bool> &commutative, bool is_ordered, bool scales) {
    const auto write_or_refuse = [&](const schedule::Call &call, int rank, schedule::Program &program) {
        try {
            write_program(write, call, rank, program);
        } catch (nb::python_error &error) {
            if (!error.matches(PyExc_NotImplementedError))
                throw;
            throw std::invalid_argument(nb::str(error.value()).c_str());
        }
    };
    return as_dict(schedule::check_range(
        calls_of(collective, p, roots, counts, element_bytes, ranks_per_node, by_node, commutative),
        {is_ordered, scales}, write_or_refuse));
}

} // namespace

void bind_check(nb::module_ &module) {
    const auto def_for_programs = [&](const char *name, auto action, const char *documentation) {
        module.def(name, with_programs(action), nb::arg("collective"), nb::arg("family"), nb::arg("name"),
                   nb::arg("parameters") = Values{}, nb::arg("p"), nb::arg("root") = 0, nb::arg("count") = 1,
                   nb::arg("element_bytes") = 1, nb::arg("node_of_rank") = std::vector<int>{},
                   nb::arg("commutative") = true, documentation);
    };
    def_for_programs(
        "check", schedule::check,
        "'' if the algorithm computes the call, otherwise one sentence that describes the failure. "
        "Raises ValueError for invalid calls and for calls that the algorithm refuses.");
    def_for_programs(
        "messages",
        [](const std::vector<Program> &programs, const schedule::Call &call, bool /*ordered*/) {
            const nb::gil_scoped_acquire gil;
            return messages_as_arrays(programs, call);
        },
        "Every message, as a dict of arrays: source, target, elements, tag, depth (the length of the "
        "longest chain of messages that ends with it), by depth, source and target.");
    const std::vector<int> every_root;
    const std::vector<int64_t> single_count{1};
    const std::vector<bool> commutes{true};
    module.def(
        "check_range", &check_listed, nb::arg("collective"), nb::arg("family"), nb::arg("name"),
        nb::arg("parameters") = Values{}, nb::arg("p"), nb::arg("roots") = every_root,
        nb::arg("counts") = single_count, nb::arg("element_bytes") = 1, nb::arg("ranks_per_node") = 0,
        nb::arg("by_node") = false, nb::arg("commutative") = commutes,
        "Checks every combination of p, roots (negative: from p; none: all), counts and commutative, with "
        "ranks_per_node ranks on each node (0: all on one), node after node or (by_node) round robin. A "
        "dict: the "
        "numbers of calls that were proved, refused, or commutative_only (correct but for the rank order "
        "that "
        "an operation required); refusals (the first of each p) and findings (at most 20) as tuples of p, "
        "root, count, commutative and the sentence.");
    module.def("check_written", &check_written, nb::arg("collective"), nb::arg("write"), nb::arg("p"),
               nb::arg("roots") = every_root, nb::arg("counts") = single_count, nb::arg("element_bytes") = 1,
               nb::arg("ranks_per_node") = 0, nb::arg("by_node") = false, nb::arg("commutative") = commutes,
               nb::arg("ordered") = false, nb::arg("scales") = false,
               "As check_range, for an algorithm that is written in Python, with its properties. It refuses "
               "a call by raising NotImplementedError; other exceptions are passed on.");
}

} // namespace offbeat::python
