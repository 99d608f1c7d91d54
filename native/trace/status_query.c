/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The statuses of the requests of an MPI_Waitall that ignores them, by MPI_Request_get_status before it,
 * which changes no request. MPI_Waitall itself gets what the program passed: after an error, Open MPI 5
 * reports other errors, and MPICH 5 and Intel MPI complete other requests, with statuses than without.
 */
#include "trace/requests.h"

#include <string.h>

static offbeat_tracer_request_table *const table = &offbeat_tracer_requests;

/* Whether the status of a request states something that the arguments of its issue do not. */
static int is_needed(uintptr_t handle) {
    const offbeat_tracer_request *request = offbeat_tracer_request_find(table, handle);
    return request != NULL && request->is_message && request->is_active &&
           (request->message.kind == OFFBEAT_TRACE_RECEIVE || request->is_cancelled);
}

/* --- error handlers --- */

#ifdef OPEN_MPI

/* MPI_Request_get_status does not report the error of the request. MPI_Waitall returns at the first one. */
enum { IS_FIRST_ERROR_LAST = 1 };

typedef struct error_handlers {
    char filler;
} error_handlers;

static int silence(error_handlers *handlers) {
    handlers->filler = 0;
    return 1;
}

static void restore(error_handlers *handlers) {
    (void)handlers;
}

#else

/* MPI_Waitall waits for all requests before it reports an error. */
enum { IS_FIRST_ERROR_LAST = 0, COMM_COUNT = 2 };

/* Of the communicators to which the library assigns the errors of calls without a communicator: MPI_COMM_SELF
 * since MPI 4.0, MPI_COMM_WORLD before. */
typedef struct error_handlers {
    MPI_Errhandler handlers[COMM_COUNT];
} error_handlers;

static const MPI_Comm comms[COMM_COUNT] = {MPI_COMM_SELF, MPI_COMM_WORLD};

/* MPI_Request_get_status reports the error of the request, and so would MPI_Waitall again: errors are only
 * returned meanwhile. @return 0 if other threads could have an error meanwhile, or if there are sessions only
 */
static int silence(error_handlers *handlers_before) {
    int has_world = 0;
    if (offbeat_tracer_requests_pool.is_shared || PMPI_Initialized(&has_world) != MPI_SUCCESS || !has_world)
        return 0;
    for (int i = 0; i < COMM_COUNT; i++) {
        PMPI_Comm_get_errhandler(comms[i], &handlers_before->handlers[i]);
        PMPI_Comm_set_errhandler(comms[i], MPI_ERRORS_RETURN);
    }
    return 1;
}

static int is_predefined(MPI_Errhandler handler) {
#ifdef MPI_ERRORS_ABORT
    if (handler == MPI_ERRORS_ABORT)
        return 1;
#endif
    return handler == MPI_ERRORS_ARE_FATAL || handler == MPI_ERRORS_RETURN;
}

static void restore(error_handlers *handlers_before) {
    for (int i = 0; i < COMM_COUNT; i++) {
        PMPI_Comm_set_errhandler(comms[i], handlers_before->handlers[i]);
        if (!is_predefined(handlers_before->handlers[i]))
            PMPI_Errhandler_free(&handlers_before->handlers[i]);
    }
}

#endif

/* --- queries --- */

/* Queries the status of a request, whose MPI_ERROR is MPI_ERR_PENDING until the request is complete. */
static void query(uintptr_t handle, MPI_Status *status) {
    const offbeat_tracer_request *request = offbeat_tracer_request_find(table, handle);
    int is_complete = 0;
    status->MPI_ERROR = MPI_SUCCESS;
    const int code = PMPI_Request_get_status((MPI_Request)handle, &is_complete, status);
    if (!is_complete)
        status->MPI_ERROR = MPI_ERR_PENDING;
    else if (code != MPI_SUCCESS)
        status->MPI_ERROR = code;
    else if (request != NULL && request->send_request != NULL) /* MPI_Isendrecv does not set it */
        status->MPI_ERROR = MPI_SUCCESS;
}

/* Waits for the requests that are pending. */
static void wait_for(const uintptr_t *handles, MPI_Status *statuses, int count) {
    int has_failed = 0, is_waiting;
    do {
        is_waiting = 0;
        for (int i = 0; i < count; i++) {
            if (statuses[i].MPI_ERROR != MPI_ERR_PENDING)
                continue;
            query(handles[i], &statuses[i]);
            is_waiting |= statuses[i].MPI_ERROR == MPI_ERR_PENDING;
            has_failed |= statuses[i].MPI_ERROR != MPI_ERR_PENDING && statuses[i].MPI_ERROR != MPI_SUCCESS;
        }
    } while (is_waiting && !(has_failed && IS_FIRST_ERROR_LAST));
}

void offbeat_tracer_completion_query(offbeat_tracer_completion *completion, MPI_Status *statuses) {
    error_handlers handlers;
    int needed_count = 0;
    for (int i = 0; i < completion->count; i++) {
        const int is_pending = is_needed(completion->handles[i]);
        memset(&statuses[i], 0, sizeof statuses[i]);
        statuses[i].MPI_SOURCE = MPI_PROC_NULL; /* states nothing */
        statuses[i].MPI_ERROR = is_pending ? MPI_ERR_PENDING : MPI_SUCCESS;
        needed_count += is_pending;
    }
    if (needed_count == 0 || !silence(&handlers))
        return;
    wait_for(completion->handles, statuses, completion->count);
    restore(&handlers);
    completion->queried_statuses = statuses;
}
