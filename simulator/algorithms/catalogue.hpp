/** @file
 * Every algorithm by collective, family and name. To add an algorithm, write a function that writes a rank's
 * program and add a row to the list of its collective (at the end of allgather.cpp, allreduce.cpp, ...).
 *
 * The comment of the function names the library's function or the paper that it follows, and
 * - rounds: the messages in the longest chain of messages that wait for each other;
 * - bytes: what a rank sends, for the rank that sends most.
 * Both are formulas in p ranks and m bytes (as the call states them: for an allgather or alltoall, one
 * block). q is the number of segments or chunks, lg the logarithm of base 2; N nodes have s ranks each.
 * Formulas hold if p, N and s are powers of two (of k), blocks and segments have no remainder, the root is
 * rank 0, and the operation commutes. "A or B" are for different values of an argument.
 * tests/simulator/test_algorithm_costs.py compares the formulas with the messages.
 */
#pragma once

#include "schedule/collective.hpp"
#include "schedule/program.hpp"

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace offbeat::algorithms {

using namespace schedule;

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
using AlgorithmFunction = void(Rank &rank);
/** Writes the program of one rank, for an algorithm with parameters. */
using ParameterisedFunction = void(Rank &rank, const Parameters &parameters);

/** What holds for every call of an algorithm; combined with |. */
enum Properties : uint8_t {
    none_guaranteed = 0,
    /** Combines contributions in rank order, even if the operation commutes. Without it, an algorithm may
     * still keep the order if the operation does not commute. Not used for collectives that do not reduce. */
    ordered = 1,
    /** The program for count n is the program for count 1 with every length times n (no segments, no
     * splitting, no thresholds): it is built once for all sizes. */
    scales = 2,
    /** Refuses calls of other numbers of ranks. */
    powers_of_two = 4,
};
constexpr Properties operator|(Properties a, Properties b) {
    return static_cast<Properties>(static_cast<uint8_t>(a) | static_cast<uint8_t>(b));
}

/** A row of a collective's list: the family (the library whose algorithm and name it is: openmpi, mpich,
 * simgrid), the name, the function, then, if any, the parameters {name, default, smallest} and the
 * properties. */
struct Algorithm {
    template <typename Function>
    Algorithm(std::string_view row_family, std::string_view row_name, Function function,
              std::vector<Parameter> row_parameters, Properties properties = none_guaranteed)
        : family(row_family), name(row_name), parameters(std::move(row_parameters)),
          ordered((properties & Properties::ordered) != 0), scales((properties & Properties::scales) != 0),
          powers_of_two((properties & Properties::powers_of_two) != 0) {
        if constexpr (std::is_invocable_v<Function, Rank &>)
            write = [function](Rank &rank, const Parameters & /*unused*/) { function(rank); };
        else
            write = function;
    }
    template <typename Function>
    Algorithm(std::string_view row_family, std::string_view row_name, Function function,
              Properties properties = none_guaranteed)
        : Algorithm(row_family, row_name, function, std::vector<Parameter>{}, properties) {
    }

    Collective collective{}; /**< set by catalogue() */
    std::string_view family;
    std::string_view name;
    std::function<ParameterisedFunction> write;
    std::vector<Parameter> parameters;
    bool ordered; /**< see Properties */
    bool scales;
    bool powers_of_two;
};

/** @name Rows for functions with more arguments, which are the same for every call
 * `fixed(by_nodes, true)` is the algorithm that calls `by_nodes(rank, true)`. */
///@{
template <typename... Arguments>
auto fixed(void (*function)(Rank &, Arguments...), std::type_identity_t<Arguments>... arguments) {
    return [=](Rank &rank) { function(rank, arguments...); };
}
template <typename... Arguments>
auto fixed(void (*function)(Rank &, const Parameters &, Arguments...),
           std::type_identity_t<Arguments>... arguments) {
    return [=](Rank &rank, const Parameters &parameters) { function(rank, parameters, arguments...); };
}
///@}

/** All algorithms by collective, in the order of their lists. */
[[nodiscard]] const std::vector<Algorithm> &catalogue();

/** The algorithm with a name without parameters; nullptr if there is none. */
[[nodiscard]] const Algorithm *find(Collective collective, std::string_view family, std::string_view name);

/** False for a scan without elements, and for a reduce or reduce_scatter without elements or with only one
 * rank, whose input this copies to its output. Algorithms are not called then. */
bool needs_messages(Rank &rank);

/** Writes the program of one rank, including its exit. std::invalid_argument if the algorithm refuses the
 * call.
 */
void write_program(const Algorithm &algorithm, const Parameters &parameters, const Call &call, int rank,
                   Program &program);

/** @name The list of each collective */
///@{
#define OFFBEAT_COLLECTIVE(Name, name, ...) std::vector<Algorithm> name##_algorithms();
#include "collectives.def"
///@}

} // namespace offbeat::algorithms
