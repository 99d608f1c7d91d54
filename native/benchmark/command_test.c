/* SPDX-License-Identifier: BSD-3-Clause */
/** @file command_test.c  Tests of the parser of worklist lines. */
#define _GNU_SOURCE
#include "benchmark/command.h"

#include <stdio.h>
#include <string.h>

static int failures;

static void expect(int condition, const char *claim) {
    if (condition)
        return;
    fprintf(stderr, "command_test: failed: %s\n", claim);
    failures++;
}

static void values_are_found_by_key(void) {
    char line[] = "measure  collective=reduce bytes=1048576 op=sum delays=0,15,3 empty=\n";
    offbeat_command command;
    expect(offbeat_command_parse(line, &command) == 0, "a line parses");
    expect(strcmp(command.verb, "measure") == 0 && command.count == 5,
           "the verb and all arguments are parsed");
    expect(strcmp(offbeat_command_text(&command, "collective", "?"), "reduce") == 0,
           "a text is found by its key");
    expect(offbeat_command_number(&command, "bytes", 0) == 1048576, "a number is found by its key");
    expect(offbeat_command_number(&command, "byte", 5) == 5, "a key is not found by its prefix");
    expect(strcmp(offbeat_command_text(&command, "empty", "?"), "") == 0, "a value may be empty");
    expect(offbeat_command_list_item(&command, "delays", 1) == 15, "a list is read by index");
    expect(offbeat_command_list_item(&command, "delays", 2) == 3, "the last number of a list is read");
    expect(offbeat_command_list_item(&command, "delays", 3) == 0, "an index after the end of a list gives 0");
    expect(offbeat_command_list_length(&command, "delays") == 3, "a list has a length");
    expect(offbeat_command_list_length(&command, "empty") == 0, "an empty list has the length 0");
    expect(offbeat_command_list_length(&command, "senders") == 0, "a missing list has the length 0");
    offbeat_command_free(&command);
}

static void empty_lines_have_no_verb(void) {
    char lines[][8] = {"", "\n", "   \n"};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        offbeat_command command;
        expect(offbeat_command_parse(lines[i], &command) == 0, "an empty line parses");
        expect(command.verb[0] == '\0' && command.count == 0, "an empty line has no verb");
        offbeat_command_free(&command);
    }
}

/* The error of a line with one more argument. */
static const char *error_with(const char *argument) {
    char line[256];
    offbeat_command command;
    snprintf(line, sizeof line, "measure collective=reduce %s\r\n", argument);
    expect(offbeat_command_parse(line, &command) == 0, "a line parses");
    const char *why = offbeat_command_error(&command);
    offbeat_command_free(&command);
    return why;
}

static void invalid_numbers_are_refused(void) {
    static const char *const valid[] = {"",       "bytes=8", "delays=0", "delays=0,15,1000000000",
                                        "root=0", "op=12x"};
    static const char *const invalid[] = {
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
    for (size_t i = 0; i < sizeof valid / sizeof *valid; i++)
        expect(error_with(valid[i]) == NULL, valid[i]);
    for (size_t i = 0; i < sizeof invalid / sizeof *invalid; i++) {
        const char *why = error_with(invalid[i]);
        size_t key = strcspn(invalid[i], "=");
        expect(why && strncmp(why, invalid[i], key) == 0 && why[key] == ' ', invalid[i]);
    }
}

int main(void) {
    values_are_found_by_key();
    empty_lines_have_no_verb();
    invalid_numbers_are_refused();
    return failures ? 1 : 0;
}
