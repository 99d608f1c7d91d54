/* SPDX-License-Identifier: BSD-3-Clause */
/** @file command_test.c  A line of the worklist is taken apart as it was written. */
#define _GNU_SOURCE
#include "benchmark/command.h"

#include <stdio.h>
#include <string.h>

static int failures;

static void expect(int holds, const char *sentence) {
    if (holds)
        return;
    fprintf(stderr, "command_test: not true: %s\n", sentence);
    failures++;
}

static void words_are_found(void) {
    char line[] = "measure  collective=reduce bytes=1048576 op=sum delays=0,15,3 empty=\n";
    offbeat_command command;
    expect(offbeat_command_parse(line, &command) == 0, "a line parses");
    expect(strcmp(command.verb, "measure") == 0 && command.count == 5, "the verb and every word are there");
    expect(strcmp(offbeat_command_text(&command, "collective", "?"), "reduce") == 0,
           "a text is found by its key");
    expect(offbeat_command_number(&command, "bytes", 0) == 1048576, "a number is found by its key");
    expect(offbeat_command_number(&command, "byte", 5) == 5, "a key is not found by its beginning");
    expect(strcmp(offbeat_command_text(&command, "empty", "?"), "") == 0, "an empty text is a text");
    expect(offbeat_command_listed(&command, "delays", 1) == 15, "a list is read by index");
    expect(offbeat_command_listed(&command, "delays", 2) == 3, "the last number of a list is read");
    expect(offbeat_command_listed(&command, "delays", 3) == 0, "a list that is too short gives 0");
    expect(offbeat_command_entries(&command, "delays") == 3, "the numbers of a list are counted");
    expect(offbeat_command_entries(&command, "empty") == 0, "an empty list has no numbers");
    expect(offbeat_command_entries(&command, "senders") == 0, "a list that is missing has no numbers");
    offbeat_command_free(&command);
}

static void nothing_is_no_verb(void) {
    char lines[][8] = {"", "\n", "   \n"};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        offbeat_command command;
        expect(offbeat_command_parse(lines[i], &command) == 0, "an empty line parses");
        expect(command.verb[0] == '\0' && command.count == 0, "an empty line has no verb");
        offbeat_command_free(&command);
    }
}

/* What offbeat_command_fault says of a line with one more word. */
static const char *fault_of(const char *word) {
    char line[256];
    offbeat_command command;
    snprintf(line, sizeof line, "measure collective=reduce %s\r\n", word);
    expect(offbeat_command_parse(line, &command) == 0, "a line parses");
    const char *why = offbeat_command_fault(&command);
    offbeat_command_free(&command);
    return why;
}

static void numbers_must_be_numbers(void) {
    static const char *const sound[] = {"",       "bytes=8", "delays=0", "delays=0,15,1000000000",
                                        "root=0", "op=12x"};
    static const char *const wrong[] = {
        "bytes=",
        "bytes=8k",
        "bytes=1e3",
        "bytes=-8",
        "bytes=99999999999999999999",
        "root=4294967296",
        "repetitions=0",
        "attempts=-1",
        "most=0",
        "delay_ns=0",
        "delays=",
        "delays=1,,2",
        "delays=1,2,",
        "delays=5,-1",
        "delays=1;2",
        "delays=0,9223372036854775807",
        "senders=0,x",
        "messages=0",
        "from=-1",
        "members=0,,1",
        "in_place=2",
    };
    for (size_t i = 0; i < sizeof sound / sizeof *sound; i++)
        expect(fault_of(sound[i]) == NULL, sound[i]);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        const char *why = fault_of(wrong[i]);
        size_t key = strcspn(wrong[i], "=");
        expect(why && strncmp(why, wrong[i], key) == 0 && why[key] == ' ', wrong[i]);
    }
}

int main(void) {
    words_are_found();
    nothing_is_no_verb();
    numbers_must_be_numbers();
    return failures ? 1 : 0;
}
