#include "python/bindings.hpp"
#include "python/call_arguments.hpp"
#include "python/programs.hpp"
#include "schedule/check.hpp"
#include "schedule/check_range.hpp"

#include <nanobind/ndarray.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

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

std::string check_one(const std::string &collective, const std::string &family, const std::string &name,
                      const Values &values, int p, int root, int64_t count, int64_t element_bytes,
                      const std::vector<int> &node_of_rank, bool commutative) {
    const auto &algorithm = algorithm_named(collective, family, name);
    const auto parameters = parameters_of(algorithm, values);
    const OwnedCall owned(collective, p, root, count, element_bytes, node_of_rank, commutative);
    const nb::gil_scoped_release unlocked;
    std::vector<Program> programs;
    schedule::write_programs(owned.call, writer(algorithm, parameters), programs);
    return schedule::check(programs, owned.call, algorithm.ordered);
}

template <typename Number> nb::object array_of(std::vector<Number> numbers) {
    auto *kept = new std::vector<Number>(std::move(numbers));
    const nb::capsule owner(kept,
                            [](void *held) noexcept { delete static_cast<std::vector<Number> *>(held); });
    return nb::cast(nb::ndarray<nb::numpy, Number>(kept->data(), {kept->size()}, owner));
}

nb::dict messages_of(const std::string &collective, const std::string &family, const std::string &name,
                     const Values &values, int p, int root, int64_t count, int64_t element_bytes,
                     const std::vector<int> &node_of_rank, bool commutative) {
    const auto &algorithm = algorithm_named(collective, family, name);
    const auto parameters = parameters_of(algorithm, values);
    const OwnedCall owned(collective, p, root, count, element_bytes, node_of_rank, commutative);
    std::vector<Program> programs;
    schedule::write_programs(owned.call, writer(algorithm, parameters), programs);
    return drawn_messages(programs, owned.call);
}

} // namespace

nb::dict drawn_messages(const std::vector<Program> &programs, const schedule::Call &call) {
    std::vector<schedule::DrawnMessage> all;
    {
        const nb::gil_scoped_release unlocked;
        all = schedule::messages(programs, call);
    }
    std::vector<int32_t> source, target, tag, depth;
    std::vector<int64_t> elements;
    for (const auto &message : all) {
        source.push_back(message.source);
        target.push_back(message.target);
        elements.push_back(message.elements);
        tag.push_back(message.tag);
        depth.push_back(message.depth);
    }
    nb::dict arrays;
    arrays["source"] = array_of(std::move(source));
    arrays["target"] = array_of(std::move(target));
    arrays["elements"] = array_of(std::move(elements));
    arrays["tag"] = array_of(std::move(tag));
    arrays["depth"] = array_of(std::move(depth));
    return arrays;
}

void bind_check(nb::module_ &module) {
    bind_programs(module);
    bind_check_range(module);
    module.def("check", &check_one, nb::arg("collective"), nb::arg("family"), nb::arg("name"),
               nb::arg("parameters") = Values{}, nb::arg("p"), nb::arg("root") = 0, nb::arg("count") = 1,
               nb::arg("element_bytes") = 1, nb::arg("node_of_rank") = std::vector<int>{},
               nb::arg("commutative") = true,
               "'' if the algorithm does what the call asks, else one sentence that says what is wrong. "
               "Raises ValueError for calls that make no sense or that the algorithm refuses.");
    module.def("messages", &messages_of, nb::arg("collective"), nb::arg("family"), nb::arg("name"),
               nb::arg("parameters") = Values{}, nb::arg("p"), nb::arg("root") = 0, nb::arg("count") = 1,
               nb::arg("element_bytes") = 1, nb::arg("node_of_rank") = std::vector<int>{},
               nb::arg("commutative") = true,
               "Every message, as a dict of arrays: source, target, elements, tag, depth (the length of the "
               "longest chain of messages that ends with it), by depth, source and target.");
}

} // namespace offbeat::python
