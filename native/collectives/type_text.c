/* SPDX-License-Identifier: BSD-3-Clause */
#include "type_text.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum {
    MAXIMUM_NUMBERS = 256,
    MAXIMUM_CHILDREN = 32,
    MAXIMUM_DEPTH = 16,
    MAXIMUM_ENTRIES = 1 << 24,
};

/** What is left of a text. */
typedef struct cursor {
    const char *cursor, *end;
    int depth;
} cursor;

static const char *const no_memory = "no memory for the type map of a datatype";

/* --- type maps --- */

/* Adds length copies of a child at a displacement. @return NULL or an error message */
static const char *append(offbeat_typed_text *type, const offbeat_typed_text *child, MPI_Aint displacement,
                          int64_t length) {
    if (length < 0 || (length > 0 && child->count > (MAXIMUM_ENTRIES - type->count) / (size_t)length))
        return "a datatype has too many elements";
    size_t count = type->count + (size_t)length * child->count;
    offbeat_type_entry *entries = realloc(type->entries, (count + 1) * sizeof *entries);
    if (!entries)
        return no_memory;
    type->entries = entries;
    for (int64_t i = 0; i < length; i++)
        for (size_t j = 0; j < child->count; j++) {
            entries[type->count] = child->entries[j];
            entries[type->count++].displacement += displacement + i * child->extent;
        }
    return NULL;
}

/** The arguments of a constructor. */
typedef struct construction {
    int64_t numbers[MAXIMUM_NUMBERS];
    int count;                                                    /* of numbers */
    int lengths[MAXIMUM_NUMBERS], displacements[MAXIMUM_NUMBERS]; /* if the numbers are pairs of both */
    MPI_Aint addresses[MAXIMUM_NUMBERS];                          /* the displacements */
    offbeat_typed_text children[MAXIMUM_CHILDREN];
    int child_count;
} construction;

static void split_pairs(construction *call) {
    for (int i = 0; i < call->count / 2; i++) {
        call->lengths[i] = (int)call->numbers[2 * i];
        call->displacements[i] = (int)call->numbers[2 * i + 1];
        call->addresses[i] = (MPI_Aint)call->numbers[2 * i + 1];
    }
}

static const char *make_contiguous(const construction *call, offbeat_typed_text *type) {
    if (MPI_Type_contiguous((int)call->numbers[0], call->children[0].handle, &type->handle) != MPI_SUCCESS)
        return "MPI_Type_contiguous failed";
    return append(type, &call->children[0], 0, call->numbers[0]);
}

/* A vector whose stride is a number of bytes, or of extents. */
static const char *make_strided(const construction *call, offbeat_typed_text *type, int is_in_bytes) {
    const offbeat_typed_text *child = &call->children[0];
    int count = (int)call->numbers[0], length = (int)call->numbers[1];
    MPI_Aint stride = (MPI_Aint)call->numbers[2], step = is_in_bytes ? stride : stride * child->extent;
    int code = is_in_bytes ? MPI_Type_create_hvector(count, length, stride, child->handle, &type->handle)
                           : MPI_Type_vector(count, length, (int)stride, child->handle, &type->handle);
    const char *why = code == MPI_SUCCESS ? NULL : "a vector type could not be created";
    for (int i = 0; i < count && !why; i++)
        why = append(type, child, i * step, length);
    return why;
}

static const char *make_vector(const construction *call, offbeat_typed_text *type) {
    return make_strided(call, type, 0);
}

static const char *make_hvector(const construction *call, offbeat_typed_text *type) {
    return make_strided(call, type, 1);
}

