/* SPDX-License-Identifier: BSD-3-Clause */
#include "worklist.hpp"

#include <charconv>
#include <cstdio>
#include <iostream>
#include <sstream>

namespace offbeat::smpi {

namespace {

/** Parses a number; false if the text has any other characters. */
template <typename Number> bool read_number(const std::string &text, Number &value) {
    const char *end = text.data() + text.size();
    const auto [stopped, error] = std::from_chars(text.data(), end, value);
    return error == std::errc() && stopped == end;
}

void append(std::string &line, double value) {
    char digits[32];
    const auto result = std::to_chars(digits, digits + sizeof digits, value);
    line.append(digits, result.ptr);
}

void append(std::string &line, const std::string &key, const std::vector<double> &values) {
    line += ",\"" + key + "\":[";
    for (size_t i = 0; i < values.size(); i++) {
        if (i > 0) {
            line += ',';
        }
        append(line, values[i]);
    }
    line += ']';
}

std::string quoted(const std::string &text) {
    std::string result = "\"";
    for (const char c : text) {
        if (c == '"' || c == '\\') {
            result += '\\';
        }
        result += static_cast<unsigned char>(c) < ' ' ? ' ' : c;
    }
    return result + '"';
}

void write(const std::string &answer) {
    std::fwrite(answer.data(), 1, answer.size(), stdout);
    std::fputc('\n', stdout);
    std::fflush(stdout);
}

} // namespace

std::string Command::text(const std::string &key, const std::string &default_value) const {
    const auto argument = arguments.find(key);
    return argument == arguments.end() ? default_value : argument->second;
}

int64_t Command::number(const std::string &key, int64_t default_value) const {
    const auto argument = arguments.find(key);
    int64_t value = default_value;
    if (argument != arguments.end() && (!read_number(argument->second, value) || value < 0)) {
        throw CommandError(key + " must be a whole number, 0 or more, not '" + argument->second + "'");
    }
    return value;
}

std::vector<double> Command::seconds(const std::string &key, size_t count) const {
    std::vector<double> values;
    std::istringstream list(text(key));
    for (std::string item; std::getline(list, item, ',');) {
        double value = 0;
        if (!read_number(item, value) || !(value >= 0 && value < 1e6)) {
            throw CommandError(key + " must be seconds, 0 or more, separated by commas, not '" + item + "'");
        }
        values.push_back(value);
    }
    if (values.size() > count) {
        throw CommandError(key + " has " + std::to_string(values.size()) + " entries for " +
                           std::to_string(count) + " processes");
    }
    values.resize(count);
    return values;
}

Command parse(const std::string &line) {
    Command command;
    std::istringstream stream(line);
    stream >> command.verb;
    for (std::string argument; stream >> argument;) {
        const size_t equals = argument.find('=');
        if (equals == std::string::npos || equals == 0) {
            throw CommandError("an argument has the form key=value, not '" + argument + "'");
        }
        command.arguments[argument.substr(0, equals)] = argument.substr(equals + 1);
    }
    return command;
}

std::optional<std::string> next_line() {
    std::string line;
    while (std::getline(std::cin, line)) {
        if (line.find_first_not_of(" \t\r") != std::string::npos) {
            return line;
        }
    }
    return std::nullopt;
}

void answer_times(const std::vector<double> &arrivals, const std::vector<double> &exits, double cpu_s) {
    std::string line = "@offbeat {\"ok\":true,\"cpu_s\":";
    append(line, cpu_s);
    append(line, "arrivals", arrivals);
    append(line, "exits", exits);
    write(line + '}');
}

void answer_wrong(int64_t wrong) {
    write("@offbeat {\"ok\":true,\"wrong\":" + std::to_string(wrong) + '}');
}

void answer_names(const std::vector<std::string> &names) {
    std::string line = "@offbeat {\"ok\":true,\"algorithms\":[";
    for (size_t i = 0; i < names.size(); i++) {
        line += (i > 0 ? "," : "") + quoted(names[i]);
    }
    write(line + "]}");
}

void answer_hello(const std::string &version, int p) {
    write("@offbeat {\"ok\":true,\"simgrid\":" + quoted(version) + ",\"p\":" + std::to_string(p) + '}');
}

void answer_error(const std::string &why) {
    write("@offbeat {\"ok\":false,\"why\":" + quoted(why) + '}');
}

} // namespace offbeat::smpi
