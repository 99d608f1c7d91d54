/* SPDX-License-Identifier: BSD-3-Clause */
/** @file functions.h  Ids and properties of the functions in wrapped_functions.h. */
#ifndef OFFBEAT_TRACE_FUNCTIONS_H
#define OFFBEAT_TRACE_FUNCTIONS_H

#include <stdint.h>

/** Ids in the trace file; 0 is no function. The ids of a collective's three variants are consecutive. */
enum {
    OFFBEAT_NO_FUNCTION,
#define OFFBEAT_COLLECTIVE(name, lower, signature, ...)                                                      \
    OFFBEAT_##name, OFFBEAT_I##lower, OFFBEAT_##name##_init,
#define OFFBEAT_CONSTRUCTOR(name, lower, parameters, names) OFFBEAT_##name,
#define OFFBEAT_GROUP_CONSTRUCTOR OFFBEAT_CONSTRUCTOR
#define OFFBEAT_NONBLOCKING_CONSTRUCTOR OFFBEAT_CONSTRUCTOR
#define OFFBEAT_STRING_CONSTRUCTOR(name, lower, parameters, names, strings)                                  \
    OFFBEAT_CONSTRUCTOR(name, lower, parameters, names)
#define OFFBEAT_STRING_GROUP_CONSTRUCTOR OFFBEAT_STRING_CONSTRUCTOR
#define OFFBEAT_DESTRUCTOR(name, lower) OFFBEAT_##name,
#include "trace/wrapped_functions.h"
    OFFBEAT_TRACER_FUNCTION_COUNT
};

/** Signatures of collectives: signatures.h. */
enum {
    OFFBEAT_SIGNATURE_BARRIER,
    OFFBEAT_SIGNATURE_BCAST,
    OFFBEAT_SIGNATURE_GATHER,
    OFFBEAT_SIGNATURE_GATHERV,
    OFFBEAT_SIGNATURE_SCATTER,
    OFFBEAT_SIGNATURE_SCATTERV,
    OFFBEAT_SIGNATURE_EXCHANGE,
    OFFBEAT_SIGNATURE_ALLGATHERV,
    OFFBEAT_SIGNATURE_ALLTOALLV,
    OFFBEAT_SIGNATURE_NEIGHBOR_ALLTOALLV,
    OFFBEAT_SIGNATURE_ALLTOALLW,
    OFFBEAT_SIGNATURE_NEIGHBOR_ALLTOALLW,
    OFFBEAT_SIGNATURE_REDUCE,
    OFFBEAT_SIGNATURE_ALLREDUCE,
    OFFBEAT_SIGNATURE_REDUCE_SCATTER
};

typedef struct offbeat_tracer_function {
    const char *name;        /**< "MPI_Ibcast" */
    const char *option_name; /**< its name in OFFBEAT_TRACE_COLLECTIVES: "bcast", "constructors" */
    uint16_t mode;           /**< OFFBEAT_TRACE_BLOCKING and so on */
    uint16_t collective;     /**< id of the blocking variant */
} offbeat_tracer_function;

/** By id; OFFBEAT_TRACER_FUNCTION_COUNT entries, of which the first is empty. */
extern const offbeat_tracer_function offbeat_tracer_functions[];

#endif