static const char *make_blocks(const construction *call, offbeat_typed_text *type, int is_in_bytes) {
    const offbeat_typed_text *child = &call->children[0];
    int count = call->count / 2;
    int code =
        is_in_bytes
            ? MPI_Type_create_hindexed(count, call->lengths, call->addresses, child->handle, &type->handle)
            : MPI_Type_indexed(count, call->lengths, call->displacements, child->handle, &type->handle);
    const char *why = code == MPI_SUCCESS ? NULL : "an indexed type could not be created";
    for (int i = 0; i < count && !why; i++)
        why = append(type, child, call->addresses[i] * (is_in_bytes ? 1 : child->extent), call->lengths[i]);
    return why;
}

static const char *make_indexed(const construction *call, offbeat_typed_text *type) {
    return make_blocks(call, type, 0);
}

static const char *make_hindexed(const construction *call, offbeat_typed_text *type) {
    return make_blocks(call, type, 1);
}

static const char *make_struct(const construction *call, offbeat_typed_text *type) {
    MPI_Datatype handles[MAXIMUM_CHILDREN] = {MPI_DATATYPE_NULL};
    int count = call->child_count;
    if (call->count != 2 * count)
        return "a struct type needs a block length and a displacement for each of its types";
    for (int i = 0; i < count; i++)
        handles[i] = call->children[i].handle;
    const char *why = NULL;
    if (MPI_Type_create_struct(count, call->lengths, call->addresses, handles, &type->handle) != MPI_SUCCESS)
        why = "MPI_Type_create_struct failed";
    for (int i = 0; i < count && !why; i++)
        why = append(type, &call->children[i], call->addresses[i], call->lengths[i]);
    return why;
}

static const char *make_resized(const construction *call, offbeat_typed_text *type) {
    if (MPI_Type_create_resized(call->children[0].handle, (MPI_Aint)call->numbers[0],
                                (MPI_Aint)call->numbers[1], &type->handle) != MPI_SUCCESS)
        return "MPI_Type_create_resized failed";
    return append(type, &call->children[0], 0, 1);
}

static const char *make_dup(const construction *call, offbeat_typed_text *type) {
    if (MPI_Type_dup(call->children[0].handle, &type->handle) != MPI_SUCCESS)
        return "MPI_Type_dup failed";
    return append(type, &call->children[0], 0, 1);
}

static const char *make_bottom(const construction *call, offbeat_typed_text *type) {
    type->is_absolute = 1;
    return make_dup(call, type);
}

/* --- the text --- */

/** A constructor; numbers is how many it takes, -1: pairs. */
static const struct constructor {
    const char *name;
    int numbers;
    const char *(*make)(const construction *, offbeat_typed_text *);
} constructors[] = {
    {"contiguous", 1, make_contiguous}, {"vector", 3, make_vector},
    {"hvector", 3, make_hvector},       {"indexed", -1, make_indexed},
    {"hindexed", -1, make_hindexed},    {"struct", -1, make_struct},
    {"resized", 2, make_resized},       {"dup", 0, make_dup},
    {"bottom", 0, make_bottom},
};

static const struct constructor *find_constructor(const char *name, size_t length) {
    for (size_t i = 0; i < sizeof constructors / sizeof *constructors; i++)
        if (strlen(constructors[i].name) == length && strncmp(constructors[i].name, name, length) == 0)
            return &constructors[i];
    return NULL;
}

static int take(cursor *text, char character) {
    return text->cursor < text->end && *text->cursor == character ? text->cursor++, 1 : 0;
}

static size_t take_name(cursor *text, const char **name) {
    *name = text->cursor;
    while (text->cursor < text->end && (isalnum((unsigned char)*text->cursor) || *text->cursor == '_'))
        text->cursor++;
    return (size_t)(text->cursor - *name);
}

static const char *take_numbers(cursor *text, construction *call) {
    if (!take(text, '['))
        return NULL;
    do {
        char *end;
        if (call->count == MAXIMUM_NUMBERS)
            return "a datatype has too many blocks";
        call->numbers[call->count++] = strtoll(text->cursor, &end, 10);
        if (end == text->cursor)
            return "a number is missing in the text of a datatype";
        text->cursor = end;
    } while (take(text, ','));
    return take(text, ']') ? NULL : "']' is missing in the text of a datatype";
}

