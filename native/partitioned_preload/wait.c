/* SPDX-License-Identifier: BSD-3-Clause */
#define _POSIX_C_SOURCE 200809L
#include "partitioned_preload/wait.h"

#include "partitioned/complete.h"
#include "partitioned/progress.h"
#include "partitioned_preload/handles.h"
#include "partitioned_preload/next.h"

#include <offbeat/partitioned.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <time.h>

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

/* --- the thread that progresses started receives --- */

/* The time between two tests: short for a program that waits, long for one that computes on the core. */
static const struct timespec PAUSE = {.tv_nsec = 50000};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t wake = PTHREAD_COND_INITIALIZER;
static pthread_t thread;
static int is_running, is_requested;
static atomic_int is_ending;

static void progress_until_settled(void) {
    while (!atomic_load(&is_ending) && offbeat_partitioned_has_waiting()) {
        offbeat_partitioned_progress();
        nanosleep(&PAUSE, NULL);
    }
}

static void *run(void *argument) {
    pthread_mutex_lock(&lock);
    while (!atomic_load(&is_ending)) {
        if (!is_requested) {
            pthread_cond_wait(&wake, &lock);
            continue;
        }
        is_requested = 0;
        pthread_mutex_unlock(&lock);
        progress_until_settled();
        pthread_mutex_lock(&lock);
    }
    pthread_mutex_unlock(&lock);
    return argument;
}

void offbeat_preload_progress_started(void) {
    int level = MPI_THREAD_SINGLE;
    if (!offbeat_partitioned_has_waiting() || PMPI_Query_thread(&level) != MPI_SUCCESS ||
        level < MPI_THREAD_MULTIPLE)
        return;
    pthread_mutex_lock(&lock);
    is_requested = 1;
    if (!is_running && !atomic_load(&is_ending))
        is_running = pthread_create(&thread, NULL, run, NULL) == 0;
    pthread_cond_signal(&wake);
    pthread_mutex_unlock(&lock);
}

void offbeat_preload_end(void) {
    pthread_mutex_lock(&lock);
    const int was_running = is_running;
    is_running = 0;
    atomic_store(&is_ending, 1);
    pthread_cond_signal(&wake);
    pthread_mutex_unlock(&lock);
    if (was_running)
        pthread_join(thread, NULL);
    offbeat_partitioned_finalize();
}
