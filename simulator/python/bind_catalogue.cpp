#include "algorithms/catalogue.hpp"
#include "python/bindings.hpp"

#include <nanobind/stl/string_view.h>

namespace nb = nanobind;

namespace offbeat::python {

void bind_catalogue(nb::module_ &module) {
    module.def(
        "algorithms",
        [] {
            nb::list all;
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
                all.append(entry);
            }
            return all;
        },
        "Every algorithm as a dict: collective, family, name, parameters (name, value, smallest), ordered, "
        "scales.");
}

} // namespace offbeat::python
