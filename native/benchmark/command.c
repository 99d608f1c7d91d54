/* SPDX-License-Identifier: BSD-3-Clause */
/** @file command.c  Parsing a line of the worklist. */
#define _GNU_SOURCE
#include "benchmark/command.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BLANKS " \t\r\n"

static const struct {
    const char *key;
    int64_t least, most;
    int is_list;
} numbers[] = {
    {"bytes", 0, INT64_MAX, 0},
    {"root", 0, INT_MAX, 0},
    {"repetitions", 1, INT64_MAX, 0},
    {"attempts", 1, INT64_MAX, 0},
    {"warmups", 0, INT_MAX, 0},
    {"duration_ns", 0, INT64_MAX, 0},
    {"tolerance_ns", 0, INT64_MAX, 0},
    {"delay_ns", 1, OFFBEAT_LONGEST_NS, 0},
    {"most", 1, INT_MAX, 0},
    {"delays", 0, OFFBEAT_LONGEST_NS, 1},
    {"from", 0, INT_MAX, 0},
    {"to", 0, INT_MAX, 0},
    {"messages", 1, INT_MAX, 0},
    {"senders", 0, INT_MAX, 1},
    {"receivers", 0, INT_MAX, 1},
    {"processes", 1, INT_MAX, 0},
    {"exchanges", 0, INT_MAX, 0},
    {"rounds", 1, INT_MAX, 0},
    {"ages", 0, OFFBEAT_LONGEST_NS, 1},
    {"tolerance_bounds", 0, 1000000, 0},
    {"call", 0, INT_MAX, 0},
    {"members", 0, INT_MAX, 1},
    {"in_place", 0, 1, 0},
    {"null_ignored", 0, 1, 0},
};

int offbeat_command_parse(char *line, offbeat_command *command) {
    *command = (offbeat_command){.verb = ""};
    command->words = malloc((strlen(line) / 2 + 1) * sizeof *command->words);
    if (!command->words)
        return -1;
    char *rest = NULL;
    const char *verb = strtok_r(line, BLANKS, &rest);
    if (verb)
        command->verb = verb;
    for (char *word; (word = strtok_r(NULL, BLANKS, &rest));)
        command->words[command->count++] = word;
    return 0;
}

const char *offbeat_command_text(const offbeat_command *command, const char *key, const char *otherwise) {
    size_t length = strlen(key);
    for (int i = 0; i < command->count; i++)
        if (strncmp(command->words[i], key, length) == 0 && command->words[i][length] == '=')
            return command->words[i] + length + 1;
    return otherwise;
}

/* Reads one number and moves behind it. @return 0, or -1 where there is none in the range */
static int take_number(const char **text, int64_t least, int64_t most) {
    char *end;
    errno = 0;
    long long number = strtoll(*text, &end, 10);
    int is_one = end != *text && errno == 0 && number >= least && number <= most;
    *text = end;
    return is_one ? 0 : -1;
}

const char *offbeat_command_fault(const offbeat_command *command) {
    static char why[160];
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        const char *text = offbeat_command_text(command, numbers[i].key, NULL);
        int is_sound = !text || take_number(&text, numbers[i].least, numbers[i].most) == 0;
        while (is_sound && text && *text == ',' && numbers[i].is_list) {
            text++;
            is_sound = take_number(&text, numbers[i].least, numbers[i].most) == 0;
        }
        if (is_sound && (!text || !*text))
            continue;
        snprintf(why, sizeof why, "%s must be %s from %lld to %lld", numbers[i].key,
                 numbers[i].is_list ? "whole numbers, separated by commas, each" : "a whole number",
                 (long long)numbers[i].least, (long long)numbers[i].most);
        return why;
    }
    return NULL;
}

int64_t offbeat_command_number(const offbeat_command *command, const char *key, int64_t otherwise) {
    const char *text = offbeat_command_text(command, key, NULL);
    return text ? strtoll(text, NULL, 10) : otherwise;
}

int64_t offbeat_command_listed(const offbeat_command *command, const char *key, int index) {
    const char *text = offbeat_command_text(command, key, NULL);
    for (; text && index > 0; index--) {
        text = strchr(text, ',');
        if (text)
            text++;
    }
    return text ? strtoll(text, NULL, 10) : 0;
}

int offbeat_command_entries(const offbeat_command *command, const char *key) {
    const char *text = offbeat_command_text(command, key, NULL);
    int entries = text && *text ? 1 : 0;
    for (; entries && *text; text++)
        entries += *text == ',';
    return entries;
}

void offbeat_command_free(offbeat_command *command) {
    free(command->words);
    *command = (offbeat_command){.verb = ""};
}
