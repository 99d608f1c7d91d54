/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file message_status.h
 * The size of a received message. It is read from the member of MPI_Status in the library's mpi.h, as
 * MPI_Get_count takes a sixth of the time of a record; MPICH's members are those of all libraries of its ABI.
 */
#ifndef OFFBEAT_TRACE_MESSAGE_STATUS_H
#define OFFBEAT_TRACE_MESSAGE_STATUS_H

#include <mpi.h>
#include <stdint.h>

/** The bytes of a status that a receive or a probe has set. */
static inline uint64_t offbeat_tracer_received_bytes(const MPI_Status *status) {
#if defined(OPEN_MPI)
    return status->_ucount;
#elif defined(MPICH_VERSION)
    const uint64_t high = (uint32_t)status->count_hi_and_cancelled >> 1;
    return high << 32 | (uint32_t)status->count_lo;
#else
    MPI_Count bytes = 0;
    return PMPI_Get_elements_x(status, MPI_BYTE, &bytes) == MPI_SUCCESS && bytes > 0 ? (uint64_t)bytes : 0;
#endif
}

#endif
