/* SPDX-License-Identifier: BSD-3-Clause */
/** @file command.c  Parsing a line of the worklist. */
#define _GNU_SOURCE
#include "benchmark/command.h"

#include <stdlib.h>
#include <string.h>

int offbeat_command_parse(char *line, offbeat_command *command) {
    *command = (offbeat_command){.verb = ""};
    command->words = malloc((strlen(line) / 2 + 1) * sizeof *command->words);
    if (!command->words)
        return -1;
    char *rest = NULL;
    const char *verb = strtok_r(line, " \n", &rest);
    if (verb)
        command->verb = verb;
    for (char *word; (word = strtok_r(NULL, " \n", &rest));)
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

void offbeat_command_free(offbeat_command *command) {
    free(command->words);
    *command = (offbeat_command){.verb = ""};
}
