/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "protocol/command.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define BLANKS " \t\r\n"

/* The error message, which begins with the line and the verb. */
typedef struct fault {
    char text[512];
    size_t used_bytes;
} fault;

__attribute__((format(printf, 2, 3))) static void say(fault *why, const char *format, ...) {
    va_list values;
    va_start(values, format);
    int more = vsnprintf(why->text + why->used_bytes, sizeof why->text - why->used_bytes, format, values);
    va_end(values);
    why->used_bytes += more > 0 ? (size_t)more : 0;
    if (why->used_bytes >= sizeof why->text)
        why->used_bytes = sizeof why->text - 1;
}

/* --- values ----------------------------------------------------------------------------------------------
 */

/* Parses one number and advances @p text. @return whether it is a number in the key's range */
static int parse_number(const char **text, const offbeat_key *key) {
    char *end;
    errno = 0;
    long long number = strtoll(*text, &end, 10);
    int is_valid = end != *text && errno == 0 && number >= key->minimum && number <= key->maximum;
    *text = end;
    return is_valid;
}

/* Parses one decimal fraction and advances @p text. Other forms that strtod accepts, such as "inf", are
 * invalid.
 * @return whether it is a fraction in the key's range */
static int parse_time(const char **text, const offbeat_key *key) {
    char *end;
    double value = strtod(*text, &end);
    int is_valid = end != *text && value >= (double)key->minimum && value <= (double)key->maximum &&
                   strspn(*text, "0123456789.eE+-") >= (size_t)(end - *text);
    *text = end;
    return is_valid;
}

static int is_choice(const char *text, const char *choices) {
    size_t length = strlen(text);
    for (const char *choice = choices; *choice; choice += strspn(choice, " ")) {
        if (strcspn(choice, " ") == length && strncmp(choice, text, length) == 0)
            return 1;
        choice += strcspn(choice, " ");
    }
    return 0;
}

static int is_list(const offbeat_key *key) {
    return key->type == OFFBEAT_NUMBERS || key->type == OFFBEAT_TIMES;
}

static int is_valid_value(const char *text, const offbeat_key *key) {
    if (key->type == OFFBEAT_TEXT)
        return !key->choices || is_choice(text, key->choices);
    int (*parse)(const char **, const offbeat_key *) = key->type == OFFBEAT_TIMES ? parse_time : parse_number;
    int is_valid = parse(&text, key);
    while (is_valid && *text == ',' && is_list(key)) {
        text++;
        is_valid = parse(&text, key);
    }
    return is_valid && !*text;
}

/* "even, uneven or none" for "even uneven none". */
static void say_choices(fault *why, const char *choices) {
    while (*choices) {
        size_t length = strcspn(choices, " ");
        const char *next = choices + length + (choices[length] == ' ');
        say(why, "%.*s%s", (int)length, choices, !*next ? "" : strchr(next, ' ') ? ", " : " or ");
        choices = next;
    }
}

static void say_allowed_values(fault *why, const offbeat_key *key) {
    static const char *const type_names[] = {
        [OFFBEAT_NUMBER] = "a whole number",
        [OFFBEAT_NUMBERS] = "whole numbers, separated by commas, each",
        [OFFBEAT_TIMES] = "seconds, separated by commas, each",
    };
    say(why, "%s must be ", key->name);
    if (key->choices)
        say_choices(why, key->choices);
    else
        say(why, "%s from %lld to %lld", type_names[key->type], (long long)key->minimum,
            (long long)key->maximum);
}

/* --- commands --------------------------------------------------------------------------------------------
 */

/* Finds the verb, or says which there are. */
static const offbeat_verb *find_verb(const char *name, offbeat_program program, fault *why) {
    for (const offbeat_verb *verb = offbeat_verbs; verb->name; verb++)
        if (verb->program == program && strcmp(verb->name, name) == 0)
            return verb;
    say(why, "unknown command '%.40s'; known are", name);
    const char *separator = " ";
    for (const offbeat_verb *verb = offbeat_verbs; verb->name; verb++)
        if (verb->program == program) {
            say(why, "%s%s", separator, verb->name);
            separator = ", ";
        }
    return NULL;
}

/* The value of a key in the command; NULL if it is not there. */
static const char *value_in_command(const offbeat_command *command, const char *key) {
    size_t length = strlen(key);
    for (int i = 0; i < command->count; i++)
        if (strncmp(command->arguments[i], key, length) == 0 && command->arguments[i][length] == '=')
            return command->arguments[i] + length + 1;
    return NULL;
}

