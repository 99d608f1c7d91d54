#include "python/bindings.hpp"
#include "python/call_arguments.hpp"
#include "python/programs.hpp"
#include "schedule/check_range.hpp"

#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <stdexcept>

namespace nb = nanobind;

namespace offbeat::python {

namespace {

schedule::CheckedCalls calls_of(const std::string &collective, const std::vector<int> &p,
                                const std::vector<int> &roots, const std::vector<int64_t> &counts,
                                int64_t element_bytes, int ranks_per_node, bool by_node,
                                const std::vector<bool> &commutative) {
    for (const int one : p)
        if (one < 1)
            throw std::invalid_argument("p is " + std::to_string(one) + "; a call has at least 1 process");
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
                      const std::map<std::string, int64_t> &values, const std::vector<int> &p,
                      const std::vector<int> &roots, const std::vector<int64_t> &counts,
                      int64_t element_bytes, int ranks_per_node, bool by_node,
                      const std::vector<bool> &commutative) {
    const auto &algorithm = algorithm_named(collective, family, name);
    const auto parameters = parameters_of(algorithm, values);
    const auto calls =
        calls_of(collective, p, roots, counts, element_bytes, ranks_per_node, by_node, commutative);
    const auto write = [&](const schedule::Call &call, int rank, schedule::Program &program) {
        algorithms::write_program(algorithm, parameters, call, rank, program);
    };
    schedule::CheckedRange range;
    {
        const nb::gil_scoped_release unlocked;
        range = schedule::check_range(calls, {algorithm.ordered, algorithm.scales}, write);
    }
    return as_dict(range);
}

nb::dict check_written(const std::string &collective, const nb::callable &write, const std::vector<int> &p,
                       const std::vector<int> &roots, const std::vector<int64_t> &counts,
                       int64_t element_bytes, int ranks_per_node, bool by_node,
                       const std::vector<bool> &commutative, bool ordered, bool scales) {
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
        {ordered, scales}, write_or_refuse));
}

} // namespace

void bind_check_range(nb::module_ &module) {
    const std::vector<int> every_root;
    const std::vector<int64_t> one{1};
    const std::vector<bool> commutes{true};
    module.def(
        "check_range", &check_listed, nb::arg("collective"), nb::arg("family"), nb::arg("name"),
        nb::arg("parameters") = std::map<std::string, int64_t>{}, nb::arg("p"), nb::arg("roots") = every_root,
        nb::arg("counts") = one, nb::arg("element_bytes") = 1, nb::arg("ranks_per_node") = 0,
        nb::arg("by_node") = false, nb::arg("commutative") = commutes,
        "Checks every combination of p, roots (negative: from p; none: all), counts and commutative, with "
        "so many ranks on each node (0: all on one), node after node or (by_node) in turn. A dict: the "
        "numbers of calls that were proved, refused, or commutative_only (right but for the rank order that "
        "an operation asked for); refusals (the first of each p) and findings (at most 20) as tuples of p, "
        "root, count, commutative and the sentence.");
    module.def(
        "check_written", &check_written, nb::arg("collective"), nb::arg("write"), nb::arg("p"),
        nb::arg("roots") = every_root, nb::arg("counts") = one, nb::arg("element_bytes") = 1,
        nb::arg("ranks_per_node") = 0, nb::arg("by_node") = false, nb::arg("commutative") = commutes,
        nb::arg("ordered") = false, nb::arg("scales") = false,
        "As check_range, for an algorithm that is written in Python, with what it promises. It refuses "
        "a call by raising NotImplementedError; other exceptions come through.");
}

} // namespace offbeat::python
