/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file lane.h
 * What a thread needs to write a record without asking anybody: its place in the file, and what it saw
 * lately.
 */
#ifndef OFFBEAT_TRACE_LANE_H
#define OFFBEAT_TRACE_LANE_H

#include "trace/format.h"
#include "trace/stamp.h"

#include <stdatomic.h>
#include <stddef.h>

struct offbeat_communicator;
struct offbeat_call_paths;

/** Powers of two: how many handles of each kind a thread remembers. */
enum { OFFBEAT_SEEN_COMMUNICATORS = 8, OFFBEAT_SEEN_TYPES = 16, OFFBEAT_SEEN_OPERATIONS = 8 };

/** A communicator that was seen. It holds as long as none was freed since. */
typedef struct offbeat_seen_communicator {
    uintptr_t handle;
    unsigned generation;
    struct offbeat_communicator *known;
} offbeat_seen_communicator;

/** A datatype or operation that never changes. */
typedef struct offbeat_seen_handle {
    uintptr_t handle;
    uint64_t size_bytes; /**< of a type; of an operation 1 where it commutes */
    uint16_t id;         /**< 0: nothing was seen here */
} offbeat_seen_handle;

/** Of a thread. Zeroed: it hasn't written anything. */
typedef struct offbeat_lane {
    int depth; /**< of wrappers that the thread is in: only the outermost one counts */
    int is_taken;
    uint32_t number;
    offbeat_trace_page *page;
    offbeat_trace_record *next, *end; /**< in the page */
    offbeat_stamps stamps;
    uint64_t code_from, code_bytes;   /**< code whose mapping is in the file, around the last address */
    struct offbeat_call_paths *paths; /**< call paths that were seen; NULL: none yet */
    offbeat_seen_communicator communicators[OFFBEAT_SEEN_COMMUNICATORS];
    offbeat_seen_handle types[OFFBEAT_SEEN_TYPES];
    offbeat_seen_handle operations[OFFBEAT_SEEN_OPERATIONS];
} offbeat_lane;

/** Of the calling thread. It is the front's: what is there from the start is found without a call. */
extern _Thread_local offbeat_lane offbeat_own_lane __attribute__((tls_model("initial-exec")));

/**
 * Finds room for a record when the page is full or there is none.
 * @param enter_ns of the record
 * @return NULL where there is no room
 */
offbeat_trace_record *offbeat_lane_turn_page(offbeat_lane *lane, int64_t enter_ns);

/** Writes a record of the calling thread; its function must not be 0. Counts it where there is no room. */
OFFBEAT_INLINE void offbeat_lane_write(offbeat_lane *lane, const offbeat_trace_record *record) {
    offbeat_trace_record *place = lane->next;
    if (place == lane->end) {
        place = offbeat_lane_turn_page(lane, record->enter_ns);
        if (place == NULL)
            return;
    }
    place->enter_ns = record->enter_ns; /* one by one, as they come from registers */
    place->exit_ns = record->exit_ns;
    place->address = record->address;
    place->bytes = record->bytes;
    place->communicator = record->communicator;
    place->sequence = record->sequence;
    place->round = record->round;
    place->root = record->root;
    place->datatype = record->datatype;
    place->operation = record->operation;
    place->flags = record->flags;
    atomic_thread_fence(memory_order_release);
    *(volatile uint16_t *)&place->function = record->function;
    lane->next = place + 1;
}

/** Where a handle may be remembered. @param places a power of two */
static inline size_t offbeat_lane_place(uintptr_t handle, size_t places) {
    return (size_t)((handle * 0x9E3779B97F4A7C15U) >> 40) & (places - 1);
}

#endif
