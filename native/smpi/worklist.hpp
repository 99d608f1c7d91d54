/* SPDX-License-Identifier: BSD-3-Clause */
/** @file
 * The worklist on standard input, one command a line, and the answers to it.
 *
 *     run collective=reduce algorithm=binomial bytes=1024 datatype=short root=0 delays=0,1e-6,2.5e-6
 *     run collective=alltoall algorithm=bruck bytes=64 copies=1
 *     check collective=reduce algorithm=binomial bytes=12 root=3
 *     algorithms collective=reduce
 *     quit
 *
 * An answer is one line: "@offbeat " and a JSON object with the key "ok"; where that is false, "why" says
 * why.
 */
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace offbeat::smpi {

/** What is wrong with a command, as a sentence for its answer. */
class Fault : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

/** A verb and its words of the form key=value. */
struct Command {
    std::string verb;
    std::map<std::string, std::string> words;

    [[nodiscard]] std::string text(const std::string &key, const std::string &otherwise = "") const;
    /** A whole number, 0 or more; Fault if it is none. */
    [[nodiscard]] int64_t number(const std::string &key, int64_t otherwise) const;
    /** Seconds separated by commas, none negative, at most `most` of them; a missing one is 0. */
    [[nodiscard]] std::vector<double> seconds(const std::string &key, size_t most) const;
};

/** Cuts up a line; Fault for a word without "=". */
Command parse(const std::string &line);

/** The next line of standard input that is not empty; nothing at its end. */
std::optional<std::string> next_line();

/** @name Answers, each flushed */
///@{
void answer_times(const std::vector<double> &arrivals, const std::vector<double> &exits, double cpu_s);
void answer_wrong(int64_t wrong);
void answer_names(const std::vector<std::string> &names);
void answer_hello(const std::string &version, int p);
void answer_fault(const std::string &why);
///@}

} // namespace offbeat::smpi
