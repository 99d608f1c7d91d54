/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file skipped_messages.h
 * Counts messages that are not recorded, because of a window or a pause: the next one that is recorded states
 * their number, without which readers could not tell which send belongs to which receive.
 */
#ifndef OFFBEAT_TRACE_SKIPPED_MESSAGES_H
#define OFFBEAT_TRACE_SKIPPED_MESSAGES_H

#include "trace/format.h"

/** Counts a message that is not recorded. Its communicator, kind, peer and tag must be set; nothing is
 * counted if the peer or the tag is none. Thread-safe. */
void offbeat_tracer_message_skip(const offbeat_trace_message *message);

/** Sets `partition` of a message to the number of skipped ones before it, which is then 0 again. Thread-safe.
 */
void offbeat_tracer_message_state_skipped(offbeat_trace_message *message);

#endif
