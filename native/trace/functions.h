/* SPDX-License-Identifier: BSD-3-Clause */
/** @file functions.h  The functions of table.h as numbers, and what is known of each. */
#ifndef OFFBEAT_TRACE_FUNCTIONS_H
#define OFFBEAT_TRACE_FUNCTIONS_H

#include <stdint.h>

/** Ids as they stand in the file; 0 is none. A blocking collective is followed by its two other variants. */
enum {
    OFFBEAT_NO_FUNCTION,
#define OFFBEAT_COLLECTIVE(name, lower, shape) OFFBEAT_##name, OFFBEAT_I##lower, OFFBEAT_##name##_init,
#define OFFBEAT_CONSTRUCTOR(name, lower, parameters, names) OFFBEAT_##name,
#define OFFBEAT_GROUP_CONSTRUCTOR OFFBEAT_CONSTRUCTOR
#define OFFBEAT_IDLE_CONSTRUCTOR OFFBEAT_CONSTRUCTOR
#define OFFBEAT_TEXT_CONSTRUCTOR(name, lower, parameters, names, texts)                                      \
    OFFBEAT_CONSTRUCTOR(name, lower, parameters, names)
#define OFFBEAT_TEXT_GROUP_CONSTRUCTOR OFFBEAT_TEXT_CONSTRUCTOR
#define OFFBEAT_DESTRUCTOR(name, lower) OFFBEAT_##name,
#include "trace/table.h"
    OFFBEAT_FUNCTIONS
};

/** The shapes of arguments. */
enum {
    OFFBEAT_IS_BARRIER,
    OFFBEAT_IS_BCAST,
    OFFBEAT_IS_GATHER,
    OFFBEAT_IS_GATHERV,
    OFFBEAT_IS_SCATTER,
    OFFBEAT_IS_SCATTERV,
    OFFBEAT_IS_EXCHANGE,
    OFFBEAT_IS_ALLGATHERV,
    OFFBEAT_IS_ALLTOALLV,
    OFFBEAT_IS_NEIGHBOR_ALLTOALLV,
    OFFBEAT_IS_ALLTOALLW,
    OFFBEAT_IS_NEIGHBOR_ALLTOALLW,
    OFFBEAT_IS_REDUCE,
    OFFBEAT_IS_ALLREDUCE,
    OFFBEAT_IS_REDUCE_SCATTER
};

typedef struct offbeat_function {
    const char *name;    /**< "MPI_Ibcast" */
    const char *word;    /**< by which OFFBEAT_TRACE_COLLECTIVES chooses it: "bcast", "constructors" */
    uint16_t mode;       /**< OFFBEAT_TRACE_BLOCKING and so on */
    uint16_t collective; /**< id of the blocking one */
} offbeat_function;

/** What is known of each, by id; OFFBEAT_FUNCTIONS of them, the first one is empty. */
extern const offbeat_function offbeat_functions[];

#endif
