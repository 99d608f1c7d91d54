/* SPDX-License-Identifier: BSD-3-Clause */
#include "trace/skipped_messages.h"

#include "trace/trace_file.h"

#include <limits.h>
#include <pthread.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static offbeat_tracer_number_table table;        /* 1 + the number of skipped messages */
_Atomic size_t offbeat_tracer_keys_with_skipped; /* mostly 0, and then recorded messages look up nothing */

/* FNV-1a, by 32-bit numbers. */
static uint64_t hash_of(const offbeat_trace_message *message) {
    const uint32_t parts[] = {message->communicator, message->kind, (uint32_t)message->peer,
                              (uint32_t)message->tag};
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        hash = (hash ^ parts[i]) * UINT64_C(0x100000001b3);
        hash ^= hash >> 29;
    }
    return hash;
}

static int is_resolved(const offbeat_trace_message *message) {
    return message->peer >= 0 && message->tag >= 0;
}

void offbeat_tracer_message_skip(const offbeat_trace_message *message) {
    if (!is_resolved(message))
        return;
    pthread_mutex_lock(&lock);
    uint64_t *number = offbeat_tracer_number_of(&table, hash_of(message));
    if (number != NULL) {
        offbeat_tracer_keys_with_skipped += *number <= 1;
        *number = *number == 0 ? 2 : *number + 1;
    }
    pthread_mutex_unlock(&lock);
}

int32_t offbeat_tracer_message_take_skipped(const offbeat_trace_message *message) {
    uint64_t skipped_count = 0;
    if (!is_resolved(message))
        return 0;
    pthread_mutex_lock(&lock);
    uint64_t *number = offbeat_tracer_number_of(&table, hash_of(message));
    if (number != NULL) {
        skipped_count = *number > 1 ? *number - 1 : 0;
        offbeat_tracer_keys_with_skipped -= skipped_count > 0;
        *number = 1;
    }
    pthread_mutex_unlock(&lock);
    return skipped_count > INT_MAX ? INT_MAX : (int32_t)skipped_count;
}
