/* SPDX-License-Identifier: BSD-3-Clause */
/** @file
 * The worklist on standard input, one command per line, and its answers.
 *
 *     run collective=reduce algorithm=binomial bytes=1024 datatype=short root=0 delays=0,1e-6,2.5e-6
 *     run collective=alltoall algorithm=bruck bytes=64 copies=1
 *     check collective=reduce algorithm=binomial bytes=12 root=3
 *     algorithms collective=reduce
 *     quit
 *
 * An answer is one line: "@offbeat " and a JSON object with the key "ok"; if it is false, "why" has the error
 * message.
 */
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace offbeat::smpi {

/** An invalid command, or a call that failed; the message is the answer. */
class CommandError : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

/** A verb and its arguments of the form key=value. */
struct Command {
    std::string verb;
    std::map<std::string, std::string> arguments;

    [[nodiscard]] std::string text(const std::string &key, const std::string &default_value = "") const;
    /** A whole number, 0 or more; throws CommandError for any other text. */
    [[nodiscard]] int64_t number(const std::string &key, int64_t default_value) const;
    /** A list of `count` times in seconds, separated by commas, none negative; missing ones at its end are 0.
     */
    [[nodiscard]] std::vector<double> seconds(const std::string &key, size_t count) const;
};

/** Parses a line; throws CommandError for an argument without "=". */
Command parse(const std::string &line);

/** The next non-empty line of standard input; std::nullopt at its end. */
std::optional<std::string> next_line();

/** @name Answers; each is flushed */
///@{
void answer_times(const std::vector<double> &arrivals, const std::vector<double> &exits, double cpu_s);
void answer_wrong(int64_t wrong);
void answer_names(const std::vector<std::string> &names);
void answer_hello(const std::string &version, int p);
void answer_error(const std::string &why);
///@}

} // namespace offbeat::smpi
