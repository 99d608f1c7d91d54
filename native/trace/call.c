/* SPDX-License-Identifier: BSD-3-Clause */
#include "trace/call.h"

#include "trace/requests.h"

void offbeat_call_issued(offbeat_call *call, MPI_Request request, int is_persistent) {
    if (!(call->record.flags & OFFBEAT_TRACE_FAILED))
        offbeat_request_made(request, &call->record, is_persistent);
    offbeat_call_write(call);
}
