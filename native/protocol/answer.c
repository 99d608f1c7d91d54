/* SPDX-License-Identifier: BSD-3-Clause */
#include "protocol/answer.h"

#include <stdlib.h>
#include <string.h>

void offbeat_json_text(const char *text, FILE *stream) {
    fputc('"', stream);
    for (const unsigned char *c = (const unsigned char *)text; *c; c++) {
        if (*c == '"' || *c == '\\')
            fprintf(stream, "\\%c", *c);
        else if (*c == '\n')
            fputs("\\n", stream);
        else if (*c < 0x20)
            fprintf(stream, "\\u%04x", *c);
        else
            fputc(*c < 0x7F ? *c : '?', stream);
    }
    fputc('"', stream);
}

static void abort_on_key(const offbeat_answer *answer, const char *key, const char *fault) {
    fprintf(stderr, "offbeat: the key '%s' of the answer to '%s' %s\n", key, answer->verb->name, fault);
    abort();
}

void offbeat_answer_failure(offbeat_answer *answer, const char *why) {
    if (!answer->stream)
        return;
    fputs("@offbeat {\"ok\":false,\"why\":", answer->stream);
    offbeat_json_text(why, answer->stream);
    fputs("}\n", answer->stream);
    fflush(answer->stream);
}

void offbeat_answer_begin(offbeat_answer *answer, const offbeat_verb *verb) {
    answer->verb = verb;
    answer->written_keys = 0;
    if (answer->stream)
        fputs("@offbeat {\"ok\":true", answer->stream);
}

FILE *offbeat_answer_key_of(offbeat_answer *answer, const char *key, offbeat_type type) {
    if (!answer->stream)
        return NULL;
    const offbeat_answer_key *answer_key = answer->verb->answers;
    while (answer_key->name && strcmp(answer_key->name, key) != 0)
        answer_key++;
    unsigned bit = 1U << (answer_key - answer->verb->answers);
    if (!answer_key->name || answer_key->type != type || (answer->written_keys & bit))
        abort_on_key(answer, key, "is unknown, of another type, or written twice");
    answer->written_keys |= bit;
    fprintf(answer->stream, ",\"%s\":", key);
    return answer->stream;
}

void offbeat_answer_number(offbeat_answer *answer, const char *key, int64_t value) {
    FILE *stream = offbeat_answer_key_of(answer, key, OFFBEAT_NUMBER);
    if (stream)
        fprintf(stream, "%lld", (long long)value);
}

void offbeat_answer_flag(offbeat_answer *answer, const char *key, int value) {
    FILE *stream = offbeat_answer_key_of(answer, key, OFFBEAT_FLAG);
    if (stream)
        fputs(value ? "true" : "false", stream);
}

void offbeat_answer_text(offbeat_answer *answer, const char *key, const char *text) {
    FILE *stream = offbeat_answer_key_of(answer, key, OFFBEAT_TEXT);
    if (stream)
        offbeat_json_text(text, stream);
}

/* '[' before the first value of a list, ',' before the others. */
static void separate(size_t index, FILE *stream) {
    fputc(index ? ',' : '[', stream);
}

static void end_list(size_t count, FILE *stream) {
    fputs(count ? "]" : "[]", stream);
}

void offbeat_answer_texts(offbeat_answer *answer, const char *key, const char *const *texts, size_t count) {
    FILE *stream = offbeat_answer_key_of(answer, key, OFFBEAT_TEXTS);
    if (!stream)
        return;
    for (size_t i = 0; i < count; i++) {
        separate(i, stream);
        offbeat_json_text(texts[i], stream);
    }
    end_list(count, stream);
}

void offbeat_answer_numbers(offbeat_answer *answer, const char *key, const int64_t *values, size_t count) {
    FILE *stream = offbeat_answer_key_of(answer, key, OFFBEAT_NUMBERS);
    if (!stream)
        return;
    for (size_t i = 0; i < count; i++) {
        separate(i, stream);
        fprintf(stream, "%lld", (long long)values[i]);
    }
    end_list(count, stream);
}

void offbeat_answer_time(offbeat_answer *answer, const char *key, double value_s) {
    FILE *stream = offbeat_answer_key_of(answer, key, OFFBEAT_TIME);
    if (stream)
        fprintf(stream, "%.17g", value_s);
}

void offbeat_answer_times(offbeat_answer *answer, const char *key, const double *values_s, size_t count) {
    FILE *stream = offbeat_answer_key_of(answer, key, OFFBEAT_TIMES);
    if (!stream)
        return;
    for (size_t i = 0; i < count; i++) {
        separate(i, stream);
        fprintf(stream, "%.17g", values_s[i]);
    }
    end_list(count, stream);
}

void offbeat_answer_end(offbeat_answer *answer) {
    if (!answer->stream)
        return;
    const offbeat_answer_key *keys = answer->verb->answers;
    for (int i = 0; keys[i].name; i++)
        if (!keys[i].is_optional && !(answer->written_keys & (1U << i)))
            abort_on_key(answer, keys[i].name, "is missing");
    fputs("}\n", answer->stream);
    fflush(answer->stream);
}
