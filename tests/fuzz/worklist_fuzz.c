/* SPDX-License-Identifier: BSD-3-Clause */
/** @file worklist_fuzz.c  Parses damaged lines of a worklist, as the driver does; built with sanitizers. */
#define _GNU_SOURCE
#include "protocol/command.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/** A number from a linear congruential generator (Knuth's MMIX). */
static unsigned long long next_random(unsigned long long *state) {
    *state = *state * 6364136223846793005ULL + 1442695040888963407ULL;
    return *state >> 33;
}

/** Changes, inserts or removes a few bytes. @return the new length, less than the capacity */
static size_t damage(char *line, size_t length, size_t capacity, unsigned long long *state) {
    static const char marks[] = "=,- \t09eE\n\r\377.";
    for (int changes = (int)(next_random(state) % 4) + 1; changes > 0; changes--) {
        size_t at = length ? next_random(state) % length : 0;
        char mark = marks[next_random(state) % (sizeof marks - 1)];
        switch (next_random(state) % 4) {
        case 0:
            if (length)
                line[at] = mark;
            break;
        case 1:
            if (length)
                line[at] = (char)(next_random(state) % 255 + 1);
            break;
        case 2:
            for (size_t more = next_random(state) % 40; more > 0 && length + 1 < capacity; more--)
                line[length++] = mark;
            break;
        default:
            length = at;
        }
    }
    line[length] = '\0';
    return length;
}

/** Reads the value of a key as its type says, as the verbs do. */
static long long read_value(const offbeat_command *command, const offbeat_key *key) {
    double times_s[3];
    switch (key->type) {
    case OFFBEAT_NUMBER:
        return offbeat_command_number(command, key->name);
    case OFFBEAT_NUMBERS:
        return offbeat_command_list_item(command, key->name,
                                         offbeat_command_list_length(command, key->name) - 1);
    case OFFBEAT_TIMES:
        offbeat_command_times(command, key->name, times_s, 3);
        return (long long)times_s[0];
    default: {
        const char *text = offbeat_command_text(command, key->name);
        return text ? (long long)strlen(text) : -1;
    }
    }
}

/** Parses a line and reads its values. @return whether it is refused without a sentence */
static int parse(char *line, offbeat_program program, long long *sum) {
    offbeat_command command;
    const char *why = offbeat_command_parse(line, 7, program, &command);
    int is_silent = why && (strncmp(why, "line 7: ", 8) != 0 || !why[8]);
    for (const offbeat_key *key = why ? NULL : command.verb->keys; key && key->name; key++)
        *sum ^= read_value(&command, key);
    offbeat_command_free(&command);
    return is_silent;
}

/** Arguments: a file of valid lines, the seed, the number of damaged lines. */
int main(int argc, char **argv) {
    enum { LINE_BYTES = 4096, MAX_LINES = 64 };
    static char lines[MAX_LINES][LINE_BYTES];
    FILE *file = argc == 4 ? fopen(argv[1], "r") : NULL;
    if (!file)
        return 2;
    int count = 0;
    while (count < MAX_LINES && fgets(lines[count], LINE_BYTES, file))
        count++;
    fclose(file);
    unsigned long long state = strtoull(argv[2], NULL, 10);
    long long sum = 0;
    for (long attempt = strtol(argv[3], NULL, 10); attempt > 0 && count; attempt--) {
        char *line = malloc(LINE_BYTES);
        if (!line)
            return 2;
        size_t length = (size_t)(stpcpy(line, lines[next_random(&state) % (unsigned long long)count]) - line);
        damage(line, length, LINE_BYTES, &state);
        const unsigned program = next_random(&state) % 8;
        if (parse(line, program > 2 ? OFFBEAT_DRIVER : program ? OFFBEAT_SMPI : OFFBEAT_EXECUTOR, &sum))
            return 3;
        free(line);
    }
    printf("%lld\n", sum);
    return 0;
}
