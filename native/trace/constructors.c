/* SPDX-License-Identifier: BSD-3-Clause */
#include "trace/constructors.h"

#include "trace/requests.h"

void offbeat_constructor_leave(offbeat_call *call, int code, const MPI_Comm *made) {
    int is_kept = offbeat_call_leave(call, code);
    if (call->comm != NULL && code == MPI_SUCCESS)
        offbeat_communicator_made(*made, call->record.communicator, call->record.function);
    if (is_kept)
        offbeat_call_write(call);
}

void offbeat_group_constructor_enter(offbeat_call *call, uint16_t function, uint16_t flags,
                                     offbeat_caller caller) {
    if (!offbeat_call_is_outermost(call))
        return;
    call->record = (offbeat_trace_record){
        .address = (uint64_t)(uintptr_t)caller.address, .root = -1, .function = function, .flags = flags};
    call->frame = caller.frame;
    call->record.enter_ns = offbeat_stamp(&call->lane->stamps);
}

void offbeat_group_constructor_leave(offbeat_call *call, int code, const MPI_Comm *made) {
    int is_outermost = --call->lane->depth == 0 && atomic_load(&offbeat_is_tracing);
    if (!is_outermost || code != MPI_SUCCESS || *made == MPI_COMM_NULL)
        return;
    call->record.exit_ns = offbeat_stamp(&call->lane->stamps);
    offbeat_communicator_made(*made, 0, call->record.function);
    offbeat_communicator *known = offbeat_communicator_of(call->lane, *made);
    if (known == NULL)
        return;
    call->comm = known;
    call->record.communicator = known->id;
    call->record.sequence = offbeat_communicator_next(known);
    if (offbeat_call_is_chosen(call) && offbeat_is_time(call->record.enter_ns))
        offbeat_call_write(call);
}

void offbeat_idle_constructor_leave(offbeat_call *call, int code, MPI_Request request, const MPI_Comm *made,
                                    const MPI_Fint *made_for_fortran) {
    int is_kept = offbeat_call_leave(call, code);
    if (call->comm != NULL && code == MPI_SUCCESS)
        offbeat_request_makes(request, &call->record, is_kept, made, made_for_fortran);
    if (is_kept)
        offbeat_call_write(call);
}

void offbeat_destructor_enter(offbeat_call *call, uint16_t function, uint16_t flags, MPI_Comm comm,
                              offbeat_caller caller) {
    if (offbeat_own_lane.depth == 0 && atomic_load(&offbeat_is_tracing) && comm != MPI_COMM_NULL) {
        const offbeat_communicator *known = offbeat_communicator_of(&offbeat_own_lane, comm);
        if (known != NULL)
            offbeat_communicator_define_name(known);
    }
    offbeat_call_enter(call, function, flags, comm, caller);
}
