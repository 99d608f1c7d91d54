/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file python_frames.h
 * The frames of a Python interpreter in the traced process.
 *
 * The tracer does not link Python: it looks up the functions of Python's C API in the process. They require
 * the global interpreter lock (GIL), which mpi4py releases around MPI calls; so the thread acquires it here,
 * after the call, shortly before mpi4py does. Nothing is called for threads without a Python thread state, or
 * after the interpreter was finalised. A program in which a thread holds the GIL until another thread returns
 * from an MPI call would deadlock: OFFBEAT_TRACE_DEPTH=0 disables Python frames.
 */
#ifndef OFFBEAT_TRACE_PYTHON_FRAMES_H
#define OFFBEAT_TRACE_PYTHON_FRAMES_H

#include "trace/trace_config.h"

#include <stdatomic.h>
#include <stdint.h>

enum { OFFBEAT_TRACER_PYTHON_TEXT_BYTES = 8192 };

/** The frames of a thread, innermost first. */
typedef struct offbeat_tracer_python_frames {
    uint64_t hash; /**< 0: no frames */
    int count;
    int gil_state;                           /**< for PyGILState_Release */
    void *codes[OFFBEAT_TRACER_MAX_DEPTH];   /**< code objects, strong references */
    int positions[OFFBEAT_TRACER_MAX_DEPTH]; /**< offset of the instruction; before Python 3.11 the line */
} offbeat_tracer_python_frames;

extern _Atomic int offbeat_tracer_python_is_loaded;

/** Looks up Python's functions if Python is loaded by now. */
void offbeat_tracer_python_detect(void);

static inline int offbeat_tracer_python_is_available(void) {
    return atomic_load_explicit(&offbeat_tracer_python_is_loaded, memory_order_acquire);
}

/** Captures the frames of this thread; if there are any, acquires the GIL until
 * offbeat_tracer_python_release. */
void offbeat_tracer_python_capture(offbeat_tracer_python_frames *frames, int depth);

/** File, line and function of each frame, each followed by a newline; at most
 * OFFBEAT_TRACER_PYTHON_TEXT_BYTES.
 * @return the bytes written */
size_t offbeat_tracer_python_format(const offbeat_tracer_python_frames *frames, char *text);

/** Keeps the code objects alive permanently, so that no other code object gets their addresses. */
void offbeat_tracer_python_retain(const offbeat_tracer_python_frames *frames);

/** Releases the frames and the GIL. */
void offbeat_tracer_python_release(offbeat_tracer_python_frames *frames);

#endif
