/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file traced_call.h
 * What wrappers of collectives and of constructors of communicators do before and after the MPI library's
 * function.
 *
 * The clock is read as the last step before that function and the first step after it; arguments are read
 * afterwards. A nested wrapper (in a Fortran library that calls the C functions, for example) records
 * nothing.
 */
#ifndef OFFBEAT_TRACE_TRACED_CALL_H
#define OFFBEAT_TRACE_TRACED_CALL_H

#include "inject/inject.h"
#include "trace/call_path.h"
#include "trace/communicators.h"
#include "trace/process_state.h"

/** The state of a call between enter and leave. */
typedef struct offbeat_tracer_call {
    offbeat_tracer_thread *thread;
    const offbeat_tracer_communicator
        *comm; /**< NULL: the call is not traced, and `record` is uninitialised */
    int is_recorded;
    const void *stack_pointer; /**< of the caller */
    offbeat_trace_record record;
} offbeat_tracer_call;

/* --- MPI's functions --- */

/** Whether the wrapper that this thread enters now was called by its PMPI name. The trampolines set it. */
extern _Thread_local int offbeat_tracer_has_pmpi_name
    __attribute__((tls_model("initial-exec"), visibility("default")));

/** A wrapper's cache of the functions that it calls: of a call by the MPI name, the next function of this
 * name after the tracer's, which is the MPI library's or another tool's; of a call by the PMPI name, the MPI
 * library's, as the caller bypasses all tools. */
typedef struct offbeat_tracer_next_functions {
    _Atomic(void *) by_name[2]; /**< MPI, PMPI */
} offbeat_tracer_next_functions;

/** Whether the wrapper was called by its PMPI name; call it as the first step of a wrapper. */
OFFBEAT_TRACER_INLINE int offbeat_tracer_take_name(void) {
    const int is_pmpi = offbeat_tracer_has_pmpi_name;
    offbeat_tracer_has_pmpi_name = 0;
    return is_pmpi;
}

/** Looks up a function for offbeat_tracer_next. Aborts with a message if the MPI library does not have it. */
void *offbeat_tracer_look_up_next(offbeat_tracer_next_functions *next, int is_pmpi, const char *pmpi_name);

/** The function that a wrapper calls. @param pmpi_name its name with the prefix P or p */
OFFBEAT_TRACER_INLINE void *offbeat_tracer_next(offbeat_tracer_next_functions *next, int is_pmpi,
                                                const char *pmpi_name) {
    void *function = atomic_load_explicit(&next->by_name[is_pmpi], memory_order_relaxed);
    return function != NULL ? function : offbeat_tracer_look_up_next(next, is_pmpi, pmpi_name);
}

/** Whether a buffer is MPI_IN_PLACE of mpif.h, or of a module whose buffers are addresses. */
int offbeat_tracer_is_in_place(const void *buffer);

/** Whether the buffer of a C descriptor is MPI_IN_PLACE of mpi_f08. */
int offbeat_tracer_is_descriptor_in_place(const void *descriptor);

/** Whether a status, or an array of statuses, is MPI_STATUS_IGNORE or MPI_STATUSES_IGNORE of any binding. */
int offbeat_tracer_is_status_ignored(const void *status);

/* --- injected delays, which are outside of the recorded time of a call --- */

/** Of MPI_Pcontrol, only the marks of iterations can be delayed. */
#define OFFBEAT_MARK(level) ((level) == 2 ? OFFBEAT_Pcontrol : OFFBEAT_NO_FUNCTION)

/** Counts a call of the program and waits, if delays are injected. @return for how many ns to wait after it
 */
OFFBEAT_TRACER_INLINE int64_t offbeat_tracer_delay(int function) {
    return function != OFFBEAT_NO_FUNCTION &&
                   atomic_load_explicit(&offbeat_inject_is_active, memory_order_relaxed) &&
                   offbeat_tracer_this_thread.depth == 0
               ? offbeat_inject_enter(function)
               : 0;
}

OFFBEAT_TRACER_INLINE void offbeat_tracer_delay_after(int64_t delay_ns) {
    if (delay_ns > 0)
        offbeat_inject_wait(delay_ns);
}

/* --- calls that are not recorded, nor are calls from inside them --- */

/** Enters a call. @return whether this is the outermost wrapper */
static inline int offbeat_tracer_unrecorded_enter(void) {
    return offbeat_tracer_this_thread.depth++ == 0;
}

