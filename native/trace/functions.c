/* SPDX-License-Identifier: BSD-3-Clause */
#include "trace/functions.h"

#include "trace/format.h"

const offbeat_tracer_function offbeat_tracer_functions[] = {
    {0},
#define OFFBEAT_COLLECTIVE(name, lower, signature, ...)                                                      \
    {"MPI_" #name, #lower, OFFBEAT_TRACE_BLOCKING, OFFBEAT_##name},                                          \
        {"MPI_I" #lower, #lower, OFFBEAT_TRACE_NONBLOCKING, OFFBEAT_##name},                                 \
        {"MPI_" #name "_init", #lower, OFFBEAT_TRACE_PERSISTENT, OFFBEAT_##name},
#define OFFBEAT_DESTRUCTOR(name, lower)                                                                      \
    {"MPI_" #name, "constructors", OFFBEAT_TRACE_CONSTRUCTOR, OFFBEAT_##name},
#define OFFBEAT_CONSTRUCTOR(name, lower, parameters, names) OFFBEAT_DESTRUCTOR(name, lower)
#define OFFBEAT_GROUP_CONSTRUCTOR OFFBEAT_CONSTRUCTOR
#define OFFBEAT_NONBLOCKING_CONSTRUCTOR OFFBEAT_CONSTRUCTOR
#define OFFBEAT_STRING_CONSTRUCTOR(name, lower, parameters, names, strings) OFFBEAT_DESTRUCTOR(name, lower)
#define OFFBEAT_STRING_GROUP_CONSTRUCTOR OFFBEAT_STRING_CONSTRUCTOR
#include "trace/wrapped_functions.h"
};
