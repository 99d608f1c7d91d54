/* SPDX-License-Identifier: BSD-3-Clause */
/** @file
 * The worklist on standard input, one command per line, and its answers (protocol/command.h,
 * protocol/answer.h).
 *
 *     run collective=reduce algorithm=binomial bytes=1024 datatype=short root=0 delays=0,1e-6,2.5e-6
 *     run collective=alltoall algorithm=bruck bytes=64 copies=1
 *     check collective=reduce algorithm=binomial bytes=12 root=3
 *     algorithms collective=reduce
 *     quit
 */
#pragma once

#include "protocol/answer.h"
#include "protocol/command.h"

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

/** A parsed line. The readers accept the keys that the verb has according to protocol/protocol.c. */
class Command {
  public:
    /** Parses a line; throws CommandError if it is not of the protocol. */
    Command(std::string line, long number);
    ~Command();
    Command(const Command &) = delete;
    Command &operator=(const Command &) = delete;

    [[nodiscard]] const offbeat_verb *verb() const;
    /** Empty for a missing key without a default. */
    [[nodiscard]] std::string text(const char *key) const;
    [[nodiscard]] int64_t number(const char *key) const;
    /** A list of `count` times in seconds; missing ones at its end are 0. Throws CommandError for more. */
    [[nodiscard]] std::vector<double> seconds(const char *key, size_t count) const;

  private:
    std::string line_;
    offbeat_command command_{};
};

/** The next non-empty line of standard input; std::nullopt at its end.
 * @param[in,out] number of the last line */
std::optional<std::string> next_line(long &number);

} // namespace offbeat::smpi