/* Checks an argument against the verb's keys. @return whether it is valid */
static int check_argument(const offbeat_command *command, char *argument, fault *why) {
    char *equals = strchr(argument, '=');
    if (!equals || equals == argument)
        return say(why, "an argument of %s has the form key=value, not '%.40s'", command->verb->name,
                   argument),
               0;
    if (!command->verb->keys)
        return 1;
    *equals = '\0';
    const offbeat_key *key = offbeat_verb_key(command->verb, argument);
    if (!key)
        say(why, "%s has no key '%.40s'", command->verb->name, argument);
    *equals = '=';
    if (!key)
        return 0;
    if (value_in_command(command, key->name) != equals + 1)
        return say(why, "%s has the key %s twice", command->verb->name, key->name), 0;
    if (is_valid_value(equals + 1, key))
        return 1;
    say(why, "%s: ", command->verb->name);
    say_allowed_values(why, key);
    say(why, ", not '%.40s'", equals + 1);
    return 0;
}

static int check_required_keys(const offbeat_command *command, fault *why) {
    for (const offbeat_key *key = command->verb->keys; key && key->name; key++)
        if (offbeat_key_is_required(key) && !value_in_command(command, key->name))
            return say(why, "%s needs the key %s", command->verb->name, key->name), 0;
    return 1;
}

/* Splits the line. @return the name of the verb, "" for an empty line */
static const char *split(char *line, offbeat_command *command) {
    char *strtok_state = NULL;
    const char *name = strtok_r(line, BLANKS, &strtok_state);
    for (char *argument; (argument = strtok_r(NULL, BLANKS, &strtok_state));)
        command->arguments[command->count++] = argument;
    return name ? name : "";
}

const char *offbeat_command_parse(char *line, long number, offbeat_program program,
                                  offbeat_command *command) {
    static fault why;
    why.used_bytes = 0;
    say(&why, "line %ld: ", number);
    *command = (offbeat_command){.arguments = malloc((strlen(line) / 2 + 1) * sizeof(char *))};
    if (!command->arguments) { /* other processes may have memory, and would wait for this one */
        fputs("offbeat: no memory for a command\n", stderr);
        abort();
    }
    const char *name = split(line, command);
    command->verb = find_verb(name, program, &why);
    int is_valid = command->verb != NULL;
    for (int i = 0; i < command->count && is_valid; i++)
        is_valid = check_argument(command, command->arguments[i], &why);
    return is_valid && check_required_keys(command, &why) ? NULL : why.text;
}

void offbeat_command_free(offbeat_command *command) {
    free(command->arguments);
    *command = (offbeat_command){0};
}

/* --- reading ---------------------------------------------------------------------------------------------
 */

/* The value of a key, or its default; NULL if it has neither. Aborts if the verb has no such key. */
static const char *value_of(const offbeat_command *command, const char *name, offbeat_type type,
                            offbeat_type other_type) {
    const offbeat_key *key = offbeat_verb_key(command->verb, name);
    if (!key || (key->type != type && key->type != other_type)) {
        fprintf(stderr,
                "offbeat: the program reads the key '%s' of '%s', which is unknown or of another type\n",
                name, command->verb->name);
        abort();
    }
    const char *value = value_in_command(command, name);
    return value ? value : key->default_value;
}

const char *offbeat_command_text(const offbeat_command *command, const char *key) {
    return value_of(command, key, OFFBEAT_TEXT, OFFBEAT_NUMBERS);
}

int64_t offbeat_command_number_or(const offbeat_command *command, const char *key, int64_t if_missing) {
    const char *text = value_of(command, key, OFFBEAT_NUMBER, OFFBEAT_NUMBER);
    return text ? strtoll(text, NULL, 10) : if_missing;
}

int64_t offbeat_command_number(const offbeat_command *command, const char *key) {
    return offbeat_command_number_or(command, key, 0);
}

int64_t offbeat_command_list_item(const offbeat_command *command, const char *key, int index) {
    const char *text = value_of(command, key, OFFBEAT_NUMBERS, OFFBEAT_NUMBERS);
    for (; text && index > 0; index--) {
        text = strchr(text, ',');
        if (text)
            text++;
    }
    return text ? strtoll(text, NULL, 10) : 0;
}

int offbeat_command_list_length(const offbeat_command *command, const char *key) {
    const char *text = value_of(command, key, OFFBEAT_NUMBERS, OFFBEAT_TIMES);
    int length = text && *text ? 1 : 0;
    for (; length && *text; text++)
        length += *text == ',';
    return length;
}

void offbeat_command_times(const offbeat_command *command, const char *key, double *values_s, size_t count) {
    const char *text = value_of(command, key, OFFBEAT_TIMES, OFFBEAT_TIMES);
    for (size_t i = 0; i < count; i++) {
        char *end = NULL;
        values_s[i] = text ? strtod(text, &end) : 0;
        text = text && *end == ',' ? end + 1 : NULL;
    }
}
