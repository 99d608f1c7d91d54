#include "algorithms/catalogue.hpp"

#include <algorithm>
#include <iterator>
#include <stdexcept>

namespace offbeat::algorithms {

Parameters::Parameters(std::span<const Parameter> declared) : values_(declared.begin(), declared.end()) {
}

int64_t Parameters::operator[](std::string_view name) const {
    for (const Parameter &parameter : values_)
        if (parameter.name == name)
            return parameter.value;
    throw std::out_of_range("undeclared parameter " + std::string(name));
}

void Parameters::set(std::string_view name, int64_t value) {
    for (Parameter &parameter : values_) {
        if (parameter.name != name)
            continue;
        if (value < parameter.smallest)
            throw std::invalid_argument("'" + std::string(name) + "' is " + std::to_string(value) +
                                        "; it must be at least " + std::to_string(parameter.smallest));
        parameter.value = value;
        return;
    }
    throw std::invalid_argument("there is no parameter '" + std::string(name) + "'");
}

const std::vector<Algorithm> &catalogue() {
    static const std::vector<Algorithm> all = [] {
        std::vector<Algorithm> list;
#define OFFBEAT_COLLECTIVE(Name, name, ...) name##_algorithms,
        for (auto list_of_collective : {
#include "collectives.def"
             }) {
            auto algorithms = list_of_collective();
            std::ranges::move(algorithms, std::back_inserter(list));
        }
        std::ranges::stable_sort(
            list, {}, [](const Algorithm &algorithm) { return schedule::name_of(algorithm.collective); });
        return list;
    }();
    return all;
}

const Algorithm *find(schedule::Collective collective, std::string_view family, std::string_view name) {
    for (const Algorithm &algorithm : catalogue())
        if (algorithm.collective == collective && algorithm.family == family && algorithm.name == name)
            return &algorithm;
    return nullptr;
}

void add_family(std::vector<Algorithm> &list, schedule::Collective collective, std::string_view family,
                const std::vector<Row> &rows) {
    for (const Row &row : rows)
        list.push_back({collective, family, row.name, row.write, row.parameters,
                        (row.properties & ordered) != 0, (row.properties & scales) != 0});
}

void write_program(const Algorithm &algorithm, const Parameters &parameters, const schedule::Call &call,
                   int rank, schedule::Program &program) {
    schedule::Rank writer(call, rank, program);
    algorithm.write(writer, parameters);
    writer.finish();
}

} // namespace offbeat::algorithms
