#include "algorithms/catalogue.hpp"

#include "algorithms/exchange.hpp"

#include <algorithm>
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
#define OFFBEAT_COLLECTIVE(Name, name, ...)                                                                  \
    for (Algorithm & algorithm : name##_algorithms())                                                        \
        list.emplace_back(std::move(algorithm)).collective = Collective::name;
#include "collectives.def"
        std::ranges::stable_sort(list, {},
                                 [](const Algorithm &algorithm) { return name_of(algorithm.collective); });
        return list;
    }();
    return all;
}

const Algorithm *find(Collective collective, std::string_view family, std::string_view name) {
    for (const Algorithm &algorithm : catalogue())
        if (algorithm.collective == collective && algorithm.family == family && algorithm.name == name)
            return &algorithm;
    return nullptr;
}

bool needs_messages(Rank &rank) {
    switch (rank.call.collective) {
    case Collective::reduce:
    case Collective::reduce_scatter:
    case Collective::reduce_scatter_block:
        if (rank.p == 1)
            copy_some(rank, rank.output(), rank.input());
        return rank.p > 1 && rank.call.count > 0;
    case Collective::scan:
    case Collective::exscan:
        return rank.call.count > 0;
    default:
        return true;
    }
}

void write_program(const Algorithm &algorithm, const Parameters &parameters, const Call &call, int rank,
                   Program &program) {
    if (algorithm.powers_of_two && !is_power_of_two(call.p))
        throw std::invalid_argument(std::string(algorithm.name) + " needs a power of two of ranks");
    Rank writer(call, rank, program);
    if (needs_messages(writer))
        algorithm.write(writer, parameters);
    writer.finish();
}

} // namespace offbeat::algorithms
