/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file skipped_messages.h
 * Counts messages that are not recorded, because of a window or a pause: the next one that is recorded states
 * their number, without which readers could not tell which send belongs to which receive.
 */
#ifndef OFFBEAT_TRACE_SKIPPED_MESSAGES_H
#define OFFBEAT_TRACE_SKIPPED_MESSAGES_H

#include "trace/format.h"
#include "trace/timestamp.h"

#include <stdatomic.h>
#include <stddef.h>

/** Counts a message that is not recorded. Its communicator, kind, peer and tag must be set; nothing is
 * counted if the peer or the tag is none. Thread-safe. */
void offbeat_tracer_message_skip(const offbeat_trace_message *message);

/** How many communicators, kinds, peers and tags have skipped messages. */
extern _Atomic size_t offbeat_tracer_keys_with_skipped;

/** The number of skipped messages before a message, which is then 0 again. Thread-safe. */
int32_t offbeat_tracer_message_take_skipped(const offbeat_trace_message *message);

/** Sets `partition` of a message to the number of skipped ones before it. */
OFFBEAT_TRACER_INLINE void offbeat_tracer_message_state_skipped(offbeat_trace_message *message) {
    if (__builtin_expect(atomic_load_explicit(&offbeat_tracer_keys_with_skipped, memory_order_relaxed) == 0,
                         1))
        return;
    const offbeat_trace_message copy = *message; /* so that the message itself may be in registers */
    message->partition = offbeat_tracer_message_take_skipped(&copy);
}

#endif
