/* SPDX-License-Identifier: BSD-3-Clause */
/** @file command_test.c  Tests of the parser of worklist lines and of the answers. */
#define _GNU_SOURCE
#include "protocol/answer.h"
#include "protocol/command.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failures;

static void expect(int condition, const char *claim) {
    if (condition)
        return;
    fprintf(stderr, "command_test: failed: %s\n", claim);
    failures++;
}

static void values_are_found_by_key(void) {
    char line[] = "measure  collective=reduce bytes=1048576 op=sum delays=0,15,3 sequence=\n";
    offbeat_command command;
    expect(!offbeat_command_parse(line, 1, OFFBEAT_DRIVER, &command), "a line parses");
    expect(strcmp(command.verb->name, "measure") == 0 && command.count == 5,
           "the verb and all arguments are parsed");
    expect(strcmp(offbeat_command_text(&command, "collective"), "reduce") == 0, "a text is found by its key");
    expect(offbeat_command_number(&command, "bytes") == 1048576, "a number is found by its key");
    expect(offbeat_command_number(&command, "repetitions") == 1, "a missing key has its default");
    expect(offbeat_command_number_or(&command, "duration_ns", 5) == 5, "a key may have no default");
    expect(strcmp(offbeat_command_text(&command, "datatype"), "double") == 0, "a text has a default, too");
    expect(strcmp(offbeat_command_text(&command, "sequence"), "") == 0, "a value may be empty");
    expect(offbeat_command_list_item(&command, "delays", 1) == 15, "a list is read by index");
    expect(offbeat_command_list_item(&command, "delays", 2) == 3, "the last number of a list is read");
    expect(offbeat_command_list_item(&command, "delays", 3) == 0, "an index after the end of a list gives 0");
    expect(offbeat_command_list_length(&command, "delays") == 3, "a list has a length");
    offbeat_command_free(&command);
}

static void times_are_read_and_filled_with_zeros(void) {
    char line[] = "run collective=reduce delays=0,1.5e-6";
    offbeat_command command;
    double times_s[3] = {7, 7, 7};
    expect(!offbeat_command_parse(line, 1, OFFBEAT_SMPI, &command), "a line for SMPI parses");
    expect(offbeat_command_list_length(&command, "delays") == 2, "a list of times has a length");
    offbeat_command_times(&command, "delays", times_s, 3);
    expect(times_s[0] == 0 && times_s[1] == 1.5e-6 && times_s[2] == 0, "missing times are 0");
    offbeat_command_free(&command);
}

/* The error of a line: static storage; "" if it has none. */
static const char *error_of(const char *text, offbeat_program program) {
    char line[512];
    offbeat_command command;
    snprintf(line, sizeof line, "%s\r\n", text);
    const char *why = offbeat_command_parse(line, 3, program, &command);
    offbeat_command_free(&command);
    return why ? why : "";
}

static void invalid_values_are_refused_by_key(void) {
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
        "delays=",
        "delays=1,,2",
        "delays=1,2,",
        "delays=5,-1",
        "delays=1;2",
        "delays=0,9223372036854775807",
        "call=x",
        "unrecorded=-1",
    };
    char line[128], expected_error[64];
    for (size_t i = 0; i < sizeof valid / sizeof *valid; i++) {
        snprintf(line, sizeof line, "measure collective=reduce %s", valid[i]);
        expect(!*error_of(line, OFFBEAT_DRIVER), valid[i]);
    }
    for (size_t i = 0; i < sizeof invalid / sizeof *invalid; i++) {
        snprintf(line, sizeof line, "measure collective=reduce %s", invalid[i]);
        snprintf(expected_error, sizeof expected_error, "line 3: measure: %.*s must be ",
                 (int)strcspn(invalid[i], "="), invalid[i]);
        expect(strncmp(error_of(line, OFFBEAT_DRIVER), expected_error, strlen(expected_error)) == 0,
               invalid[i]);
    }
}

