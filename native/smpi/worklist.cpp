/* SPDX-License-Identifier: BSD-3-Clause */
#include "worklist.hpp"

#include <iostream>
#include <utility>

namespace offbeat::smpi {

Command::Command(std::string line, long number) : line_(std::move(line)) {
    const char *why = offbeat_command_parse(line_.data(), number, OFFBEAT_SMPI, &command_);
    if (why != nullptr) {
        offbeat_command_free(&command_);
        throw CommandError(why);
    }
}

Command::~Command() {
    offbeat_command_free(&command_);
}

const offbeat_verb *Command::verb() const {
    return command_.verb;
}

std::string Command::text(const char *key) const {
    const char *value = offbeat_command_text(&command_, key);
    return value != nullptr ? value : "";
}

int64_t Command::number(const char *key) const {
    return offbeat_command_number(&command_, key);
}

std::vector<double> Command::seconds(const char *key, size_t count) const {
    const auto length = static_cast<size_t>(offbeat_command_list_length(&command_, key));
    if (length > count) {
        throw CommandError(std::string(key) + " has " + std::to_string(length) + " entries for " +
                           std::to_string(count) + " processes");
    }
    std::vector<double> values(count);
    offbeat_command_times(&command_, key, values.data(), count);
    return values;
}

std::optional<std::string> next_line(long &number) {
    std::string line;
    while (std::getline(std::cin, line)) {
        number++;
        if (line.find_first_not_of(" \t\r") != std::string::npos) {
            return line;
        }
    }
    return std::nullopt;
}

} // namespace offbeat::smpi
