/** @file Algorithms that are written in Python: the programs of all ranks of one call. */
#pragma once

#include "python/call_arguments.hpp"
#include "schedule/program.hpp"

#include <nanobind/nanobind.h>

#include <cstdint>
#include <string>
#include <vector>

namespace offbeat::python {

/** What a Python function wrote when it was called once for each rank. Not to be copied or moved. */
struct Programs {
    Programs(const std::string &collective, const nanobind::callable &write, int p, int root, int64_t count,
             int64_t element_bytes, std::vector<int> node_of_rank, bool commutative);

    OwnedCall owned;
    std::vector<schedule::Program> programs;
};

/** Has Python write the program of one rank. Exceptions of Python come through. */
void write_program(const nanobind::callable &write, const schedule::Call &call, int rank,
                   schedule::Program &program);

/** Programs, Rank, Span, Request, Joint, CompletionQueue */
void bind_programs(nanobind::module_ &module);

/** The dict of arrays that messages() returns. */
nanobind::dict drawn_messages(const std::vector<schedule::Program> &programs, const schedule::Call &call);

} // namespace offbeat::python
