/* SPDX-License-Identifier: BSD-3-Clause */
#include "trace/lane.h"

#include "trace/file.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* Lanes that ended threads left behind, for the next ones. */
typedef struct left_lane {
    uint32_t number;
    offbeat_trace_page *page;
    offbeat_trace_record *next, *end;
    struct left_lane *below;
} left_lane;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static left_lane *left;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t key;

/* A thread ends. What it still calls on its way out gets another lane. */
static void leave(void *ended) {
    offbeat_lane *lane = ended;
    left_lane *made = malloc(sizeof *made);
    if (made == NULL)
        return;
    *made = (left_lane){.number = lane->number, .page = lane->page, .next = lane->next, .end = lane->end};
    free(lane->paths);
    memset(lane, 0, sizeof *lane);
    pthread_mutex_lock(&lock);
    made->below = left;
    left = made;
    pthread_mutex_unlock(&lock);
}

static void make_key(void) {
    pthread_key_create(&key, leave);
}

/* Whether a lane was left before a call began: calls of a lane come one after the other. */
static int is_over(const left_lane *lane, int64_t enter_ns) {
    return lane->page == NULL || lane->next[-1].exit_ns <= enter_ns;
}

/* A lane that somebody left before the call, or a new one. */
static void take(offbeat_lane *lane, int64_t enter_ns) {
    pthread_once(&once, make_key);
    pthread_setspecific(key, lane);
    pthread_mutex_lock(&lock);
    left_lane **link = &left;
    while (*link != NULL && !is_over(*link, enter_ns))
        link = &(*link)->below;
    left_lane *found = *link;
    if (found != NULL) {
        *link = found->below;
        lane->number = found->number;
        lane->page = found->page;
        lane->next = found->next;
        lane->end = found->end;
    } else {
        lane->number = offbeat_file_header()->lanes++;
    }
    pthread_mutex_unlock(&lock);
    free(found);
    lane->is_taken = 1;
}

offbeat_trace_record *offbeat_lane_turn_page(offbeat_lane *lane, int64_t enter_ns) {
    if (offbeat_file_header() == NULL)
        return NULL;
    if (!lane->is_taken)
        take(lane, enter_ns);
    if (lane->next != lane->end)
        return lane->next;
    if (lane->page != NULL)
        offbeat_file_leave(lane->page);
    lane->page = offbeat_file_take(OFFBEAT_TRACE_RECORDS, lane->number);
    if (lane->page == NULL) {
        lane->next = lane->end = NULL;
        offbeat_file_lose();
        return NULL;
    }
    lane->next = (offbeat_trace_record *)(lane->page + 1);
    lane->end = lane->next + OFFBEAT_TRACE_RECORDS_A_PAGE;
    return lane->next;
}
