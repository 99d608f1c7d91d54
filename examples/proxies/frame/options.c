/* SPDX-License-Identifier: BSD-3-Clause */
#include "frame/options.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Characters of the word at the beginning of a list of words. */
static size_t word_length(const char *words) {
    return strcspn(words, "|");
}

/* @return the word after this one; NULL if this one is the last */
static const char *next_word(const char *word) {
    const char *end = word + word_length(word);
    return *end ? end + 1 : NULL;
}

static int read_number(const option *o, const char *text, char *why, size_t bytes) {
    char *end;
    errno = 0;
    const double number = strtod(text, &end);
    const int is_whole = o->kind == OPTION_INTEGER;
    if (end == text || *end != '\0' || errno != 0 || !(number >= o->lowest && number <= o->highest) ||
        (is_whole && number != floor(number))) {
        snprintf(why, bytes, "%s must be a %snumber from %.15g to %.15g, not '%.40s'", o->name,
                 is_whole ? "whole " : "", o->lowest, o->highest, text);
        return -1;
    }
    if (is_whole)
        *(int *)o->value = (int)number;
    else
        *(double *)o->value = number;
    return 0;
}

static int read_choice(const option *o, const char *text, char *why, size_t bytes) {
    int place = 0;
    for (const char *word = o->words; word; word = next_word(word), place++)
        if (strlen(text) == word_length(word) && strncmp(word, text, word_length(word)) == 0) {
            *(int *)o->value = place;
            return 0;
        }
    snprintf(why, bytes, "%s must be one of %s, not '%.40s'", o->name, o->words, text);
    return -1;
}

static const option *find(const option *table, const char *argument) {
    const size_t length = strcspn(argument, "=");
    for (const option *o = table; o->name; o++)
        if (strlen(o->name) == length && strncmp(o->name, argument, length) == 0)
            return o;
    return NULL;
}

/* Reads one option, and its value behind '=' or in the next argument. @return how many arguments that were,
 * or -1 */
static int read_option(const option *table, char **arguments, char *why, size_t bytes) {
    const option *o = find(table, arguments[0]);
    const char *joined = strchr(arguments[0], '=');
    const char *value = joined ? joined + 1 : arguments[1];
    if (!o)
        snprintf(why, bytes, "there is no option '%.40s'; see --help", arguments[0]);
    else if (o->kind == OPTION_FLAG && joined)
        snprintf(why, bytes, "%s takes no value", o->name);
    else if (o->kind == OPTION_FLAG) {
        *(int *)o->value = 1;
        return 1;
    } else if (!value)
        snprintf(why, bytes, "%s needs a value", o->name);
    else if ((o->kind == OPTION_CHOICE ? read_choice : read_number)(o, value, why, bytes) == 0)
        return joined ? 1 : 2;
    return -1;
}

int options_read(const option *table, int argc, char **argv, char *why, size_t bytes) {
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], "--help") == 0)
            return 1;
    for (int i = 1; i < argc;) {
        const int used = read_option(table, argv + i, why, bytes);
        if (used < 0)
            return -1;
        i += used;
    }
    return 0;
}

/* The value as a person or, in quotes where needed, JSON writes it. */
static void print_value(const option *o, const char *quote, FILE *out) {
    if (o->kind == OPTION_REAL) {
        fprintf(out, "%.15g", *(const double *)o->value);
    } else if (o->kind == OPTION_CHOICE) {
        const char *word = o->words;
        for (int place = *(const int *)o->value; place > 0; place--)
            word = next_word(word);
        fprintf(out, "%s%.*s%s", quote, (int)word_length(word), word, quote);
    } else
        fprintf(out, "%d", *(const int *)o->value);
}

void options_print_help(const option *table, FILE *out) {
    for (const option *o = table; o->name; o++) {
        static const char *const values[] = {" N", " X", " WORD", ""};
        char left[40];
        snprintf(left, sizeof left, "%s%s", o->name, values[o->kind]);
        fprintf(out, "  %-22s %s", left, o->meaning);
        if (o->words)
            fprintf(out, ": %s", o->words);
        if (o->kind != OPTION_FLAG) {
            fputs(" [", out);
            print_value(o, "", out);
            fputc(']', out);
        }
        fputc('\n', out);
    }
    fputs("  --help                 print this text\n", out);
}

void options_write_json(const option *table, FILE *out) {
    const char *separator = "{";
    for (const option *o = table; o->name; o++, separator = ", ") {
        fprintf(out, "%s\"%s\": ", separator, o->name + strlen("--"));
        print_value(o, "\"", out);
    }
    fputc('}', out);
}
