/* SPDX-License-Identifier: BSD-3-Clause */
#include "protocol/answer.h"

#include <stdlib.h>
#include <string.h>

void offbeat_json_text(const char *text, FILE *out) {
    fputc('"', out);
    for (const unsigned char *c = (const unsigned char *)text; *c; c++) {
        if (*c == '"' || *c == '\\')
            fprintf(out, "\\%c", *c);
        else if (*c == '\n')
            fputs("\\n", out);
        else if (*c < 0x20)
            fprintf(out, "\\u%04x", *c);
        else
            fputc(*c < 0x7F ? *c : '?', out);
    }
    fputc('"', out);
}

static void abort_on_key(const offbeat_answer *answer, const char *key, const char *fault) {
    fprintf(stderr, "offbeat: the key '%s' of the answer to '%s' %s\n", key, answer->verb->name, fault);
    abort();
}

void offbeat_answer_failure(offbeat_answer *answer, const char *why) {
    if (!answer->out)
        return;
    fputs("@offbeat {\"ok\":false,\"why\":", answer->out);
    offbeat_json_text(why, answer->out);
    fputs("}\n", answer->out);
    fflush(answer->out);
}

void offbeat_answer_begin(offbeat_answer *answer, const offbeat_verb *verb) {
    answer->verb = verb;
    answer->written = 0;
    if (answer->out)
        fputs("@offbeat {\"ok\":true", answer->out);
}

FILE *offbeat_answer_key_of(offbeat_answer *answer, const char *key, offbeat_type type) {
    if (!answer->out)
        return NULL;
    const offbeat_answer_key *listed = answer->verb->answers;
    while (listed->name && strcmp(listed->name, key) != 0)
        listed++;
    unsigned bit = 1U << (listed - answer->verb->answers);
    if (!listed->name || listed->type != type || (answer->written & bit))
        abort_on_key(answer, key, "is unknown, of another type, or written twice");
    answer->written |= bit;
    fprintf(answer->out, ",\"%s\":", key);
    return answer->out;
}

void offbeat_answer_number(offbeat_answer *answer, const char *key, int64_t value) {
    FILE *out = offbeat_answer_key_of(answer, key, OFFBEAT_NUMBER);
    if (out)
        fprintf(out, "%lld", (long long)value);
}

void offbeat_answer_flag(offbeat_answer *answer, const char *key, int value) {
    FILE *out = offbeat_answer_key_of(answer, key, OFFBEAT_FLAG);
    if (out)
        fputs(value ? "true" : "false", out);
}

void offbeat_answer_text(offbeat_answer *answer, const char *key, const char *text) {
    FILE *out = offbeat_answer_key_of(answer, key, OFFBEAT_TEXT);
    if (out)
        offbeat_json_text(text, out);
}

/* '[' before the first value of a list, ',' before the others. */
static void separate(size_t index, FILE *out) {
    fputc(index ? ',' : '[', out);
}

static void end_list(size_t count, FILE *out) {
    fputs(count ? "]" : "[]", out);
}

void offbeat_answer_texts(offbeat_answer *answer, const char *key, const char *const *texts, size_t count) {
    FILE *out = offbeat_answer_key_of(answer, key, OFFBEAT_TEXTS);
    if (!out)
        return;
    for (size_t i = 0; i < count; i++) {
        separate(i, out);
        offbeat_json_text(texts[i], out);
    }
    end_list(count, out);
}

void offbeat_answer_numbers(offbeat_answer *answer, const char *key, const int64_t *values, size_t count) {
    FILE *out = offbeat_answer_key_of(answer, key, OFFBEAT_NUMBERS);
    if (!out)
        return;
    for (size_t i = 0; i < count; i++) {
        separate(i, out);
        fprintf(out, "%lld", (long long)values[i]);
    }
    end_list(count, out);
}

void offbeat_answer_time(offbeat_answer *answer, const char *key, double value_s) {
    FILE *out = offbeat_answer_key_of(answer, key, OFFBEAT_TIME);
    if (out)
        fprintf(out, "%.17g", value_s);
}

void offbeat_answer_times(offbeat_answer *answer, const char *key, const double *values_s, size_t count) {
    FILE *out = offbeat_answer_key_of(answer, key, OFFBEAT_TIMES);
    if (!out)
        return;
    for (size_t i = 0; i < count; i++) {
        separate(i, out);
        fprintf(out, "%.17g", values_s[i]);
    }
    end_list(count, out);
}

void offbeat_answer_end(offbeat_answer *answer) {
    if (!answer->out)
        return;
    const offbeat_answer_key *keys = answer->verb->answers;
    for (int i = 0; keys[i].name; i++)
        if (!keys[i].is_optional && !(answer->written & (1U << i)))
            abort_on_key(answer, keys[i].name, "is missing");
    fputs("}\n", answer->out);
    fflush(answer->out);
}
