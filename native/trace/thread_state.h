/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file thread_state.h
 * State of each thread, with which it writes records without locks: its position in the file, and caches of
 * handles and call paths.
 */
#ifndef OFFBEAT_TRACE_THREAD_STATE_H
#define OFFBEAT_TRACE_THREAD_STATE_H

#include "trace/format.h"
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

/** A position in the pages of a lane that hold records, or in those that hold messages. Zero-initialised:
 * there is no page yet. */
typedef struct offbeat_tracer_cursor {
    offbeat_trace_page *page;
    void *next, *end; /**< in the page */
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
    uint32_t lane; /**< format.h */
    offbeat_tracer_cursor records;
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

/**
 * Where the cursor's next record or message goes, if its page is full or it has none.
 * @param used_bytes how much of a page of this kind holds records or messages
 * @param enter_ns   of that record or message
 * @return NULL where there is no space; the record is counted as lost
 */
void *offbeat_tracer_next_page(offbeat_tracer_thread *thread, offbeat_tracer_cursor *cursor, uint32_t kind,
                               size_t used_bytes, int64_t enter_ns);

/** Writes a record of the calling thread; its function must not be 0. Counts it as lost if there is no space.
 */
OFFBEAT_TRACER_INLINE void offbeat_tracer_write_record(offbeat_tracer_thread *thread,
                                                       const offbeat_trace_record *record) {
    offbeat_trace_record *slot = thread->records.next;
    if (slot == thread->records.end) {
        slot = offbeat_tracer_next_page(thread, &thread->records, OFFBEAT_TRACE_RECORDS,
                                        OFFBEAT_TRACE_RECORDS_A_PAGE * sizeof *slot, record->enter_ns);
        if (slot == NULL)
            return;
    }
    slot->enter_ns = record->enter_ns; /* member by member: most of them are in registers */
    slot->exit_ns = record->exit_ns;
    slot->address = record->address;
    slot->bytes = record->bytes;
    slot->communicator = record->communicator;
    slot->sequence = record->sequence;
    slot->round = record->round;
    slot->root = record->root;
    slot->datatype = record->datatype;
    slot->operation = record->operation;
    slot->flags = record->flags;
    atomic_thread_fence(memory_order_release);
    *(volatile uint16_t *)&slot->function = record->function;
    thread->records.next = slot + 1;
    thread->poll.message = NULL;
}

/** Writes a message of the calling thread; its function must not be 0. Counts it as lost if there is no
 * space. */
OFFBEAT_TRACER_INLINE void offbeat_tracer_write_message(offbeat_tracer_thread *thread,
                                                        const offbeat_trace_message *message) {
    offbeat_trace_message *slot = thread->messages.next;
    if (slot == thread->messages.end) {
        slot = offbeat_tracer_next_page(thread, &thread->messages, OFFBEAT_TRACE_MESSAGES,
                                        OFFBEAT_TRACE_MESSAGES_A_PAGE * sizeof *slot, message->enter_ns);
        if (slot == NULL)
            return;
    }
    slot->enter_ns = message->enter_ns; /* member by member, as above */
    slot->exit_ns = message->exit_ns;
    slot->address = message->address;
    slot->bytes = message->bytes;
    slot->communicator = message->communicator;
    slot->request = message->request;
    slot->round = message->round;
    slot->peer = message->peer;
    slot->tag = message->tag;
    slot->partition = message->partition;
    slot->datatype = message->datatype;
    slot->kind = message->kind;
    slot->flags = message->flags;
    atomic_thread_fence(memory_order_release);
    *(volatile uint16_t *)&slot->function = message->function;
    thread->messages.next = slot + 1;
    thread->poll.message = NULL;
}

/** Index of a handle in a hash table. @param size of the table, a power of two */
static inline size_t offbeat_tracer_hash_slot(uintptr_t handle, size_t size) {
    return (size_t)((handle * 0x9E3779B97F4A7C15U) >> 40) & (size - 1);
}

#endif
