#include "algorithms/catalogue.hpp"
#include "python/bindings.hpp"

#include <nanobind/stl/map.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <set>
#include <stdexcept>
#include <utility>

namespace nb = nanobind;

namespace offbeat::python {

namespace {

/** An algorithm refuses a call at all ranks or at none, and most ranks send as many messages as the middle
 * rank: writes the programs of only the first, the middle and the last rank and of the root of each
 * communicator.
 */
std::pair<std::string, int64_t> preview(const std::string &collective, const std::string &family,
                                        const std::string &name, const std::map<std::string, int64_t> &values,
                                        int p, int root, int64_t count, int64_t element_bytes,
                                        const std::vector<int> &node_of_rank, bool commutative,
                                        int communicators, int stride) {
    const auto &algorithm = algorithm_named(collective, family, name);
    const nb::gil_scoped_release gil_release;
    schedule::Program program;
    int64_t messages = 0;
    try {
        const auto parameters = parameters_of(algorithm, values);
        const OwnedCalls calls(collective, {p, communicators, stride}, root, count, element_bytes,
                               node_of_rank, commutative);
        const std::set<int> sample{0, root, p / 2, p - 1};
        const int64_t like_the_middle = p - static_cast<int64_t>(sample.size()) + 1;
        for (int communicator = 0; communicator < communicators; ++communicator)
            for (const int member : sample) {
                calls.write_program(algorithm, parameters, calls.layout().rank(communicator, member),
                                    program);
                messages += std::ranges::count_if(program.operations, schedule::is_send) *
                            (member == p / 2 ? like_the_middle : 1);
            }
    } catch (const std::invalid_argument &refusal) {
        return {refusal.what(), 0};
    }
    return {"", messages};
}

nb::list collective_table() {
    nb::list rows;
#define OFFBEAT_ROW(name, send_blocks, receive_blocks, result, root, counts, used_for)                       \
    rows.append(nb::make_tuple(#name, #send_blocks, #receive_blocks, #result, #root, #counts, used_for));
#define OFFBEAT_COLLECTIVE(Name, name, signature, send_blocks, receive_blocks, result, root, counts)         \
    OFFBEAT_ROW(name, send_blocks, receive_blocks, result, root, counts, "simulated")
#define OFFBEAT_MEASURED_COLLECTIVE(Name, name, signature, send_blocks, receive_blocks, result, root,        \
                                    counts)                                                                  \
    OFFBEAT_ROW(name, send_blocks, receive_blocks, result, root, counts, "measured")
#define OFFBEAT_CHECKED_COLLECTIVE(Name, name, signature, send_blocks, receive_blocks, result, root, counts) \
    OFFBEAT_ROW(name, send_blocks, receive_blocks, result, root, counts, "checked")
#define OFFBEAT_TRACED_COLLECTIVE(Name, name, signature, send_blocks, receive_blocks, result, root, counts)  \
    OFFBEAT_ROW(name, send_blocks, receive_blocks, result, root, counts, "traced")
#include "collectives.def"
    return rows;
}

} // namespace

void bind_catalogue(nb::module_ &module) {
    module.def("collectives", &collective_table,
               "The rows of the table of collectives; offbeat.model.study.collectives names the columns.");
    module.def(
        "algorithms",
        [] {
            nb::list list;
            for (const auto &algorithm : algorithms::catalogue()) {
                nb::list parameters;
                for (const auto &parameter : algorithm.parameters)
                    parameters.append(nb::make_tuple(parameter.name, parameter.value, parameter.smallest));
                nb::dict entry;
                entry["collective"] = schedule::name_of(algorithm.collective);
                entry["family"] = algorithm.family;
                entry["name"] = algorithm.name;
                entry["parameters"] = parameters;
                entry["ordered"] = algorithm.ordered;
                entry["scales"] = algorithm.scales;
                list.append(entry);
            }
            return list;
        },
        "Every algorithm as a dict: collective, family, name, parameters (name, value, smallest), ordered, "
        "scales.");
    module.def("preview", &preview, nb::arg("collective"), nb::arg("family"), nb::arg("name"),
               nb::arg("parameters"), nb::arg("p"), nb::arg("root"), nb::arg("count"),
               nb::arg("element_bytes"), nb::arg("node_of_rank"), nb::arg("commutative") = true,
               nb::arg("communicators") = 1, nb::arg("stride") = 1,
               "Why an algorithm refuses a call, as one sentence ('' if it does not), and about how many "
               "messages its schedule has. Nothing is built.");
}

} // namespace offbeat::python
