/** @file
 * Every algorithm by collective, family and name. Adding one takes a function that writes a rank's program
 * and a line in the list of its collective's file.
 */
#pragma once

#include "schedule/collective.hpp"
#include "schedule/program.hpp"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace offbeat::algorithms {

/** An integer that an algorithm takes, with the value it has unless told otherwise. */
struct Parameter {
    std::string_view
        name; /**< segment (bytes, 0: unsegmented), fanout, radix, requests, ... as a study names it */
    int64_t value = 0;
    int64_t smallest = 0; /**< lower values are refused */
};

/** Values by name. Asking for one that the algorithm does not declare is a programming error:
 * std::out_of_range. */
class Parameters {
  public:
    explicit Parameters(std::span<const Parameter> declared);
    [[nodiscard]] int64_t operator[](std::string_view name) const;
    /** Raises std::invalid_argument with a sentence for an unknown name or a value that is too small. */
    void set(std::string_view name, int64_t value);
    [[nodiscard]] const std::vector<Parameter> &all() const {
        return values_;
    }

  private:
    std::vector<Parameter> values_;
};

/** Writes what one rank does. Must call wait for nothing at its end: whatever is open is waited for at the
 * exit. */
using Write = void (*)(schedule::Rank &rank, const Parameters &parameters);

struct Algorithm {
    schedule::Collective collective{};
    std::string_view family; /**< whose algorithm and whose name it is: openmpi, mpich, simgrid */
    std::string_view name;
    Write write = nullptr;
    std::vector<Parameter> parameters{};
    /** Combines contributions in rank order, whatever the operation; always false for collectives that don't
     * reduce. */
    bool ordered = false;
    /** The program for count n is that for count 1 with every length times n (no segments, no splitting, no
     * thresholds): built once for all sizes. */
    bool scales = false;
};

/** All algorithms, in the order in which their files list them. */
[[nodiscard]] const std::vector<Algorithm> &catalogue();

/** The algorithm of a name without parameters; nullptr if there is none. */
[[nodiscard]] const Algorithm *find(schedule::Collective collective, std::string_view family,
                                    std::string_view name);

/** Runs the algorithm for one rank, exit included. */
void write_program(const Algorithm &algorithm, const Parameters &parameters, const schedule::Call &call,
                   int rank, schedule::Program &program);

/** @name One list a collective, each in the file of its name */
///@{
std::vector<Algorithm> allgather_algorithms();
std::vector<Algorithm> allreduce_algorithms();
std::vector<Algorithm> alltoall_algorithms();
std::vector<Algorithm> barrier_algorithms();
std::vector<Algorithm> bcast_algorithms();
std::vector<Algorithm> exscan_algorithms();
std::vector<Algorithm> gather_algorithms();
std::vector<Algorithm> reduce_algorithms();
std::vector<Algorithm> reduce_scatter_algorithms();
std::vector<Algorithm> reduce_scatter_block_algorithms();
std::vector<Algorithm> scan_algorithms();
std::vector<Algorithm> scatter_algorithms();
///@}

} // namespace offbeat::algorithms
