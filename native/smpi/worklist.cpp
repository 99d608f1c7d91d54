/* SPDX-License-Identifier: BSD-3-Clause */
#include "worklist.hpp"

#include <charconv>
#include <cstdio>
#include <iostream>
#include <sstream>

namespace offbeat::smpi {

namespace {

/** Reads a whole text as a number; false if anything is left over. */
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

std::string Command::text(const std::string &key, const std::string &otherwise) const {
    const auto found = words.find(key);
    return found == words.end() ? otherwise : found->second;
}

int64_t Command::number(const std::string &key, int64_t otherwise) const {
    const auto found = words.find(key);
    int64_t value = otherwise;
    if (found != words.end() && (!read_number(found->second, value) || value < 0)) {
        throw Fault(key + " must be a whole number, 0 or more, not '" + found->second + "'");
    }
    return value;
}

std::vector<double> Command::seconds(const std::string &key, size_t most) const {
    std::vector<double> values;
    std::istringstream list(text(key));
    for (std::string item; std::getline(list, item, ',');) {
        double value = 0;
        if (!read_number(item, value) || !(value >= 0 && value < 1e6)) {
            throw Fault(key + " must be seconds, 0 or more, separated by commas, not '" + item + "'");
        }
        values.push_back(value);
    }
    if (values.size() > most) {
        throw Fault(key + " has " + std::to_string(values.size()) + " entries for " + std::to_string(most) +
                    " processes");
    }
    values.resize(most);
    return values;
}

Command parse(const std::string &line) {
    Command command;
    std::istringstream words(line);
    words >> command.verb;
    for (std::string word; words >> word;) {
        const size_t equals = word.find('=');
        if (equals == std::string::npos || equals == 0) {
            throw Fault("a word of a command has the form key=value, not '" + word + "'");
        }
        command.words[word.substr(0, equals)] = word.substr(equals + 1);
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

void answer_fault(const std::string &why) {
    write("@offbeat {\"ok\":false,\"why\":" + quoted(why) + '}');
}

} // namespace offbeat::smpi
