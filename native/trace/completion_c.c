/* SPDX-License-Identifier: BSD-3-Clause */
/* The wrappers of what starts, completes and frees requests, for C. */
#include "trace/completion.h"
#include "trace/next.h"

static offbeat_given_requests these(int count, const MPI_Request *handles) {
    return (offbeat_given_requests){.count = count, .handles = handles};
}

/* Lists of parameters can't stand in parentheses of their own. */
// NOLINTBEGIN(bugprone-macro-parentheses)

/* The real call. */
#define REAL(name, parameters) ((int(*) parameters)offbeat_next(&next, "MPI_" #name))

int MPI_Wait(MPI_Request *request, MPI_Status *status) {
    static offbeat_next_function next;
    offbeat_awaited awaited;
    offbeat_await(&awaited, OFFBEAT_TRACE_BY_WAIT, these(1, request), OFFBEAT_CALLER);
    int code = REAL(Wait, (MPI_Request *, MPI_Status *))(request, status);
    offbeat_arrived_all(&awaited, code, 1);
    return code;
}

int MPI_Waitall(int count, MPI_Request requests[], MPI_Status statuses[]) {
    static offbeat_next_function next;
    offbeat_awaited awaited;
    offbeat_await(&awaited, OFFBEAT_TRACE_BY_WAITALL, these(count, requests), OFFBEAT_CALLER);
    int code = REAL(Waitall, (int, MPI_Request *, MPI_Status *))(count, requests, statuses);
    offbeat_arrived_all(&awaited, code, 1);
    return code;
}

int MPI_Waitany(int count, MPI_Request requests[], int *index, MPI_Status *status) {
    static offbeat_next_function next;
    offbeat_awaited awaited;
    offbeat_await(&awaited, OFFBEAT_TRACE_BY_WAITANY, these(count, requests), OFFBEAT_CALLER);
    int code = REAL(Waitany, (int, MPI_Request *, int *, MPI_Status *))(count, requests, index, status);
    offbeat_arrived_some(&awaited, code, 1, index, 0);
    return code;
}

int MPI_Waitsome(int count, MPI_Request requests[], int *done, int indices[], MPI_Status statuses[]) {
    static offbeat_next_function next;
    offbeat_awaited awaited;
    offbeat_await(&awaited, OFFBEAT_TRACE_BY_WAITSOME, these(count, requests), OFFBEAT_CALLER);
    int code = REAL(Waitsome, (int, MPI_Request *, int *, int *, MPI_Status *))(count, requests, done,
                                                                                indices, statuses);
    offbeat_arrived_some(&awaited, code, *done, indices, 0);
    return code;
}

int MPI_Test(MPI_Request *request, int *flag, MPI_Status *status) {
    static offbeat_next_function next;
    offbeat_awaited awaited;
    offbeat_await(&awaited, OFFBEAT_TRACE_BY_TEST, these(1, request), OFFBEAT_CALLER);
    int code = REAL(Test, (MPI_Request *, int *, MPI_Status *))(request, flag, status);
    offbeat_arrived_all(&awaited, code, *flag != 0);
    return code;
}

int MPI_Testall(int count, MPI_Request requests[], int *flag, MPI_Status statuses[]) {
    static offbeat_next_function next;
    offbeat_awaited awaited;
    offbeat_await(&awaited, OFFBEAT_TRACE_BY_TESTALL, these(count, requests), OFFBEAT_CALLER);
    int code = REAL(Testall, (int, MPI_Request *, int *, MPI_Status *))(count, requests, flag, statuses);
    offbeat_arrived_all(&awaited, code, *flag != 0);
    return code;
}

int MPI_Testany(int count, MPI_Request requests[], int *index, int *flag, MPI_Status *status) {
    static offbeat_next_function next;
    offbeat_awaited awaited;
    offbeat_await(&awaited, OFFBEAT_TRACE_BY_TESTANY, these(count, requests), OFFBEAT_CALLER);
    int code =
        REAL(Testany, (int, MPI_Request *, int *, int *, MPI_Status *))(count, requests, index, flag, status);
    offbeat_arrived_some(&awaited, code, *flag != 0, index, 0);
    return code;
}

int MPI_Testsome(int count, MPI_Request requests[], int *done, int indices[], MPI_Status statuses[]) {
    static offbeat_next_function next;
    offbeat_awaited awaited;
    offbeat_await(&awaited, OFFBEAT_TRACE_BY_TESTSOME, these(count, requests), OFFBEAT_CALLER);
    int code = REAL(Testsome, (int, MPI_Request *, int *, int *, MPI_Status *))(count, requests, done,
                                                                                indices, statuses);
    offbeat_arrived_some(&awaited, code, *done, indices, 0);
    return code;
}

int MPI_Start(MPI_Request *request) {
    static offbeat_next_function next;
    offbeat_awaited awaited;
    offbeat_await(&awaited, OFFBEAT_TRACE_BY_NONE, these(1, request), OFFBEAT_CALLER);
    int code = REAL(Start, (MPI_Request *))(request);
    offbeat_started(&awaited, code);
    return code;
}

int MPI_Startall(int count, MPI_Request requests[]) {
    static offbeat_next_function next;
    offbeat_awaited awaited;
    offbeat_await(&awaited, OFFBEAT_TRACE_BY_NONE, these(count, requests), OFFBEAT_CALLER);
    int code = REAL(Startall, (int, MPI_Request *))(count, requests);
    offbeat_started(&awaited, code);
    return code;
}

int MPI_Request_free(MPI_Request *request) {
    static offbeat_next_function next;
    offbeat_awaited awaited;
    offbeat_await(&awaited, OFFBEAT_TRACE_BY_FREE, these(1, request), OFFBEAT_CALLER);
    int code = REAL(Request_free, (MPI_Request *))(request);
    offbeat_freed(&awaited, code);
    return code;
}
// NOLINTEND(bugprone-macro-parentheses)
