/* SPDX-License-Identifier: BSD-3-Clause */
#include "trace/call.h"

#include "trace/handles.h"
#include "trace/mappings.h"
#include "trace/requests.h"

int offbeat_call_is_chosen(const offbeat_call *call) {
    const offbeat_wishes *wishes = &offbeat_process.wishes;
    const offbeat_trace_record *record = &call->record;
    return call->comm->is_wanted && wishes->takes[record->function] &&
           (wishes->every == 1 || record->sequence % wishes->every == 0 ||
            offbeat_functions[record->function].mode == OFFBEAT_TRACE_PERSISTENT);
}

void offbeat_call_write(offbeat_call *call) {
    offbeat_mappings_see(call->lane, call->record.address);
    offbeat_lane_write(call->lane, &call->record);
}

void offbeat_call_issued(offbeat_call *call, MPI_Request request, int is_persistent) {
    if (!(call->record.flags & OFFBEAT_TRACE_FAILED))
        offbeat_request_made(request, &call->record, is_persistent);
    offbeat_call_write(call);
}
