/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "trace/python_frames.h"

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <string.h>

_Atomic int offbeat_tracer_python_is_loaded;

/* Functions of Python's C API, with void pointers for its types. */
static struct {
    int (*is_initialized)(void);
    void *(*this_thread)(void);
    int (*acquire_gil)(void);
    void (*release_gil)(int);
    void *(*frame)(void);
    void *(*caller)(void *);
    void *(*code)(void *);
    int (*line)(void *);
    int (*line_of)(void *, int);
    void *(*attribute)(void *, const char *);
    const char *(*utf8)(void *, ssize_t *);
    void (*incref)(void *);
    void (*decref)(void *);
    void (*fetch_error)(void **, void **, void **);
    void (*restore_error)(void *, void *, void *);
    int (*instruction)(void *); /* NULL before Python 3.11 */
} python;

typedef struct api_function {
    const char *name;
    void *pointer;
    int is_optional;
} api_function;

static const api_function functions[] = {{"Py_IsInitialized", &python.is_initialized, 0},
                                         {"PyGILState_GetThisThreadState", &python.this_thread, 0},
                                         {"PyGILState_Ensure", &python.acquire_gil, 0},
                                         {"PyGILState_Release", &python.release_gil, 0},
                                         {"PyEval_GetFrame", &python.frame, 0},
                                         {"PyFrame_GetBack", &python.caller, 0},
                                         {"PyFrame_GetCode", &python.code, 0},
                                         {"PyFrame_GetLineNumber", &python.line, 0},
                                         {"PyCode_Addr2Line", &python.line_of, 0},
                                         {"PyObject_GetAttrString", &python.attribute, 0},
                                         {"PyUnicode_AsUTF8AndSize", &python.utf8, 0},
                                         {"Py_IncRef", &python.incref, 0},
                                         {"Py_DecRef", &python.decref, 0},
                                         {"PyErr_Fetch", &python.fetch_error, 0},
                                         {"PyErr_Restore", &python.restore_error, 0},
                                         {"PyFrame_GetLasti", &python.instruction, 1}};

/* A callback of dl_iterate_phdr: finds a Python library outside of the global scope, as in programs that
 * embed an interpreter in a plugin. */
static int find_python_library(struct dl_phdr_info *object, size_t bytes, void *handle) {
    (void)bytes;
    const char *slash = strrchr(object->dlpi_name, '/');
    if (strncmp(slash != NULL ? slash + 1 : object->dlpi_name, "libpython3", 10) != 0)
        return 0;
    *(void **)handle = dlopen(object->dlpi_name, RTLD_LAZY | RTLD_NOLOAD);
    return *(void **)handle != NULL;
}

void offbeat_tracer_python_detect(void) {
    void *handle = RTLD_DEFAULT;
    if (offbeat_tracer_python_is_available())
        return;
    if (dlsym(handle, "Py_IsInitialized") == NULL && dl_iterate_phdr(find_python_library, &handle) == 0)
        return;
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        void *function = dlsym(handle, functions[i].name);
        if (function == NULL && !functions[i].is_optional)
            return;
        memcpy(functions[i].pointer, &function, sizeof function);
    }
    atomic_store_explicit(&offbeat_tracer_python_is_loaded, 1, memory_order_release);
}

static uint64_t mix(uint64_t hash, uint64_t value) {
    hash = (hash ^ value) * UINT64_C(0xD6E8FEB86659FD93);
    return hash ^ hash >> 32;
}

void offbeat_tracer_python_capture(offbeat_tracer_python_frames *frames, int depth) {
    frames->hash = 0;
    frames->count = 0;
    if (!python.is_initialized() || python.this_thread() == NULL)
        return;
    frames->gil_state = python.acquire_gil();
    void *frame = python.frame();
    if (frame == NULL) {
        python.release_gil(frames->gil_state);
        return;
    }
    python.incref(frame);
    while (frame != NULL && frames->count < depth) {
        void *code = python.code(frame), *caller = python.caller(frame);
        const int position = python.instruction != NULL ? python.instruction(frame) : python.line(frame);
        frames->codes[frames->count] = code;
        frames->positions[frames->count++] = position;
        frames->hash = mix(mix(frames->hash, (uint64_t)(uintptr_t)code), (uint64_t)position);
        python.decref(frame);
        frame = caller;
    }
    if (frame != NULL)
        python.decref(frame);
}

/* Copies a string attribute and appends a newline; newlines in it become spaces. */
static size_t copy_attribute(void *code, const char *name, char *text, size_t max_bytes) {
    void *value = python.attribute(code, name);
    ssize_t length = 0;
    const char *utf8 = value != NULL ? python.utf8(value, &length) : NULL;
    size_t bytes = utf8 != NULL ? (size_t)length : 0;
    if (bytes > max_bytes - 1)
        bytes = max_bytes - 1;
    for (size_t i = 0; i < bytes; i++)
        text[i] = (char)(utf8[i] == '\n' ? ' ' : utf8[i]);
    text[bytes] = '\n';
    if (value != NULL)
        python.decref(value);
    return bytes + 1;
}

size_t offbeat_tracer_python_format(const offbeat_tracer_python_frames *frames, char *text) {
    const size_t max_bytes = OFFBEAT_TRACER_PYTHON_TEXT_BYTES / OFFBEAT_TRACER_MAX_DEPTH / 2 - 12;
    void *type, *value, *traceback;
    size_t length = 0;
    if (frames->count == 0)
        return 0;
    python.fetch_error(&type, &value, &traceback);
    for (int i = 0; i < frames->count; i++) {
        void *code = frames->codes[i];
        const int position = frames->positions[i];
        const int line = python.instruction != NULL ? python.line_of(code, position) : position;
        length += copy_attribute(code, "co_filename", text + length, max_bytes);
        length += (size_t)sprintf(text + length, "%d\n", line);
        length += copy_attribute(code, "co_name", text + length, max_bytes);
    }
    python.restore_error(type, value, traceback); /* replaces errors of the calls above */
    return length;
}

void offbeat_tracer_python_retain(const offbeat_tracer_python_frames *frames) {
    for (int i = 0; i < frames->count; i++)
        python.incref(frames->codes[i]);
}

void offbeat_tracer_python_release(offbeat_tracer_python_frames *frames) {
    if (frames->count == 0)
        return;
    for (int i = 0; i < frames->count; i++)
        python.decref(frames->codes[i]);
    frames->count = 0;
    python.release_gil(frames->gil_state);
}
