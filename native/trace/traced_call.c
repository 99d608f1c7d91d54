/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE /* RTLD_DEFAULT */
#include "trace/traced_call.h"

#include "trace/loaded_objects.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

/* --- MPI's functions --- */

void *offbeat_tracer_look_up_next(offbeat_tracer_next_functions *next, int is_pmpi, const char *pmpi_name) {
    const char *name = is_pmpi ? pmpi_name : pmpi_name + 1;
    void *function = offbeat_tracer_next_symbol(name);
    if (function == NULL) {
        fprintf(stderr,
                "offbeat: the program called %s, which its MPI library does not have; use a library that "
                "has it\n",
                name);
        PMPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
        abort();
    }
    atomic_store_explicit(&next->by_name[is_pmpi], function, memory_order_relaxed);
    return function;
}

/* MPI_IN_PLACE of Fortran is a variable, with another name in every MPI library. */
static pthread_once_t once = PTHREAD_ONCE_INIT;
static const void *const *mpich;  /* holds the variable's address after MPICH has initialised Fortran */
static const void *openmpi, *f08; /* the variables themselves */

static void look_up_in_place(void) {
    mpich = dlsym(RTLD_DEFAULT, "MPIR_F_MPI_IN_PLACE");
    f08 = dlsym(RTLD_DEFAULT, "MPIR_F08_MPI_IN_PLACE");
    openmpi = dlsym(RTLD_DEFAULT, "mpi_fortran_in_place_");
}

int offbeat_tracer_is_in_place(const void *buffer) {
    pthread_once(&once, look_up_in_place);
    return buffer != NULL && (buffer == openmpi || (mpich != NULL && buffer == *mpich));
}

int offbeat_tracer_is_descriptor_in_place(const void *descriptor) {
    if (descriptor == NULL)
        return 0;
    /* ISO_Fortran_binding.h: the address is the first member of a descriptor. */
    const void *buffer = *(const void *const *)descriptor;
    return offbeat_tracer_is_in_place(buffer) || (buffer != NULL && buffer == f08);
}

/* The same holds for ignored statuses; of these, MPI defines variables with the addresses in C. */
static pthread_once_t ignored_once = PTHREAD_ONCE_INIT;
static const void *ignored_statuses[8];

static void look_up_ignored(void) {
    static const char *const pointers[] = {"MPI_F_STATUS_IGNORE", "MPI_F_STATUSES_IGNORE",
                                           "MPI_F08_STATUS_IGNORE", "MPI_F08_STATUSES_IGNORE"};
    static const char *const variables[] = {"mpi_fortran_status_ignore_", "mpi_fortran_statuses_ignore_",
                                            "MPIR_F08_MPI_STATUS_IGNORE_OBJ",
                                            "MPIR_F08_MPI_STATUSES_IGNORE_OBJ"};
    for (size_t i = 0; i < 4; i++) {
        const void *const *pointer = offbeat_tracer_next_symbol(pointers[i]);
        ignored_statuses[i] = pointer != NULL ? *pointer : NULL;
        ignored_statuses[4 + i] = dlsym(RTLD_DEFAULT, variables[i]);
    }
}

int offbeat_tracer_is_status_ignored(const void *status) {
    pthread_once(&ignored_once, look_up_ignored);
    for (size_t i = 0; i < sizeof ignored_statuses / sizeof *ignored_statuses; i++)
        if (status == ignored_statuses[i])
            return 1;
    return 0;
}

/* --- constructors of communicators --- */

void offbeat_tracer_constructor_leave(offbeat_tracer_call *call, int code, MPI_Comm newcomm) {
    int is_recorded = offbeat_tracer_call_leave(call, code);
    if (call->comm != NULL)
        offbeat_tracer_communicator_created(newcomm, call->record.communicator, call->record.function);
    if (is_recorded)
        offbeat_tracer_call_write(call);
}

void offbeat_tracer_group_constructor_enter(offbeat_tracer_call *call, uint16_t function, uint16_t flags,
                                            offbeat_tracer_caller caller) {
    if (!offbeat_tracer_call_is_outermost(call))
        return;
    call->record = (offbeat_trace_record){
        .address = (uint64_t)(uintptr_t)caller.address, .root = -1, .function = function, .flags = flags};
    call->stack_pointer = caller.stack_pointer;
    call->record.enter_ns = offbeat_tracer_timestamp_ns(&call->thread->timestamps);
    call->is_recorded = 1; /* unless the new communicator is not */
}

void offbeat_tracer_group_constructor_leave(offbeat_tracer_call *call, MPI_Comm newcomm) {
    if (--call->thread->depth > 0 || newcomm == MPI_COMM_NULL)
        return;
    if (!call->is_recorded) {
        offbeat_tracer_created_from_groups(newcomm);
        return;
    }
    if (!atomic_load(&offbeat_tracer_is_tracing))
        return;
    call->record.exit_ns = offbeat_tracer_timestamp_ns(&call->thread->timestamps);
    offbeat_tracer_communicator_created(newcomm, 0, call->record.function);
    offbeat_tracer_communicator *communicator = offbeat_tracer_communicator_cached(call->thread, newcomm);
    if (communicator == NULL)
        return;
    call->comm = communicator;
    call->record.communicator = communicator->id;
    call->record.sequence = offbeat_tracer_next_sequence(communicator);
    if (offbeat_tracer_call_is_sampled(call) && offbeat_tracer_in_window(call->record.enter_ns))
        offbeat_tracer_call_write(call);
}

void offbeat_tracer_destructor_enter(offbeat_tracer_call *call, uint16_t function, uint16_t flags,
                                     MPI_Comm comm, offbeat_tracer_caller caller) {
    offbeat_tracer_thread *thread = &offbeat_tracer_this_thread;
    if (thread->depth == 0 && atomic_load(&offbeat_tracer_is_tracing) && comm != MPI_COMM_NULL) {
        const offbeat_tracer_communicator *communicator = offbeat_tracer_communicator_cached(thread, comm);
        if (communicator != NULL)
            offbeat_tracer_communicator_define_name(communicator);
    }
    offbeat_tracer_call_enter(call, function, flags, comm, caller);
}
