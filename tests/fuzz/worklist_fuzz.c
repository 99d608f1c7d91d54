/* SPDX-License-Identifier: BSD-3-Clause */
/** @file worklist_fuzz.c  Parses damaged lines of a worklist, as the driver does; built with sanitizers. */
#define _GNU_SOURCE
#include "benchmark/command.h"

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

/** Reads the values of a command, as the verbs do. */
static long long read_values(char *line) {
    static const char *const keys[] = {"collective", "bytes", "delays", "senders", "ages", "call", ""};
    offbeat_command command;
    long long sum = 0;
    if (offbeat_command_parse(line, &command))
        return 0;
    if (!offbeat_command_error(&command))
        for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
            sum += (long long)strlen(offbeat_command_text(&command, keys[i], ""));
            sum ^= offbeat_command_number(&command, keys[i], 3);
            sum ^= offbeat_command_list_item(&command, keys[i],
                                             offbeat_command_list_length(&command, keys[i]) - 1);
        }
    offbeat_command_free(&command);
    return sum;
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
        sum ^= read_values(line);
        free(line);
    }
    printf("%lld\n", sum);
    return 0;
}
