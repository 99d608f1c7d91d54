/* SPDX-License-Identifier: BSD-3-Clause */
#include "trace/define.h"

#include "trace/file.h"
#include "trace/functions.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static offbeat_trace_page *page; /* that definitions are written to */
static size_t used_bytes;        /* of it */

/* Room in the page, or NULL. */
static char *reserve(size_t bytes) {
    if (page != NULL && used_bytes + bytes > OFFBEAT_TRACE_PAGE_BYTES) {
        offbeat_file_leave(page);
        page = NULL;
    }
    if (page == NULL) {
        page = offbeat_file_take(OFFBEAT_TRACE_DEFINITIONS, 0);
        used_bytes = sizeof *page;
    }
    if (page == NULL)
        return NULL;
    char *at = (char *)page + used_bytes;
    used_bytes += bytes;
    return at;
}

void offbeat_define(uint16_t kind, void *fixed, size_t fixed_bytes, const void *tail, size_t tail_bytes) {
    if (offbeat_file_header() == NULL)
        return;
    if (tail_bytes > OFFBEAT_LONGEST_TAIL)
        tail_bytes = OFFBEAT_LONGEST_TAIL;
    size_t bytes = (fixed_bytes + tail_bytes + 7) / 8 * 8;
    offbeat_trace_definition beginning = {.bytes = (uint32_t)bytes, .kind = 0};
    memcpy(fixed, &beginning, sizeof beginning);
    pthread_mutex_lock(&lock);
    char *at = reserve(bytes);
    if (at != NULL) {
        memcpy(at, fixed, fixed_bytes);
        if (tail_bytes > 0)
            memcpy(at + fixed_bytes, tail, tail_bytes);
        atomic_thread_fence(memory_order_release);
        ((offbeat_trace_definition *)at)->kind = kind;
    }
    pthread_mutex_unlock(&lock);
}

void offbeat_define_note(int64_t at_ns, const char *sentence) {
    offbeat_trace_note note = {.at_ns = at_ns, .text_bytes = (uint32_t)strlen(sentence)};
    offbeat_define(OFFBEAT_TRACE_NOTE, &note, sizeof note, sentence, note.text_bytes);
}

void offbeat_define_functions(void) {
    for (int id = 1; id < OFFBEAT_FUNCTIONS; id++) {
        const offbeat_function *known = &offbeat_functions[id];
        offbeat_trace_function function = {.id = (uint16_t)id,
                                           .mode = known->mode,
                                           .collective = known->collective,
                                           .name_bytes = (uint16_t)strlen(known->name)};
        offbeat_define(OFFBEAT_TRACE_FUNCTION, &function, sizeof function, known->name, function.name_bytes);
    }
}
