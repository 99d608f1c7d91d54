/* SPDX-License-Identifier: BSD-3-Clause */
#include "trace/functions.h"

#include "trace/format.h"

const offbeat_function offbeat_functions[] = {
    {0},
#define OFFBEAT_COLLECTIVE(name, lower, shape)                                                               \
    {"MPI_" #name, #lower, OFFBEAT_TRACE_BLOCKING, OFFBEAT_##name},                                          \
        {"MPI_I" #lower, #lower, OFFBEAT_TRACE_NONBLOCKING, OFFBEAT_##name},                                 \
        {"MPI_" #name "_init", #lower, OFFBEAT_TRACE_PERSISTENT, OFFBEAT_##name},
#define OFFBEAT_CONSTRUCTOR(name, lower, parameters, names)                                                  \
    {"MPI_" #name, "constructors", OFFBEAT_TRACE_CONSTRUCTOR, OFFBEAT_##name},
#define OFFBEAT_GROUP_CONSTRUCTOR OFFBEAT_CONSTRUCTOR
#define OFFBEAT_IDLE_CONSTRUCTOR OFFBEAT_CONSTRUCTOR
#define OFFBEAT_TEXT_CONSTRUCTOR(name, lower, parameters, names, texts)                                      \
    OFFBEAT_CONSTRUCTOR(name, lower, parameters, names)
#define OFFBEAT_TEXT_GROUP_CONSTRUCTOR OFFBEAT_TEXT_CONSTRUCTOR
#define OFFBEAT_DESTRUCTOR(name, lower)                                                                      \
    {"MPI_" #name, "constructors", OFFBEAT_TRACE_CONSTRUCTOR, OFFBEAT_##name},
#include "trace/table.h"
};