static const char *take_type(cursor *text, offbeat_typed_text *type);

static const char *take_children(cursor *text, construction *call) {
    const char *why = take(text, '(') ? NULL : "'(' is missing in the text of a datatype";
    do {
        if (!why && call->child_count == MAXIMUM_CHILDREN)
            why = "a struct type has too many types";
        if (!why)
            why = take_type(text, &call->children[call->child_count++]);
    } while (!why && take(text, ','));
    return why || take(text, ')') ? why : "')' is missing in the text of a datatype";
}

static const char *construct(cursor *text, const struct constructor *constructor, offbeat_typed_text *type) {
    construction *call = calloc(1, sizeof *call);
    if (!call)
        return no_memory;
    for (int i = 0; i < MAXIMUM_CHILDREN; i++)
        call->children[i].handle = MPI_DATATYPE_NULL;
    const char *why = take_numbers(text, call);
    if (!why && (constructor->numbers < 0 ? call->count % 2 : call->count != constructor->numbers))
        why = "a constructor of a datatype has another number of arguments";
    split_pairs(call);
    if (!why)
        why = take_children(text, call);
    if (!why)
        why = constructor->make(call, type);
    for (int i = 0; i < call->child_count; i++)
        offbeat_type_text_free(&call->children[i]);
    free(call);
    return why;
}

static const char *take_basic(const offbeat_basic_type *basic, offbeat_typed_text *type) {
    type->entries = malloc(sizeof *type->entries);
    if (!type->entries)
        return no_memory;
    *type->entries = (offbeat_type_entry){0, basic};
    type->count = 1;
    type->handle = offbeat_basic_type_handle(basic);
    type->is_predefined = 1;
    return NULL;
}

static const char *take_type(cursor *text, offbeat_typed_text *type) {
    const char *name, *why;
    size_t length = take_name(text, &name);
    const offbeat_basic_type *basic = offbeat_basic_type_find(name, length);
    const struct constructor *constructor = find_constructor(name, length);
    *type = (offbeat_typed_text){.handle = MPI_DATATYPE_NULL};
    if (!basic && (!constructor || ++text->depth > MAXIMUM_DEPTH))
        return constructor ? "a datatype is nested too deeply" : "the text of a datatype has an unknown name";
    why = basic ? take_basic(basic, type) : construct(text, constructor, type);
    if (!basic)
        text->depth--;
    if (!why && MPI_Type_get_extent(type->handle, &type->lower_bound, &type->extent) != MPI_SUCCESS)
        why = "a datatype has no extent";
    return why;
}

const char *offbeat_type_text_create(const char *text, size_t length, offbeat_typed_text *type) {
    cursor rest = {text, text + length, 0};
    const char *why = take_type(&rest, type);
    if (!why && rest.cursor != rest.end)
        why = "characters follow the text of a datatype";
    if (!why && !type->is_predefined && MPI_Type_commit(&type->handle) != MPI_SUCCESS)
        why = "MPI_Type_commit failed";
    return why;
}

int offbeat_type_text_bind(offbeat_typed_text *type, void *address) {
    MPI_Datatype relative = type->handle;
    MPI_Aint absolute;
    const int length = 1;
    int code = MPI_Get_address(address, &absolute);
    if (code == MPI_SUCCESS)
        code = MPI_Type_create_hindexed(1, &length, &absolute, relative, &type->handle);
    if (code == MPI_SUCCESS)
        code = MPI_Type_commit(&type->handle);
    MPI_Type_free(&relative);
    return code;
}

void offbeat_type_text_free(offbeat_typed_text *type) {
    if (!type->is_predefined && type->handle != MPI_DATATYPE_NULL)
        MPI_Type_free(&type->handle);
    free(type->entries);
    *type = (offbeat_typed_text){.handle = MPI_DATATYPE_NULL};
}
