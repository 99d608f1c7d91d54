/** @file What the parts of the Python module share: arguments of calls, programs written in Python, and their
 * functions. */
#pragma once

#include "algorithms/catalogue.hpp"
#include "schedule/collective.hpp"
#include "schedule/communicators.hpp"
#include "schedule/program.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace offbeat::python {

namespace nb = nanobind;

/** A Call that owns the nodes of its ranks. Not to be copied or moved: call points into it. */
class OwnedCall {
  public:
    /** Raises std::invalid_argument with a sentence for an unknown collective or invalid numbers. */
    OwnedCall(const std::string &collective, int p, int root, int64_t count, int64_t element_bytes,
              std::vector<int> node_of_rank, bool commutative);
    OwnedCall(const OwnedCall &) = delete;
    OwnedCall &operator=(const OwnedCall &) = delete;
    ~OwnedCall() = default;

    std::vector<int> nodes;
    schedule::Call call;

  private:
    std::optional<schedule::NodeMap> node_map_;
};

/** The same call of several communicators at the same time. */
class OwnedCalls {
  public:
    /** @param node_of_rank  of all processes. Raises as OwnedCall, also for an invalid layout. */
    OwnedCalls(const std::string &collective, const schedule::CommunicatorLayout &layout, int root,
               int64_t count, int64_t element_bytes, const std::vector<int> &node_of_rank, bool commutative);

    [[nodiscard]] const schedule::CommunicatorLayout &layout() const {
        return layout_;
    }
    /** Writes the program of one process, whose peers are numbered among all processes. */
    void write_program(const algorithms::Algorithm &algorithm, const algorithms::Parameters &parameters,
                       int rank, schedule::Program &program) const;

  private:
    schedule::CommunicatorLayout layout_;
    std::deque<OwnedCall> calls_; /**< by communicator */
};

/** Numbers that Python owns from now on. */
template <typename Number> nb::ndarray<nb::numpy, Number> array_of(std::vector<Number> numbers) {
    auto vector = std::make_unique<std::vector<Number>>(std::move(numbers));
    Number *const data = vector->data();
    const size_t size = vector->size();
    const nb::capsule owner(
        vector.release(), [](void *pointer) noexcept { delete static_cast<std::vector<Number> *>(pointer); });
    return nb::ndarray<nb::numpy, Number>(data, {size}, owner);
}

/** Raises std::invalid_argument with a sentence. */
schedule::Collective collective_named(const std::string &name);
const algorithms::Algorithm &algorithm_named(const std::string &collective, const std::string &family,
                                             const std::string &name);
algorithms::Parameters parameters_of(const algorithms::Algorithm &algorithm,
                                     const std::map<std::string, int64_t> &values);

/** The programs of all ranks, written by a Python function that is called once per rank. Not to be copied or
 * moved. */
struct Programs {
    Programs(const std::string &collective, const nanobind::callable &write, int p, int root, int64_t count,
             int64_t element_bytes, std::vector<int> node_of_rank, bool commutative);

    OwnedCall owned_call;
    std::vector<schedule::Program> programs;
};

/** Calls a Python function that writes the program of one rank. Python exceptions are passed on. */
void write_program(const nanobind::callable &write, const schedule::Call &call, int rank,
                   schedule::Program &program);

/** The dict of arrays that messages() returns. */
nanobind::dict messages_as_arrays(const std::vector<schedule::Program> &programs, const schedule::Call &call);

/** algorithms(), preview() */
void bind_catalogue(nanobind::module_ &module);
/** Programs, Rank, Span, Request, Vertex, CompletionQueue */
void bind_programs(nanobind::module_ &module);
/** check(), messages(), check_range(), check_written() */
void bind_check(nanobind::module_ &module);
/** Network and its topologies */
void bind_network(nanobind::module_ &module);
/** Schedule, evaluate() */
void bind_evaluate(nanobind::module_ &module);
/** exchange(), ProgramRun */
void bind_program_run(nanobind::module_ &module);

} // namespace offbeat::python
