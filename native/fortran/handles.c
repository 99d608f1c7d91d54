/* SPDX-License-Identifier: BSD-3-Clause */
#include "fortran/handles.h"

#include <stddef.h>

static MPI_Comm communicator(int64_t handle) {
    return PMPI_Comm_f2c((MPI_Fint)handle);
}

static offbeat_clock *clock_at(int64_t address) {
    return (offbeat_clock *)(intptr_t)address;
}

int offbeat_fortran_harmonize(int64_t comm, int *flag) {
    return MPIX_Harmonize(communicator(comm), flag);
}

int offbeat_fortran_harmonize_delayed(int64_t comm, int64_t delay_ns, offbeat_start *start) {
    return MPIX_Harmonize_delayed(communicator(comm), delay_ns, start);
}

int64_t offbeat_fortran_harmonize_clock(int64_t comm) {
    return (intptr_t)MPIX_Harmonize_clock(communicator(comm));
}

int offbeat_fortran_clock_create(int64_t comm, int64_t *clock) {
    offbeat_clock *new_clock = NULL;
    int rc = offbeat_clock_create(communicator(comm), &new_clock);
    *clock = (intptr_t)new_clock;
    return rc;
}

int offbeat_fortran_clock_sync(int64_t clock) {
    return offbeat_clock_sync(clock_at(clock));
}

int offbeat_fortran_clock_free(int64_t *clock) {
    offbeat_clock *old_clock = clock_at(*clock);
    *clock = 0;
    return offbeat_clock_free(&old_clock);
}

void offbeat_fortran_clock_at(int64_t clock, int64_t local_ns, offbeat_instant *instant) {
    *instant = offbeat_clock_at(clock_at(clock), local_ns);
}

int64_t offbeat_fortran_clock_local_ns(int64_t clock) {
    return offbeat_clock_local_ns(clock_at(clock));
}

int64_t offbeat_fortran_clock_to_local_ns(int64_t clock, int64_t global_ns) {
    return offbeat_clock_to_local_ns(clock_at(clock), global_ns);
}

int offbeat_fortran_clock_is_shared(int64_t clock) {
    return offbeat_clock_is_shared(clock_at(clock));
}
