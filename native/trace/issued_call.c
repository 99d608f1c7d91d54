/* SPDX-License-Identifier: BSD-3-Clause */
#include "trace/issued_call.h"

#include "trace/requests.h"

void offbeat_tracer_call_issued(offbeat_tracer_call *call, MPI_Request request, int is_persistent) {
    if (!(call->record.flags & OFFBEAT_TRACE_FAILED))
        offbeat_tracer_request_add(request, &call->record, is_persistent);
    offbeat_tracer_call_write(call);
}

void offbeat_tracer_nonblocking_constructor_leave(offbeat_tracer_call *call, int code, MPI_Request request,
                                                  const MPI_Comm *newcomm, const MPI_Fint *newcomm_fortran) {
    int is_recorded = offbeat_tracer_call_leave(call, code);
    if (call->comm != NULL && code == MPI_SUCCESS)
        offbeat_tracer_request_add_constructor(request, &call->record, is_recorded, newcomm, newcomm_fortran);
    if (is_recorded)
        offbeat_tracer_call_write(call);
}
