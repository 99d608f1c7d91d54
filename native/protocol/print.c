/* SPDX-License-Identifier: BSD-3-Clause */
/** @file print.c  The table of verbs and keys as JSON, and what it says of one key. */
#include "protocol/answer.h"

#include <string.h>

const char *offbeat_type_name(offbeat_type type) {
    static const char *const names[] = {
        [OFFBEAT_NUMBER] = "number", [OFFBEAT_NUMBERS] = "numbers", [OFFBEAT_TIMES] = "times",
        [OFFBEAT_TEXT] = "text",     [OFFBEAT_TEXTS] = "texts",     [OFFBEAT_TIME] = "time",
        [OFFBEAT_FLAG] = "flag",     [OFFBEAT_ROWS] = "rows",       [OFFBEAT_VARIABLES] = "variables",
    };
    return names[type];
}

const offbeat_key *offbeat_verb_key(const offbeat_verb *verb, const char *name) {
    for (const offbeat_key *key = verb->keys; key && key->name; key++)
        if (strcmp(key->name, name) == 0)
            return key;
    return NULL;
}

int offbeat_key_is_required(const offbeat_key *key) {
    return !key->default_value && !key->if_missing;
}

static void print_text(const char *name, const char *text, FILE *stream) {
    fprintf(stream, ",\"%s\":", name);
    if (text)
        offbeat_json_text(text, stream);
    else
        fputs("null", stream);
}

static void print_key(const offbeat_key *key, FILE *stream) {
    fputs("{\"name\":", stream);
    offbeat_json_text(key->name, stream);
    print_text("type", offbeat_type_name(key->type), stream);
    fprintf(stream, ",\"minimum\":%lld,\"maximum\":%lld", (long long)key->minimum, (long long)key->maximum);
    print_text("choices", key->choices, stream);
    print_text("default", key->default_value, stream);
    print_text("if_missing", key->if_missing, stream);
    print_text("meaning", key->meaning, stream);
    fputc('}', stream);
}

static const char *const programs[] = {
    [OFFBEAT_DRIVER] = "driver",
    [OFFBEAT_SMPI] = "smpi",
    [OFFBEAT_EXECUTOR] = "executor",
};

static void print_verb(const offbeat_verb *verb, FILE *stream) {
    fputs("{\"program\":", stream);
    offbeat_json_text(programs[verb->program], stream);
    print_text("name", verb->name, stream);
    print_text("description", verb->description, stream);
    fputs(verb->keys ? ",\"settings\":false,\"keys\":[" : ",\"settings\":true,\"keys\":[", stream);
    for (const offbeat_key *key = verb->keys; key && key->name; key++) {
        if (key != verb->keys)
            fputc(',', stream);
        print_key(key, stream);
    }
    fputs("],\"answers\":[", stream);
    for (const offbeat_answer_key *key = verb->answers; key->name; key++) {
        fprintf(stream, "%s{\"name\":", key == verb->answers ? "" : ",");
        offbeat_json_text(key->name, stream);
        print_text("type", offbeat_type_name(key->type), stream);
        fprintf(stream, ",\"optional\":%s}", key->is_optional ? "true" : "false");
    }
    fputs("]}", stream);
}

void offbeat_protocol_print(FILE *stream) {
    fprintf(stream, "{\"version\":%d,\"verbs\":[", OFFBEAT_PROTOCOL_VERSION);
    for (const offbeat_verb *verb = offbeat_verbs; verb->name; verb++) {
        if (verb != offbeat_verbs)
            fputc(',', stream);
        print_verb(verb, stream);
    }
    fputs("]}\n", stream);
}
