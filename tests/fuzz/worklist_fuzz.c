/* SPDX-License-Identifier: BSD-3-Clause */
/** @file worklist_fuzz.c  Damages the lines of a worklist and parses them, as the driver does; built with
 * sanitizers. */
#define _GNU_SOURCE
#include "benchmark/command.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/** A number from a linear congruential generator (Knuth's MMIX). */
static unsigned long long drawn(unsigned long long *state) {
    *state = *state * 6364136223846793005ULL + 1442695040888963407ULL;
    return *state >> 33;
}

/** Changes, repeats or removes a few bytes; the line keeps room for its end. @return its new length */
static size_t damage(char *line, size_t length, size_t room, unsigned long long *state) {
    static const char marks[] = "=,- \t09eE\n\r\377.";
    for (int left = (int)(drawn(state) % 4) + 1; left > 0; left--) {
        size_t at = length ? drawn(state) % length : 0;
        char mark = marks[drawn(state) % (sizeof marks - 1)];
        switch (drawn(state) % 4) {
        case 0:
            if (length)
                line[at] = mark;
            break;
        case 1:
            if (length)
                line[at] = (char)(drawn(state) % 255 + 1);
            break;
        case 2:
            for (size_t more = drawn(state) % 40; more > 0 && length + 1 < room; more--)
                line[length++] = mark;
            break;
        default:
            length = at;
        }
    }
    line[length] = '\0';
    return length;
}

/** Reads everything of a command, as the verbs do. */
static long long use(char *line) {
    static const char *const keys[] = {"collective", "bytes", "delays", "senders", "ages", "call", ""};
    offbeat_command command;
    long long sum = 0;
    if (offbeat_command_parse(line, &command))
        return 0;
    if (!offbeat_command_fault(&command))
        for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
            sum += (long long)strlen(offbeat_command_text(&command, keys[i], ""));
            sum ^= offbeat_command_number(&command, keys[i], 3);
            sum ^= offbeat_command_listed(&command, keys[i], offbeat_command_entries(&command, keys[i]) - 1);
        }
    offbeat_command_free(&command);
    return sum;
}

/** Arguments: a file of sound lines, the seed, the number of attempts. */
int main(int argc, char **argv) {
    enum { ROOM = 4096, LINES = 64 };
    static char lines[LINES][ROOM];
    FILE *file = argc == 4 ? fopen(argv[1], "r") : NULL;
    if (!file)
        return 2;
    int count = 0;
    while (count < LINES && fgets(lines[count], ROOM, file))
        count++;
    fclose(file);
    unsigned long long state = strtoull(argv[2], NULL, 10);
    long long sum = 0;
    for (long attempt = strtol(argv[3], NULL, 10); attempt > 0 && count; attempt--) {
        char *line = malloc(ROOM);
        if (!line)
            return 2;
        size_t length = (size_t)(stpcpy(line, lines[drawn(&state) % (unsigned long long)count]) - line);
        damage(line, length, ROOM, &state);
        sum ^= use(line);
        free(line);
    }
    printf("%lld\n", sum);
    return 0;
}
