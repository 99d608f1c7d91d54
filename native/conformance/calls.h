/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file calls.h
 * The functions under test. Cases are written with the names of MPI 4. CONFORMANCE_OF_OFFBEAT compiles them
 * for offbeat's own library, CONFORMANCE_OF_DEFECTS for an implementation with defects, which tests the
 * cases themselves. Calls that only complete the cases' own messages use PMPI names.
 */
#ifndef OFFBEAT_CONFORMANCE_CALLS_H
#define OFFBEAT_CONFORMANCE_CALLS_H

#include <mpi.h>

#if defined(CONFORMANCE_OF_OFFBEAT) || defined(CONFORMANCE_OF_DEFECTS)
#include <offbeat/partitioned.h>

typedef offbeat_prequest partitioned_request;
#define PARTITIONED_REQUEST_NULL OFFBEAT_PREQUEST_NULL
#define ATTACH(COMM) MUST(offbeat_partitioned_attach(COMM, MPI_INFO_NULL))
#else
typedef MPI_Request partitioned_request;
#define PARTITIONED_REQUEST_NULL MPI_REQUEST_NULL
#define ATTACH(COMM) ((void)(COMM))
#endif

#if defined(CONFORMANCE_OF_DEFECTS)
#include "conformance/defects.h"
#define CONFORMANCE_NAME(NAME) defective_##NAME
#elif defined(CONFORMANCE_OF_OFFBEAT)
#define CONFORMANCE_NAME(NAME) offbeat_##NAME
#endif

#ifdef CONFORMANCE_NAME
#define MPI_Psend_init CONFORMANCE_NAME(psend_init)
#define MPI_Precv_init CONFORMANCE_NAME(precv_init)
#define MPI_Start CONFORMANCE_NAME(pstart)
#define MPI_Startall CONFORMANCE_NAME(pstartall)
#define MPI_Pready CONFORMANCE_NAME(pready)
#define MPI_Pready_range CONFORMANCE_NAME(pready_range)
#define MPI_Pready_list CONFORMANCE_NAME(pready_list)
#define MPI_Parrived CONFORMANCE_NAME(parrived)
#define MPI_Test CONFORMANCE_NAME(ptest)
#define MPI_Testall CONFORMANCE_NAME(ptestall)
#define MPI_Testany CONFORMANCE_NAME(ptestany)
#define MPI_Testsome CONFORMANCE_NAME(ptestsome)
#define MPI_Wait CONFORMANCE_NAME(pwait)
#define MPI_Waitall CONFORMANCE_NAME(pwaitall)
#define MPI_Waitany CONFORMANCE_NAME(pwaitany)
#define MPI_Waitsome CONFORMANCE_NAME(pwaitsome)
#define MPI_Request_free CONFORMANCE_NAME(prequest_free)
#define MPI_Cancel CONFORMANCE_NAME(pcancel)
#endif

#endif
