/** @file
 * Every algorithm by collective, family and name. To add an algorithm, write a function that writes a rank's
 * program and add a row to the list of its collective (at the end of allgather.cpp, allreduce.cpp, ...).
 */
#pragma once

#include "schedule/collective.hpp"
#include "schedule/program.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace offbeat::algorithms {

/** An integer parameter of an algorithm, with its default value. */
struct Parameter {
    std::string_view name; /**< as a study names it: segment (bytes, 0: unsegmented), fanout, radix, ... */
    int64_t value = 0;
    int64_t smallest = 0; /**< lower values are refused */
};

/** Values of parameters by name. Reading a parameter that the algorithm does not declare is a programming
 * error: std::out_of_range. */
class Parameters {
  public:
    explicit Parameters(std::span<const Parameter> declared);
    [[nodiscard]] int64_t operator[](std::string_view name) const;
    /** Raises std::invalid_argument with a sentence for an unknown name or a value that is too small. */
    void set(std::string_view name, int64_t value);

  private:
    std::vector<Parameter> values_;
};

/** Writes the program of one rank. It need not wait at its end: the exit waits for all open requests.
 * Collectives declare their algorithms in one line each: `AlgorithmFunction ring;`. */
using AlgorithmFunction = void(schedule::Rank &rank, const Parameters &parameters);

/** What holds for every call of an algorithm; combined with |. */
enum Properties : uint8_t {
    none_guaranteed = 0,
    /** Combines contributions in rank order, even if the operation commutes. Without it, an algorithm may
     * still keep the order if the operation does not commute. Not used for collectives that do not reduce. */
    ordered = 1,
    /** The program for count n is the program for count 1 with every length times n (no segments, no
     * splitting, no thresholds): it is built once for all sizes. */
    scales = 2,
};
constexpr Properties operator|(Properties a, Properties b) {
    return static_cast<Properties>(static_cast<uint8_t>(a) | static_cast<uint8_t>(b));
}

struct Algorithm {
    schedule::Collective collective{};
    std::string_view family; /**< the library whose algorithm and name it is: openmpi, mpich, simgrid */
    std::string_view name;
    AlgorithmFunction *write = nullptr;
    std::vector<Parameter> parameters{};
    bool ordered = false; /**< see Properties */
    bool scales = false;
};

/** All algorithms by collective, in the order of their lists. */
[[nodiscard]] const std::vector<Algorithm> &catalogue();

/** The algorithm with a name without parameters; nullptr if there is none. */
[[nodiscard]] const Algorithm *find(schedule::Collective collective, std::string_view family,
                                    std::string_view name);

/** Writes the program of one rank, including its exit. */
void write_program(const Algorithm &algorithm, const Parameters &parameters, const schedule::Call &call,
                   int rank, schedule::Program &program);

/** @name The list of each collective
 * A row is a name, a function, then, if any, its parameters {name, default, smallest} and its properties. */
///@{
struct Row {
    std::string_view name;
    AlgorithmFunction *write;
    std::vector<Parameter> parameters;
    Properties properties;

    Row(std::string_view row_name, AlgorithmFunction *function, Properties row_properties = none_guaranteed)
        : name(row_name), write(function), properties(row_properties) {
    }
    Row(std::string_view row_name, AlgorithmFunction *function, std::vector<Parameter> row_parameters,
        Properties row_properties = none_guaranteed)
        : name(row_name), write(function), parameters(std::move(row_parameters)), properties(row_properties) {
    }
};

/** Appends the rows of one family to a collective's list. */
void add_family(std::vector<Algorithm> &list, schedule::Collective collective, std::string_view family,
                const std::vector<Row> &rows);

#define OFFBEAT_COLLECTIVE(Name, name, ...) std::vector<Algorithm> name##_algorithms();
#include "collectives.def"
///@}

} // namespace offbeat::algorithms