/** Leaves a call. @return whether this is the outermost wrapper */
static inline int offbeat_tracer_unrecorded_leave(void) {
    return --offbeat_tracer_this_thread.depth == 0;
}

/* --- collectives --- */

/** Whether sampling selects a call, apart from its time; function and sequence of its record must be set. The
 * creation of a persistent request is always selected, as its starts refer to it. */
OFFBEAT_TRACER_INLINE int offbeat_tracer_call_is_sampled(const offbeat_tracer_call *call) {
    const offbeat_tracer_config *config = &offbeat_tracer_state.config;
    const offbeat_trace_record *record = &call->record;
    return call->comm->is_sampled && config->is_recorded[record->function] &&
           (config->period == 1 || record->sequence % config->period == 0 ||
            offbeat_tracer_functions[record->function].mode == OFFBEAT_TRACE_PERSISTENT);
}

/** Writes the record of a call. */
OFFBEAT_TRACER_INLINE void offbeat_tracer_call_write(offbeat_tracer_call *call) {
    call->record.address = offbeat_tracer_call_site(
        call->thread,
        (offbeat_tracer_caller){(const void *)(uintptr_t)call->record.address, call->stack_pointer});
    offbeat_tracer_write_record(call->thread, &call->record);
}

/** Increments the nesting depth. @return whether this is the outermost wrapper of a process that is traced */
OFFBEAT_TRACER_INLINE int offbeat_tracer_call_is_outermost(offbeat_tracer_call *call) {
    call->thread = &offbeat_tracer_this_thread;
    call->comm = NULL;
    call->is_recorded = 0;
    return call->thread->depth++ == 0 &&
           atomic_load_explicit(&offbeat_tracer_is_tracing, memory_order_relaxed);
}

/** Enters a call: counts it on its communicator, and reads the clock. @param caller OFFBEAT_TRACER_CALLER */
OFFBEAT_TRACER_INLINE void offbeat_tracer_call_enter(offbeat_tracer_call *call, uint16_t function,
                                                     uint16_t flags, MPI_Comm comm,
                                                     offbeat_tracer_caller caller) {
    if (!offbeat_tracer_call_is_outermost(call) || comm == MPI_COMM_NULL)
        return;
    offbeat_tracer_communicator *communicator = offbeat_tracer_communicator_cached(call->thread, comm);
    if (communicator == NULL)
        return;
    call->comm = communicator;
    call->stack_pointer = caller.stack_pointer;
    call->record = (offbeat_trace_record){.address = (uint64_t)(uintptr_t)caller.address,
                                          .communicator = communicator->id,
                                          .sequence = offbeat_tracer_next_sequence(communicator),
                                          .root = -1,
                                          .function = function,
                                          .flags = flags};
    if (!offbeat_tracer_call_is_sampled(call))
        return;
    call->record.enter_ns = offbeat_tracer_timestamp_ns(&call->thread->timestamps);
    call->is_recorded = offbeat_tracer_in_window(call->record.enter_ns) ||
                        offbeat_tracer_functions[function].mode == OFFBEAT_TRACE_PERSISTENT;
}

/** Leaves a call. @return whether offbeat_tracer_call_write or offbeat_tracer_call_issued (issued_call.h)
 * must follow */
OFFBEAT_TRACER_INLINE int offbeat_tracer_call_leave(offbeat_tracer_call *call, int code) {
    if (call->is_recorded) {
        call->record.exit_ns = offbeat_tracer_timestamp_ns(&call->thread->timestamps);
        if (code != MPI_SUCCESS)
            call->record.flags |= OFFBEAT_TRACE_FAILED;
    }
    call->thread->depth--;
    return call->is_recorded;
}

/* --- constructors of communicators --- */

/** Leaves a constructor that was called on a communicator: defines the new one, and writes the record.
 * @param newcomm MPI_COMM_NULL: there is none, here and below */
void offbeat_tracer_constructor_leave(offbeat_tracer_call *call, int code, MPI_Comm newcomm);

/** Enters a constructor that is called by the processes of the new communicator only, whose first call it is.
 */
void offbeat_tracer_group_constructor_enter(offbeat_tracer_call *call, uint16_t function, uint16_t flags,
                                            offbeat_tracer_caller caller);
void offbeat_tracer_group_constructor_leave(offbeat_tracer_call *call, MPI_Comm newcomm);

/** Enters a destructor: writes the communicator's last name. */
void offbeat_tracer_destructor_enter(offbeat_tracer_call *call, uint16_t function, uint16_t flags,
                                     MPI_Comm comm, offbeat_tracer_caller caller);

#endif
