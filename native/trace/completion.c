/* SPDX-License-Identifier: BSD-3-Clause */
#include "trace/completion.h"

#include "trace/communicators.h"
#include "trace/process.h"

#include <stdlib.h>

static void look_up(offbeat_awaited *awaited, const offbeat_given_requests *given) {
    for (int i = 0; i < given->count; i++) {
        MPI_Request handle =
            given->handles != NULL ? given->handles[i] : PMPI_Request_f2c(given->fortrans[i]);
        offbeat_request *request = offbeat_request_claim(handle);
        if (request != NULL)
            awaited->found[awaited->count++] = (offbeat_awaited_request){i, request};
    }
}

void offbeat_await(offbeat_awaited *awaited, int by, offbeat_given_requests given, offbeat_caller caller) {
    awaited->lane = &offbeat_own_lane;
    awaited->count = 0;
    awaited->found = awaited->few;
    awaited->caller = caller;
    awaited->flags = (uint16_t)(by << OFFBEAT_TRACE_BY_SHIFT);
    if (awaited->lane->depth++ > 0 || offbeat_requests_known == 0 || !offbeat_is_tracing)
        return;
    if (given.count > OFFBEAT_FEW_REQUESTS)
        awaited->found = malloc(sizeof *awaited->found * (size_t)given.count);
    if (awaited->found == NULL) /* no memory: their completion goes unrecorded */
        awaited->found = awaited->few;
    else
        look_up(awaited, &given);
    if (awaited->count > 0)
        awaited->enter_ns = offbeat_stamp(&awaited->lane->stamps);
}

static void leave(offbeat_awaited *awaited) {
    awaited->lane->depth--;
    if (awaited->found != awaited->few)
        free(awaited->found);
}

static void write(offbeat_awaited *awaited, const offbeat_request *request, uint16_t phase, int code,
                  int64_t exit_ns) {
    const uint16_t old = request->record.flags & (uint16_t) ~(OFFBEAT_TRACE_PHASE | OFFBEAT_TRACE_FAILED);
    offbeat_trace_record record = request->record;
    record.enter_ns = awaited->enter_ns;
    record.exit_ns = exit_ns;
    record.address = offbeat_call_site(awaited->lane, awaited->caller);
    record.flags = old | awaited->flags | phase | (code == MPI_SUCCESS ? 0 : OFFBEAT_TRACE_FAILED);
    offbeat_lane_write(awaited->lane, &record);
}

/* A communicator that was being made is there. */
static void define_made(const offbeat_request *request) {
    MPI_Comm made = request->made != NULL ? *request->made : PMPI_Comm_f2c(*request->made_for_fortran);
    offbeat_communicator_made(made, request->record.communicator, request->record.function);
}

static void complete(offbeat_awaited *awaited, offbeat_request *request, int code, int64_t exit_ns) {
    if (request->is_active && request->is_kept)
        write(awaited, request, OFFBEAT_TRACE_COMPLETION, code, exit_ns);
    if (code == MPI_SUCCESS && (request->made != NULL || request->made_for_fortran != NULL))
        define_made(request);
    request->is_active = 0;
    if (request->is_persistent)
        offbeat_request_release(request);
    else
        offbeat_request_forget(request);
}

void offbeat_arrived_all(offbeat_awaited *awaited, int code, int are_all) {
    const int64_t exit_ns = awaited->count > 0 ? offbeat_stamp(&awaited->lane->stamps) : 0;
    for (int i = 0; i < awaited->count; i++) {
        if (are_all)
            complete(awaited, awaited->found[i].request, code, exit_ns);
        else
            offbeat_request_release(awaited->found[i].request);
    }
    leave(awaited);
}

static int is_among(int index, int count, const int *indices, int first) {
    for (int i = 0; i < count; i++)
        if (indices[i] - first == index)
            return 1;
    return 0;
}

void offbeat_arrived_some(offbeat_awaited *awaited, int code, int count, const int *indices, int first) {
    const int64_t exit_ns = awaited->count > 0 ? offbeat_stamp(&awaited->lane->stamps) : 0;
    for (int i = 0; i < awaited->count; i++) {
        offbeat_awaited_request *found = &awaited->found[i];
        if (count != MPI_UNDEFINED && is_among(found->index, count, indices, first))
            complete(awaited, found->request, code, exit_ns);
        else
            offbeat_request_release(found->request);
    }
    leave(awaited);
}

void offbeat_started(offbeat_awaited *awaited, int code) {
    const int64_t exit_ns = awaited->count > 0 ? offbeat_stamp(&awaited->lane->stamps) : 0;
    for (int i = 0; i < awaited->count; i++) {
        offbeat_request *request = awaited->found[i].request;
        if (request->is_persistent) {
            uint32_t round = ++request->record.round;
            request->is_active = code == MPI_SUCCESS;
            request->is_kept =
                (round - 1) % offbeat_process.wishes.every == 0 && offbeat_is_time(awaited->enter_ns);
            if (request->is_kept)
                write(awaited, request, OFFBEAT_TRACE_START, code, exit_ns);
        }
        offbeat_request_release(request);
    }
    leave(awaited);
}

void offbeat_freed(offbeat_awaited *awaited, int code) {
    for (int i = 0; i < awaited->count; i++) {
        offbeat_request *request = awaited->found[i].request;
        if (request->is_active && request->is_kept)
            write(awaited, request, OFFBEAT_TRACE_COMPLETION, code, offbeat_stamp(&awaited->lane->stamps));
        offbeat_request_forget(request);
    }
    leave(awaited);
}
