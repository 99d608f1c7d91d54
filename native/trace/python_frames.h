/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file python_frames.h
 * The frames of the Python interpreter that runs in the traced process, if one does.
 *
 * Nothing of Python is linked: its public functions are looked up in the process. They need the interpreter's
 * lock (GIL), which mpi4py releases around calls of MPI; so this thread takes it here, after the call,
 * shortly before mpi4py does. A thread that Python does not know is never asked, nor is an interpreter that
 * has ended. A program in which one thread holds the lock until another one, in a call of MPI, has gone on
 * would wait for ever: OFFBEAT_TRACE_DEPTH=0 leaves Python alone.
 */
#ifndef OFFBEAT_TRACE_PYTHON_FRAMES_H
#define OFFBEAT_TRACE_PYTHON_FRAMES_H

#include "trace/wishes.h"

#include <stdatomic.h>
#include <stdint.h>

enum { OFFBEAT_PYTHON_TEXT_BYTES = 8192 };

/** The frames of this thread, innermost first. */
typedef struct offbeat_python_frames {
    uint64_t hash; /**< of the frames; 0: none */
    int count;
    int lock_state;                  /**< what PyGILState_Release must be given */
    void *codes[OFFBEAT_MOST_DEPTH]; /**< code objects, references of our own */
    int places[OFFBEAT_MOST_DEPTH];  /**< in the code: of the instruction, or the line */
} offbeat_python_frames;

extern _Atomic int offbeat_python_is_found;

/** Looks whether Python was loaded meanwhile. */
void offbeat_python_find(void);

/** Whether there is an interpreter to ask. */
static inline int offbeat_python_is_there(void) {
    return atomic_load_explicit(&offbeat_python_is_found, memory_order_acquire);
}

/** Looks at the frames of this thread; where there are some, Python's lock is held until they are let go. */
void offbeat_python_look(offbeat_python_frames *frames, int depth);

/** File, line and function of each frame, each with a line feed; at most OFFBEAT_PYTHON_TEXT_BYTES.
 * @return the bytes written */
size_t offbeat_python_text(const offbeat_python_frames *frames, char *text);

/** Keeps the code objects for good, so that no other code will have their addresses. */
void offbeat_python_keep(const offbeat_python_frames *frames);

/** Ends what offbeat_python_look began. */
void offbeat_python_let_go(offbeat_python_frames *frames);

#endif
