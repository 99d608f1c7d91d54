/* SPDX-License-Identifier: BSD-3-Clause */
#define _POSIX_C_SOURCE 200809L
#include "library/variables.h"

#include "protocol/answer.h"

#include <limits.h>
#include <mpi.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_BYTES = 512, DESCRIPTION_BYTES = 8192, MAX_CHANGED = 64 };

typedef struct variable {
    int index;
    char name[NAME_BYTES];
    char description[DESCRIPTION_BYTES];
    MPI_Datatype type;
    MPI_T_enum items;
    int binding, scope;
} variable;

/* The variables that were set, with their initial values. */
static struct {
    char name[NAME_BYTES];
    char value[NAME_BYTES];
} changed_variables[MAX_CHANGED];
static int changed_count;

int offbeat_variables_open(void) {
    int thread_level;
    return MPI_T_init_thread(MPI_THREAD_SINGLE, &thread_level);
}

void offbeat_variables_close(void) {
    MPI_T_finalize();
}

static int get_info(int index, variable *v) {
    int name_length = NAME_BYTES, text_length = DESCRIPTION_BYTES, verbosity;
    v->index = index;
    v->items = MPI_T_ENUM_NULL;
    v->description[0] = '\0';
    return MPI_T_cvar_get_info(index, v->name, &name_length, &verbosity, &v->type, &v->items, v->description,
                               &text_length, &v->binding, &v->scope);
}

static int is_text(MPI_Datatype type) {
    return type == MPI_CHAR;
}

static int is_int(MPI_Datatype type) {
    return type == MPI_INT || type == MPI_UNSIGNED;
}

/*
 * Only variables of these two types are read: Open MPI 4.1.4 crashes when some of other types (its booleans)
 * are. Variables that are bound to an object such as a communicator have no value without it.
 */
static int can_be_read(const variable *v) {
    return v->binding == MPI_T_BIND_NO_OBJECT && (is_text(v->type) || is_int(v->type));
}

/* Reads a variable as text, truncated to the size of the buffer; empty if it has no value. */
static int read_value(const variable *v, char *text, size_t bytes) {
    MPI_T_cvar_handle handle;
    int count;
    text[0] = '\0';
    if (!can_be_read(v) || MPI_T_cvar_handle_alloc(v->index, NULL, &handle, &count) != MPI_SUCCESS)
        return -1;
    union {
        int number;
        char text[65536];
    } value;
    memset(&value, 0, sizeof value);
    int result = -1;
    if (is_text(v->type) ? count < (int)sizeof value.text : count == 1)
        result = MPI_T_cvar_read(handle, &value) == MPI_SUCCESS ? 0 : -1;
    MPI_T_cvar_handle_free(&handle);
    if (result == 0 && is_text(v->type)) {
        size_t length = strnlen(value.text, bytes - 1);
        memcpy(text, value.text, length);
        text[length] = '\0';
    } else if (result == 0)
        snprintf(text, bytes, "%d", value.number);
    return result;
}

static void write_items(const variable *v, FILE *stream) {
    int count = 0;
    if (v->items != MPI_T_ENUM_NULL) {
        char name[NAME_BYTES];
        int length = NAME_BYTES;
        if (MPI_T_enum_get_info(v->items, &count, name, &length) != MPI_SUCCESS)
            count = 0;
    }
    fputs(",\"items\":[", stream);
    for (int i = 0; i < count; i++) {
        char name[NAME_BYTES];
        int value, length = NAME_BYTES;
        if (MPI_T_enum_get_item(v->items, i, &value, name, &length) != MPI_SUCCESS)
            continue;
        fprintf(stream, "%s[%d,", i ? "," : "", value);
        offbeat_json_text(name, stream);
        fputc(']', stream);
    }
    fputc(']', stream);
}

