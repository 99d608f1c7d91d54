/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file call.h
 * What every wrapper of a collective does around the real call.
 *
 * The time is taken last before and first after it; what the arguments mean is looked at afterwards. A
 * wrapper that is called from another wrapper's real call (a Fortran library that goes through C) does
 * nothing.
 */
#ifndef OFFBEAT_TRACE_CALL_H
#define OFFBEAT_TRACE_CALL_H

#include "trace/arguments.h"
#include "trace/call_path.h"
#include "trace/communicators.h"
#include "trace/functions.h"
#include "trace/process.h"

/** A call that is going on. */
typedef struct offbeat_call {
    offbeat_lane *lane;
    const offbeat_communicator *comm; /**< NULL: nothing is recorded, and `record` is of no use */
    int is_kept;                      /**< its record is wanted */
    const void *frame;                /**< of the caller: offbeat_caller */
    offbeat_trace_record record;
} offbeat_call;

/** Remembers a request that a call made, and writes the record of the call. */
void offbeat_call_issued(offbeat_call *call, MPI_Request request, int is_persistent);

/**
 * Whether sampling takes a call, but for the time at which it is; `record` has its function and sequence.
 * That a persistent one was made is always taken: its starts aren't known without.
 */
OFFBEAT_INLINE int offbeat_call_is_chosen(const offbeat_call *call) {
    const offbeat_wishes *wishes = &offbeat_process.wishes;
    const offbeat_trace_record *record = &call->record;
    return call->comm->is_wanted && wishes->takes[record->function] &&
           (wishes->every == 1 || record->sequence % wishes->every == 0 ||
            offbeat_functions[record->function].mode == OFFBEAT_TRACE_PERSISTENT);
}

/** Writes the record of a call that is kept. */
OFFBEAT_INLINE void offbeat_call_write(offbeat_call *call) {
    call->record.address = offbeat_call_site(
        call->lane, (offbeat_caller){(const void *)(uintptr_t)call->record.address, call->frame});
    offbeat_lane_write(call->lane, &call->record);
}

/** Whether this call is the outermost one of a process that is traced. */
OFFBEAT_INLINE int offbeat_call_is_outermost(offbeat_call *call) {
    call->lane = &offbeat_own_lane;
    call->comm = NULL;
    call->is_kept = 0;
    return call->lane->depth++ == 0 && atomic_load_explicit(&offbeat_is_tracing, memory_order_relaxed);
}

/**
 * Enters a call: counts it on its communicator, and takes the time.
 * @param caller  of the wrapper: OFFBEAT_CALLER
 */
OFFBEAT_INLINE void offbeat_call_enter(offbeat_call *call, uint16_t function, uint16_t flags, MPI_Comm comm,
                                       offbeat_caller caller) {
    if (!offbeat_call_is_outermost(call) || comm == MPI_COMM_NULL)
        return;
    offbeat_communicator *known = offbeat_communicator_of(call->lane, comm);
    if (known == NULL)
        return;
    call->comm = known;
    call->frame = caller.frame;
    call->record = (offbeat_trace_record){.address = (uint64_t)(uintptr_t)caller.address,
                                          .communicator = known->id,
                                          .sequence = offbeat_communicator_next(known),
                                          .root = -1,
                                          .function = function,
                                          .flags = flags};
    if (!offbeat_call_is_chosen(call))
        return;
    call->record.enter_ns = offbeat_stamp(&call->lane->stamps);
    call->is_kept = offbeat_is_time(call->record.enter_ns) ||
                    offbeat_functions[function].mode == OFFBEAT_TRACE_PERSISTENT;
}

/** Leaves a call. @return whether its arguments are wanted and offbeat_call_write or _issued must follow */
OFFBEAT_INLINE int offbeat_call_leave(offbeat_call *call, int code) {
    if (call->is_kept) {
        call->record.exit_ns = offbeat_stamp(&call->lane->stamps);
        if (code != MPI_SUCCESS)
            call->record.flags |= OFFBEAT_TRACE_FAILED;
    }
    call->lane->depth--;
    return call->is_kept;
}

#endif
