/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file thread_state.h
 * State of each thread, with which it writes records without locks: its position in the file, and caches of
 * handles and call paths.
 */
#ifndef OFFBEAT_TRACE_THREAD_STATE_H
#define OFFBEAT_TRACE_THREAD_STATE_H

#include "trace/page_checksum.h"
#include "trace/record_encoder.h"
#include "trace/timestamp.h"

#include <stdatomic.h>
#include <stddef.h>

struct offbeat_tracer_communicator;
struct offbeat_tracer_path_cache;

/** Sizes of the caches of handles; powers of two. */
enum {
    OFFBEAT_TRACER_CACHED_COMMUNICATORS = 8,
    OFFBEAT_TRACER_CACHED_TYPES = 16,
    OFFBEAT_TRACER_CACHED_OPERATIONS = 8
};

/** Valid as long as no communicator was freed since, which `generation` counts. */
typedef struct offbeat_tracer_cached_communicator {
    uintptr_t handle;
    unsigned generation;
    struct offbeat_tracer_communicator *communicator;
} offbeat_tracer_cached_communicator;

/** A datatype or operation. Only predefined ones are cached: their handles never change their meaning. */
typedef struct offbeat_tracer_cached_handle {
    uintptr_t handle;
    uint64_t size_bytes; /**< of a datatype; of an operation 1 if it is commutative */
    uint16_t id;         /**< in the file; 0: an empty entry */
} offbeat_tracer_cached_handle;

/** A position in the pages of a lane that hold messages. Zero-initialised: there is no page yet. */
typedef struct offbeat_tracer_cursor {
    offbeat_trace_page *page;
    offbeat_trace_message *next, *end; /**< in the page */
    uint64_t sum;                      /**< checksum of the page */
} offbeat_tracer_cursor;

/** The thread's last message, if it is an OFFBEAT_TRACE_POLL that further unsuccessful calls may join. */
typedef struct offbeat_tracer_poll {
    offbeat_trace_message *message;      /**< in the file; NULL: something else was written since */
    const void *address, *stack_pointer; /**< of the caller */
} offbeat_tracer_poll;

/** Zero-initialised means that the thread has written nothing yet. */
typedef struct offbeat_tracer_thread {
    int depth; /**< of nested wrappers: only the outermost one records */
    int has_lane;
    uint32_t lane;                   /**< format.h */
    offbeat_tracer_encoder *records; /**< NULL: not allocated yet */
    offbeat_tracer_timestamps timestamps;
    uint64_t code_start, code_bytes;         /**< a mapping that is in the file, around the last address */
    struct offbeat_tracer_path_cache *paths; /**< NULL: not allocated yet */
    offbeat_tracer_cached_communicator communicators[OFFBEAT_TRACER_CACHED_COMMUNICATORS];
    offbeat_tracer_cached_handle types[OFFBEAT_TRACER_CACHED_TYPES];
    offbeat_tracer_cached_handle operations[OFFBEAT_TRACER_CACHED_OPERATIONS];
    offbeat_tracer_cursor messages;
    offbeat_tracer_poll poll;
    void *scratch; /**< for the arguments of a call on requests; NULL: not allocated yet */
    size_t scratch_bytes;
} offbeat_tracer_thread;

/** Of the calling thread. The preload library defines it, as the initial-exec model, which needs no call for
 * an access, requires a library that is loaded at program start. */
extern _Thread_local offbeat_tracer_thread offbeat_tracer_this_thread
    __attribute__((tls_model("initial-exec"), visibility("default")));

/** Makes room for a record: begins a page. @return 0 if there is no space; the record is counted as lost */
int offbeat_tracer_next_record_page(offbeat_tracer_thread *thread, int64_t enter_ns);

/** Makes room for a message, as above. */
int offbeat_tracer_next_message_page(offbeat_tracer_thread *thread, int64_t enter_ns);

/** Writes a record of the calling thread. Counts it as lost if there is no space. */
OFFBEAT_TRACER_INLINE void offbeat_tracer_write_record(offbeat_tracer_thread *thread,
                                                       const offbeat_trace_record *record) {
    thread->poll.message = NULL;
    if (thread->records != NULL && offbeat_tracer_encode(thread->records, record))
        return;
    if (offbeat_tracer_next_record_page(thread, record->enter_ns)) {
        const offbeat_trace_record copy = *record;
        offbeat_tracer_encode_any(thread->records, &copy);
    }
}

/** Publishes the messages of the page up to the cursor's position. */
static inline void offbeat_tracer_publish_messages(offbeat_tracer_cursor *cursor) {
    const size_t bytes = (size_t)((char *)cursor->next - (char *)(cursor->page + 1));
    atomic_thread_fence(memory_order_release);
    *(volatile uint64_t *)&cursor->page->published_words = offbeat_trace_published(cursor->sum, bytes / 8, 0);
}

/** Writes a message of the calling thread. Counts it as lost if there is no space. */
static inline void offbeat_tracer_write_message(offbeat_tracer_thread *thread,
                                                const offbeat_trace_message *message) {
    offbeat_tracer_cursor *cursor = &thread->messages;
    if (cursor->next == cursor->end && !offbeat_tracer_next_message_page(thread, message->enter_ns))
        return;
    const size_t words = (size_t)((char *)cursor->next - (char *)(cursor->page + 1)) / 8;
    if (message->kind == OFFBEAT_TRACE_POLL)
        cursor->page->before_poll = cursor->page->published_words;
    *cursor->next++ = *message;
    cursor->sum += offbeat_trace_mix_bytes(message, sizeof *message, words);
    offbeat_tracer_publish_messages(cursor);
    thread->poll.message = NULL;
}

/** Replaces the last message of the calling thread, an OFFBEAT_TRACE_POLL. */
static inline void offbeat_tracer_replace_poll(offbeat_tracer_thread *thread,
                                               const offbeat_trace_message *changed_message) {
    offbeat_tracer_cursor *cursor = &thread->messages;
    offbeat_trace_message *last = cursor->next - 1;
    const size_t words = (size_t)((char *)last - (char *)(cursor->page + 1)) / 8;
    cursor->sum += offbeat_trace_mix_bytes(changed_message, sizeof *changed_message, words) -
                   offbeat_trace_mix_bytes(last, sizeof *last, words);
    *last = *changed_message;
    offbeat_tracer_publish_messages(cursor);
}

/** Index of a handle in a hash table. @param size of the table, a power of two */
static inline size_t offbeat_tracer_hash_slot(uintptr_t handle, size_t size) {
    return (size_t)((handle * 0x9E3779B97F4A7C15U) >> 40) & (size - 1);
}

#endif
