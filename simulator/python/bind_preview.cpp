#include "python/bindings.hpp"
#include "python/call_arguments.hpp"

#include <nanobind/stl/map.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <set>
#include <stdexcept>
#include <utility>

namespace nb = nanobind;

namespace offbeat::python {

namespace {

int64_t sends(const schedule::Program &program) {
    return std::ranges::count_if(program.operations, [](const schedule::Operation &operation) {
        return operation.kind == schedule::Kind::send || operation.kind == schedule::Kind::synchronous_send;
    });
}

/** Whoever refuses a call refuses it at every rank, and most ranks send as many messages as the one in the
 * middle: the first, the middle, the last one and the root are asked. */
std::pair<std::string, int64_t> preview(const std::string &collective, const std::string &family,
                                        const std::string &name, const std::map<std::string, int64_t> &values,
                                        int p, int root, int64_t count, int64_t element_bytes,
                                        const std::vector<int> &node_of_rank, bool commutative) {
    const auto &algorithm = algorithm_named(collective, family, name);
    const nb::gil_scoped_release unlocked;
    schedule::Program program;
    int64_t messages = 0;
    try {
        const auto parameters = parameters_of(algorithm, values);
        const OwnedCall owned(collective, p, root, count, element_bytes, node_of_rank, commutative);
        for (const int rank : std::set<int>{0, root, p / 2, p - 1}) {
            algorithms::write_program(algorithm, parameters, owned.call, rank, program);
            messages += sends(program) * (rank == p / 2 ? p : 1);
        }
    } catch (const std::invalid_argument &sentence) {
        return {sentence.what(), 0};
    }
    return {"", messages};
}

} // namespace

void bind_preview(nb::module_ &module) {
    module.def("preview", &preview, nb::arg("collective"), nb::arg("family"), nb::arg("name"),
               nb::arg("parameters"), nb::arg("p"), nb::arg("root"), nb::arg("count"),
               nb::arg("element_bytes"), nb::arg("node_of_rank"), nb::arg("commutative") = true,
               "Why an algorithm refuses a call, as one sentence ('' where it doesn't), and about how many "
               "messages its schedule has. Nothing is built.");
}

} // namespace offbeat::python
