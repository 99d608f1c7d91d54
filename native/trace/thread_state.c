/* SPDX-License-Identifier: BSD-3-Clause */
#include "trace/thread_state.h"

#include "trace/trace_file.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* The lane of a thread that has ended; the next thread reuses it. */
typedef struct free_lane {
    uint32_t lane;
    offbeat_tracer_encoder *records;
    offbeat_tracer_cursor messages;
    struct free_lane *next_lane;
} free_lane;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static free_lane *free_lanes;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t key;

/* Destructor of `key`. If the ending thread still calls MPI after this, it acquires another lane. */
static void release_lane(void *thread_pointer) {
    offbeat_tracer_thread *thread = thread_pointer;
    free_lane *new_lane = malloc(sizeof *new_lane);
    if (new_lane == NULL)
        return;
    *new_lane = (free_lane){.lane = thread->lane, .records = thread->records, .messages = thread->messages};
    free(thread->paths);
    free(thread->scratch);
    memset(thread, 0, sizeof *thread);
    pthread_mutex_lock(&lock);
    new_lane->next_lane = free_lanes;
    free_lanes = new_lane;
    pthread_mutex_unlock(&lock);
}

static void create_key(void) {
    pthread_key_create(&key, release_lane);
}

/* Calls of a lane must not overlap: its last call has to end before the next one begins. */
static int has_ended_before(const free_lane *lane, int64_t enter_ns) {
    const offbeat_trace_message *message = lane->messages.next;
    return (lane->records == NULL || lane->records->exit_ns <= enter_ns) &&
           (message == NULL || message[-1].exit_ns <= enter_ns);
}

/* Gives the thread a free lane, or a new one. */
static void acquire_lane(offbeat_tracer_thread *thread, int64_t enter_ns) {
    pthread_once(&once, create_key);
    pthread_setspecific(key, thread);
    pthread_mutex_lock(&lock);
    free_lane **link = &free_lanes;
    while (*link != NULL && !has_ended_before(*link, enter_ns))
        link = &(*link)->next_lane;
    free_lane *reused_lane = *link;
    if (reused_lane != NULL) {
        *link = reused_lane->next_lane;
        thread->lane = reused_lane->lane;
        thread->records = reused_lane->records;
        thread->messages = reused_lane->messages;
    } else {
        thread->lane = offbeat_tracer_file_add_lane();
    }
    pthread_mutex_unlock(&lock);
    free(reused_lane);
    thread->has_lane = 1;
}

/* Makes sure that the thread has a lane. @return 0 if there is no file */
static int ensure_lane(offbeat_tracer_thread *thread, int64_t enter_ns) {
    if (offbeat_tracer_file_header() == NULL)
        return 0;
    if (!thread->has_lane)
        acquire_lane(thread, enter_ns);
    return 1;
}

/* Gives the lane a page for records. @return 0 if there is no space */
static int begin_record_page(offbeat_tracer_thread *thread, int64_t enter_ns) {
    offbeat_tracer_encoder *encoder = thread->records;
    if (encoder == NULL)
        encoder = thread->records = calloc(1, sizeof *encoder);
    if (encoder == NULL)
        return 0;
    if (encoder->page != NULL)
        offbeat_tracer_page_release(encoder->page);
    uint64_t sum;
    encoder->page = offbeat_tracer_page_allocate(OFFBEAT_TRACE_ENCODED, thread->lane, enter_ns, &sum);
    encoder->end = 0;
    if (encoder->page != NULL)
        offbeat_tracer_encoder_begin(encoder, encoder->page, sum);
    return encoder->page != NULL;
}

int offbeat_tracer_next_record_page(offbeat_tracer_thread *thread, int64_t enter_ns) {
    if (!ensure_lane(thread, enter_ns))
        return 0;
    if (thread->records != NULL && offbeat_tracer_encoder_has_room(thread->records))
        return 1; /* the page of a lane that is used again */
    if (begin_record_page(thread, enter_ns))
        return 1;
    offbeat_tracer_count_lost_record();
    return 0;
}

int offbeat_tracer_next_message_page(offbeat_tracer_thread *thread, int64_t enter_ns) {
    offbeat_tracer_cursor *cursor = &thread->messages;
    if (!ensure_lane(thread, enter_ns))
        return 0;
    if (cursor->next != cursor->end)
        return 1;
    thread->poll.message = NULL; /* it may be in the page that is released now */
    if (cursor->page != NULL)
        offbeat_tracer_page_release(cursor->page);
    cursor->page = offbeat_tracer_page_allocate(OFFBEAT_TRACE_MESSAGES, thread->lane, 0, &cursor->sum);
    if (cursor->page == NULL) {
        cursor->next = cursor->end = NULL;
        offbeat_tracer_count_lost_record();
        return 0;
    }
    cursor->next = (offbeat_trace_message *)(cursor->page + 1);
    cursor->end = cursor->next + OFFBEAT_TRACE_MESSAGES_A_PAGE;
    return 1;
}
