/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "trace/python_frames.h"

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <string.h>

_Atomic int offbeat_python_is_found;

/* Functions of Python's C API, with pointers for its types. Those from 3.11 on may be missing. */
static struct {
    int (*is_initialized)(void);
    void *(*this_thread)(void);
    int (*lock)(void);
    void (*unlock)(int);
    void *(*frame)(void);
    void *(*caller)(void *);
    void *(*code)(void *);
    int (*line)(void *);
    int (*line_of)(void *, int);
    void *(*attribute)(void *, const char *);
    const char *(*text)(void *, ssize_t *);
    void (*increase)(void *);
    void (*decrease)(void *);
    void (*set_error_aside)(void **, void **, void **);
    void (*restore_error)(void *, void *, void *);
    int (*instruction)(void *); /* 3.11 */
} python;

typedef struct wanted_function {
    const char *name;
    void *place;
    int is_optional;
} wanted_function;

static const wanted_function functions[] = {{"Py_IsInitialized", &python.is_initialized, 0},
                                            {"PyGILState_GetThisThreadState", &python.this_thread, 0},
                                            {"PyGILState_Ensure", &python.lock, 0},
                                            {"PyGILState_Release", &python.unlock, 0},
                                            {"PyEval_GetFrame", &python.frame, 0},
                                            {"PyFrame_GetBack", &python.caller, 0},
                                            {"PyFrame_GetCode", &python.code, 0},
                                            {"PyFrame_GetLineNumber", &python.line, 0},
                                            {"PyCode_Addr2Line", &python.line_of, 0},
                                            {"PyObject_GetAttrString", &python.attribute, 0},
                                            {"PyUnicode_AsUTF8AndSize", &python.text, 0},
                                            {"Py_IncRef", &python.increase, 0},
                                            {"Py_DecRef", &python.decrease, 0},
                                            {"PyErr_Fetch", &python.set_error_aside, 0},
                                            {"PyErr_Restore", &python.restore_error, 0},
                                            {"PyFrame_GetLasti", &python.instruction, 1}};

/* A library of Python's that not everybody sees, as programs load that have an interpreter inside. */
static int take_python(struct dl_phdr_info *object, size_t bytes, void *found) {
    (void)bytes;
    const char *slash = strrchr(object->dlpi_name, '/');
    if (strncmp(slash != NULL ? slash + 1 : object->dlpi_name, "libpython3", 10) != 0)
        return 0;
    *(void **)found = dlopen(object->dlpi_name, RTLD_LAZY | RTLD_NOLOAD);
    return *(void **)found != NULL;
}

void offbeat_python_find(void) {
    void *where = RTLD_DEFAULT;
    if (offbeat_python_is_there())
        return;
    if (dlsym(where, "Py_IsInitialized") == NULL && dl_iterate_phdr(take_python, &where) == 0)
        return;
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        void *function = dlsym(where, functions[i].name);
        if (function == NULL && !functions[i].is_optional)
            return;
        memcpy(functions[i].place, &function, sizeof function);
    }
    atomic_store_explicit(&offbeat_python_is_found, 1, memory_order_release);
}

static uint64_t mixed(uint64_t hash, uint64_t value) {
    hash = (hash ^ value) * UINT64_C(0xD6E8FEB86659FD93);
    return hash ^ hash >> 32;
}

void offbeat_python_look(offbeat_python_frames *frames, int depth) {
    frames->hash = 0;
    frames->count = 0;
    if (!python.is_initialized() || python.this_thread() == NULL)
        return;
    frames->lock_state = python.lock();
    void *frame = python.frame();
    if (frame == NULL) {
        python.unlock(frames->lock_state);
        return;
    }
    python.increase(frame);
    while (frame != NULL && frames->count < depth) {
        void *code = python.code(frame), *caller = python.caller(frame);
        const int place = python.instruction != NULL ? python.instruction(frame) : python.line(frame);
        frames->codes[frames->count] = code;
        frames->places[frames->count++] = place;
        frames->hash = mixed(mixed(frames->hash, (uint64_t)(uintptr_t)code), (uint64_t)place);
        python.decrease(frame);
        frame = caller;
    }
    if (frame != NULL)
        python.decrease(frame);
}

/* Copies a text attribute and a line feed; line feeds inside of it become blanks. */
static size_t copy_attribute(void *code, const char *name, char *text, size_t room) {
    void *value = python.attribute(code, name);
    ssize_t length = 0;
    const char *found = value != NULL ? python.text(value, &length) : NULL;
    size_t bytes = found != NULL ? (size_t)length : 0;
    if (bytes > room - 1)
        bytes = room - 1;
    for (size_t i = 0; i < bytes; i++)
        text[i] = (char)(found[i] == '\n' ? ' ' : found[i]);
    text[bytes] = '\n';
    if (value != NULL)
        python.decrease(value);
    return bytes + 1;
}

size_t offbeat_python_text(const offbeat_python_frames *frames, char *text) {
    const size_t room = OFFBEAT_PYTHON_TEXT_BYTES / OFFBEAT_MOST_DEPTH / 2 - 12;
    void *type, *value, *trace;
    size_t used = 0;
    if (frames->count == 0)
        return 0;
    python.set_error_aside(&type, &value, &trace);
    for (int i = 0; i < frames->count; i++) {
        void *code = frames->codes[i];
        const int place = frames->places[i];
        const int line = python.instruction != NULL ? python.line_of(code, place) : place;
        used += copy_attribute(code, "co_filename", text + used, room);
        used += (size_t)sprintf(text + used, "%d\n", line);
        used += copy_attribute(code, "co_name", text + used, room);
    }
    python.restore_error(type, value, trace); /* errors of our own are dropped with it */
    return used;
}

void offbeat_python_keep(const offbeat_python_frames *frames) {
    for (int i = 0; i < frames->count; i++)
        python.increase(frames->codes[i]);
}

void offbeat_python_let_go(offbeat_python_frames *frames) {
    if (frames->count == 0)
        return;
    for (int i = 0; i < frames->count; i++)
        python.decrease(frames->codes[i]);
    frames->count = 0;
    python.unlock(frames->lock_state);
}
