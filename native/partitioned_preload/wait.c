/* SPDX-License-Identifier: BSD-3-Clause */
#define _POSIX_C_SOURCE 200809L
#include "partitioned_preload/wait.h"

#include "partitioned/complete.h"
#include "partitioned/progress.h"
#include "partitioned_preload/handles.h"
#include "partitioned_preload/next.h"

#include <sched.h>
#include <stddef.h>

int offbeat_preload_must_progress(void) {
    if (atomic_load_explicit(&offbeat_preload_handle_count, memory_order_relaxed) == 0 ||
        !offbeat_partitioned_needs_progress())
        return 0;
    offbeat_partitioned_progress(); /* often enough: a reply to a setup leaves at once */
    return offbeat_partitioned_needs_progress();
}

int offbeat_preload_wait(MPI_Request *request, MPI_Status *status) {
    int rounds = 0;
    while (offbeat_preload_must_progress()) {
        int is_done = 0;
        int rc = NEXT(MPI_Test)(request, &is_done, status);
        if (is_done || rc != MPI_SUCCESS)
            return rc;
        offbeat_partitioned_between_rounds(&rounds);
    }
    return NEXT(MPI_Wait)(request, status);
}

static void *help(void *argument) {
    offbeat_preload_helper *helper = argument;
    while (!atomic_load(&helper->is_ending) && offbeat_partitioned_needs_progress()) {
        offbeat_partitioned_progress();
        sched_yield();
    }
    return NULL;
}

void offbeat_preload_helper_begin(offbeat_preload_helper *helper) {
    int level = MPI_THREAD_SINGLE;
    helper->is_running = 0;
    if (!offbeat_preload_must_progress() || PMPI_Query_thread(&level) != MPI_SUCCESS ||
        level < MPI_THREAD_MULTIPLE)
        return;
    atomic_init(&helper->is_ending, 0);
    helper->is_running = pthread_create(&helper->thread, NULL, help, helper) == 0;
}

void offbeat_preload_helper_end(offbeat_preload_helper *helper) {
    if (!helper->is_running)
        return;
    atomic_store(&helper->is_ending, 1);
    pthread_join(helper->thread, NULL);
}
