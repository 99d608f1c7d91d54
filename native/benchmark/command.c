/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "benchmark/command.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BLANKS " \t\r\n"

/* The keys whose values are numbers, with their ranges. */
static const struct {
    const char *key;
    int64_t minimum, maximum;
    int is_list;
} numbers[] = {
    {"bytes", 0, INT64_MAX, 0},
    {"root", 0, INT_MAX, 0},
    {"repetitions", 1, INT64_MAX, 0},
    {"attempts", 1, INT64_MAX, 0},
    {"warmups", 0, INT_MAX, 0},
    {"duration_ns", 0, INT64_MAX, 0},
    {"tolerance_ns", 0, INT64_MAX, 0},
    {"delay_ns", 1, OFFBEAT_MAX_NS, 0},
    {"most", 1, INT_MAX, 0},
    {"delays", 0, OFFBEAT_MAX_NS, 1},
    {"from", 0, INT_MAX, 0},
    {"to", 0, INT_MAX, 0},
    {"messages", 1, INT_MAX, 0},
    {"senders", 0, INT_MAX, 1},
    {"receivers", 0, INT_MAX, 1},
    {"processes", 1, INT_MAX, 0},
    {"exchanges", 0, INT_MAX, 0},
    {"rounds", 1, INT_MAX, 0},
    {"ages", 0, OFFBEAT_MAX_NS, 1},
    {"tolerance_bounds", 0, 1000000, 0},
    {"call", 0, INT_MAX, 0},
    {"members", 0, INT_MAX, 1},
    {"in_place", 0, 1, 0},
    {"null_ignored", 0, 1, 0},
};

int offbeat_command_parse(char *line, offbeat_command *command) {
    *command = (offbeat_command){.verb = ""};
    command->arguments = malloc((strlen(line) / 2 + 1) * sizeof *command->arguments);
    if (!command->arguments)
        return -1;
    char *rest = NULL;
    const char *verb = strtok_r(line, BLANKS, &rest);
    if (verb)
        command->verb = verb;
    for (char *argument; (argument = strtok_r(NULL, BLANKS, &rest));)
        command->arguments[command->count++] = argument;
    return 0;
}

const char *offbeat_command_text(const offbeat_command *command, const char *key, const char *default_value) {
    size_t length = strlen(key);
    for (int i = 0; i < command->count; i++)
        if (strncmp(command->arguments[i], key, length) == 0 && command->arguments[i][length] == '=')
            return command->arguments[i] + length + 1;
    return default_value;
}

/* Parses one number and advances @p text. @return 0, or -1 if it is not a number in the range */
static int parse_number(const char **text, int64_t minimum, int64_t maximum) {
    char *end;
    errno = 0;
    long long number = strtoll(*text, &end, 10);
    int is_valid = end != *text && errno == 0 && number >= minimum && number <= maximum;
    *text = end;
    return is_valid ? 0 : -1;
}

const char *offbeat_command_error(const offbeat_command *command) {
    static char why[160];
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        const char *text = offbeat_command_text(command, numbers[i].key, NULL);
        int is_valid = !text || parse_number(&text, numbers[i].minimum, numbers[i].maximum) == 0;
        while (is_valid && text && *text == ',' && numbers[i].is_list) {
            text++;
            is_valid = parse_number(&text, numbers[i].minimum, numbers[i].maximum) == 0;
        }
        if (is_valid && (!text || !*text))
            continue;
        snprintf(why, sizeof why, "%s must be %s from %lld to %lld", numbers[i].key,
                 numbers[i].is_list ? "whole numbers, separated by commas, each" : "a whole number",
                 (long long)numbers[i].minimum, (long long)numbers[i].maximum);
        return why;
    }
    return NULL;
}

int64_t offbeat_command_number(const offbeat_command *command, const char *key, int64_t default_value) {
    const char *text = offbeat_command_text(command, key, NULL);
    return text ? strtoll(text, NULL, 10) : default_value;
}

int64_t offbeat_command_list_item(const offbeat_command *command, const char *key, int index) {
    const char *text = offbeat_command_text(command, key, NULL);
    for (; text && index > 0; index--) {
        text = strchr(text, ',');
        if (text)
            text++;
    }
    return text ? strtoll(text, NULL, 10) : 0;
}

int offbeat_command_list_length(const offbeat_command *command, const char *key) {
    const char *text = offbeat_command_text(command, key, NULL);
    int length = text && *text ? 1 : 0;
    for (; length && *text; text++)
        length += *text == ',';
    return length;
}

void offbeat_command_free(offbeat_command *command) {
    free(command->arguments);
    *command = (offbeat_command){.verb = ""};
}