static void write_variable(const variable *v, FILE *stream) {
    char value[NAME_BYTES];
    read_value(v, value, sizeof value);
    fputs("{\"name\":", stream);
    offbeat_json_text(v->name, stream);
    fprintf(stream, ",\"type\":\"%s\"", is_text(v->type) ? "text" : is_int(v->type) ? "int" : "other");
    fprintf(stream, ",\"settable\":%s",
            v->scope != MPI_T_SCOPE_CONSTANT && v->scope != MPI_T_SCOPE_READONLY ? "true" : "false");
    fputs(",\"value\":", stream);
    offbeat_json_text(value, stream);
    write_items(v, stream);
    fputs(",\"description\":", stream);
    offbeat_json_text(v->description, stream);
    fputc('}', stream);
}

int offbeat_variables_list(const char *regex, FILE *stream) {
    regex_t expression;
    if (regcomp(&expression, regex, REG_EXTENDED | REG_NOSUB) != 0)
        return -1;
    int count = 0, written_count = 0;
    static variable v;
    MPI_T_cvar_get_num(&count);
    fputc('[', stream);
    for (int i = 0; i < count; i++) {
        if (get_info(i, &v) != MPI_SUCCESS || regexec(&expression, v.name, 0, NULL, 0) != 0)
            continue;
        if (written_count++)
            fputc(',', stream);
        write_variable(&v, stream);
    }
    fputc(']', stream);
    regfree(&expression);
    return written_count;
}

static int write_value(const variable *v, const char *text) {
    MPI_T_cvar_handle handle;
    int count, result;
    if (MPI_T_cvar_handle_alloc(v->index, NULL, &handle, &count) != MPI_SUCCESS)
        return -1;
    if (is_text(v->type)) {
        result = MPI_T_cvar_write(handle, text);
    } else {
        int number = (int)strtol(text, NULL, 10);
        result = MPI_T_cvar_write(handle, &number);
    }
    MPI_T_cvar_handle_free(&handle);
    return result == MPI_SUCCESS ? 0 : -1;
}

/* Keeps the value of a variable before its first change. @return 0, or -1 if too many variables are set */
static int save_initial_value(const char *name, const char *value) {
    for (int i = 0; i < changed_count; i++)
        if (strcmp(changed_variables[i].name, name) == 0)
            return 0;
    if (changed_count == MAX_CHANGED)
        return -1;
    snprintf(changed_variables[changed_count].name, NAME_BYTES, "%s", name);
    snprintf(changed_variables[changed_count].value, NAME_BYTES, "%s", value);
    changed_count++;
    return 0;
}

int offbeat_variable_set(const char *name, const char *value, const char **why) {
    static variable v;
    char value_before[NAME_BYTES], value_after[NAME_BYTES];
    int index;
    if (MPI_T_cvar_get_index(name, &index) != MPI_SUCCESS || get_info(index, &v) != MPI_SUCCESS)
        return *why = "the library has no such variable", -1;
    if (read_value(&v, value_before, sizeof value_before) != 0)
        return *why = "the library does not allow reading the variable", -1;
    if (strlen(value_before) + 1 == sizeof value_before)
        return *why = "the variable's value is too long to be restored", -1;
    if (save_initial_value(name, value_before) != 0)
        return *why = "too many variables are set", -1;
    if (write_value(&v, value) != 0)
        return *why = "the library refused the value", -1;
    if (read_value(&v, value_after, sizeof value_after) != 0 || strcmp(value_after, value) != 0)
        return *why = "the library accepted the value but did not apply it", -1;
    return 0;
}

int offbeat_variables_reset(void) {
    static variable v;
    int result = 0, index;
    for (int i = 0; i < changed_count; i++) {
        if (MPI_T_cvar_get_index(changed_variables[i].name, &index) != MPI_SUCCESS ||
            get_info(index, &v) != MPI_SUCCESS || write_value(&v, changed_variables[i].value) != 0)
            result = -1;
    }
    return result;
}