static void every_other_fault_has_its_sentence(void) {
    static const struct {
        const char *line;
        offbeat_program program;
        const char *why;
    } faults[] = {
        {"", OFFBEAT_DRIVER, "line 3: unknown command ''; known are force, variables, check"},
        {"run collective=reduce", OFFBEAT_DRIVER, "line 3: unknown command 'run'; known are force"},
        {"dance", OFFBEAT_SMPI,
         "line 3: unknown command 'dance'; known are run, check, algorithms, hello, quit"},
        {"measure bytes=8", OFFBEAT_DRIVER, "line 3: measure needs the key collective"},
        {"hello p=3", OFFBEAT_DRIVER, "line 3: hello has no key 'p'"},
        {"local byte=8", OFFBEAT_DRIVER, "line 3: local has no key 'byte'"},
        {"local bytes=8 bytes=9", OFFBEAT_DRIVER, "line 3: local has the key bytes twice"},
        {"local bytes", OFFBEAT_DRIVER, "line 3: an argument of local has the form key=value, not 'bytes'"},
        {"force =5", OFFBEAT_DRIVER, "line 3: an argument of force has the form key=value, not '=5'"},
        {"local work=", OFFBEAT_DRIVER, "line 3: local: work must be reduce or copy, not ''"},
        {"check collective=bcast counts=odd", OFFBEAT_DRIVER,
         "line 3: check: counts must be even, uneven, reversed or none, not 'odd'"},
        {"check collective=bcast counts=eve", OFFBEAT_DRIVER, "line 3: check: counts must be even"},
        {"run collective=scan delays=1,-2", OFFBEAT_SMPI,
         "line 3: run: delays must be seconds, separated by commas, each from 0 to 1000000, not '1,-2'"},
        {"run collective=scan delays=nan", OFFBEAT_SMPI, "line 3: run: delays must be seconds"},
        {"run collective=scan delays=0x10", OFFBEAT_SMPI, "line 3: run: delays must be seconds"},
    };
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
        expect(strncmp(error_of(faults[i].line, faults[i].program), faults[i].why, strlen(faults[i].why)) ==
                   0,
               faults[i].why);
    expect(!*error_of("force any=5 bytes=x", OFFBEAT_DRIVER), "force takes variables of any name");
}

/* A default that the parser would refuse could not be written by a user. */
static void every_default_is_valid(void) {
    char line[256];
    for (const offbeat_verb *verb = offbeat_verbs; verb->name; verb++)
        for (const offbeat_key *key = verb->keys; key && key->name; key++) {
            snprintf(line, sizeof line, "%s %s=%s", verb->name, key->name, key->default_value);
            const char *why = key->default_value ? error_of(line, verb->program) : "";
            expect(!*why || strstr(why, "needs the key"), why);
        }
}

static void answers_are_json(void) {
    char *text = NULL;
    size_t size = 0;
    offbeat_answer answer = {.stream = open_memstream(&text, &size)};
    const double times_s[] = {0, 0.1};
    const offbeat_verb *verb = offbeat_verbs;
    while (verb->program != OFFBEAT_SMPI)
        verb++;
    offbeat_answer_begin(&answer, verb);
    offbeat_answer_time(&answer, "cpu_s", 0.5);
    offbeat_answer_times(&answer, "arrivals", times_s, 2);
    offbeat_answer_times(&answer, "exits", times_s, 0);
    offbeat_answer_end(&answer);
    offbeat_answer_failure(&answer, "a \"b\"\\\n\t\x01\xC3");
    fclose(answer.stream);
    expect(strcmp(text,
                  "@offbeat {\"ok\":true,\"cpu_s\":0.5,\"arrivals\":[0,0.10000000000000001],\"exits\":[]}\n"
                  "@offbeat {\"ok\":false,\"why\":\"a \\\"b\\\"\\\\\\n\\u0009\\u0001?\"}\n") == 0,
           "answers are lines of JSON");
    free(text);
}

int main(void) {
    values_are_found_by_key();
    times_are_read_and_filled_with_zeros();
    invalid_values_are_refused_by_key();
    every_other_fault_has_its_sentence();
    every_default_is_valid();
    answers_are_json();
    return failures ? 1 : 0;
}
