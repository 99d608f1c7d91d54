/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file signatures.h
 * Preprocessor macros for the wrappers in both languages: lists of roles (collectives/signatures.h) that only
 * the tracer needs, and what is done before and after a call.
 */
#ifndef OFFBEAT_TRACE_SIGNATURES_H
#define OFFBEAT_TRACE_SIGNATURES_H

#include "collectives/signatures.h"
#include "trace/issued_call.h"

/* Parameter lists cannot be put in parentheses of their own. */
// NOLINTBEGIN(bugprone-macro-parentheses)

/* --- parameters in Fortran, all of them addresses --- */

#define OFFBEAT_ADDRESS(name) void *name
#define OFFBEAT_FORTRAN_ROLES                                                                                \
    OFFBEAT_ADDRESS, OFFBEAT_ADDRESS, OFFBEAT_ADDRESS, OFFBEAT_ADDRESS, OFFBEAT_ADDRESS, OFFBEAT_ADDRESS,    \
        OFFBEAT_ADDRESS, OFFBEAT_ADDRESS, OFFBEAT_ADDRESS, OFFBEAT_ADDRESS, OFFBEAT_ADDRESS

/* --- parameters in Fortran of a list of names, for constructors of communicators and point-to-point
 * functions --- */

#define OFFBEAT_ADDRESSES_1(a) void *a
#define OFFBEAT_ADDRESSES_2(a, ...) void *a, OFFBEAT_ADDRESSES_1(__VA_ARGS__)
#define OFFBEAT_ADDRESSES_3(a, ...) void *a, OFFBEAT_ADDRESSES_2(__VA_ARGS__)
#define OFFBEAT_ADDRESSES_4(a, ...) void *a, OFFBEAT_ADDRESSES_3(__VA_ARGS__)
#define OFFBEAT_ADDRESSES_5(a, ...) void *a, OFFBEAT_ADDRESSES_4(__VA_ARGS__)
#define OFFBEAT_ADDRESSES_6(a, ...) void *a, OFFBEAT_ADDRESSES_5(__VA_ARGS__)
#define OFFBEAT_ADDRESSES_7(a, ...) void *a, OFFBEAT_ADDRESSES_6(__VA_ARGS__)
#define OFFBEAT_ADDRESSES_8(a, ...) void *a, OFFBEAT_ADDRESSES_7(__VA_ARGS__)
#define OFFBEAT_ADDRESSES_9(a, ...) void *a, OFFBEAT_ADDRESSES_8(__VA_ARGS__)
#define OFFBEAT_ADDRESSES_10(a, ...) void *a, OFFBEAT_ADDRESSES_9(__VA_ARGS__)
#define OFFBEAT_ADDRESSES_11(a, ...) void *a, OFFBEAT_ADDRESSES_10(__VA_ARGS__)
#define OFFBEAT_ADDRESSES_12(a, ...) void *a, OFFBEAT_ADDRESSES_11(__VA_ARGS__)
#define OFFBEAT_THIRTEENTH(a, b, c, d, e, f, g, h, i, j, k, l, thirteenth, ...) thirteenth
#define OFFBEAT_ADDRESSES(...)                                                                               \
    OFFBEAT_THIRTEENTH(__VA_ARGS__, OFFBEAT_ADDRESSES_12, OFFBEAT_ADDRESSES_11, OFFBEAT_ADDRESSES_10,        \
                       OFFBEAT_ADDRESSES_9, OFFBEAT_ADDRESSES_8, OFFBEAT_ADDRESSES_7, OFFBEAT_ADDRESSES_6,   \
                       OFFBEAT_ADDRESSES_5, OFFBEAT_ADDRESSES_4, OFFBEAT_ADDRESSES_3, OFFBEAT_ADDRESSES_2,   \
                       OFFBEAT_ADDRESSES_1, none)                                                            \
    (__VA_ARGS__)

/* --- the initializer of an offbeat_tracer_arguments (record_arguments.h), whose members have the names ---
 *
 * The wrappers' file defines how an argument is read: IS_IN_PLACE of a buffer, and COUNT, INTEGER, TYPE and
 * OP. `arrays` is a variable of the wrapper. */

#define OFFBEAT_SET_BUFFER(name) .is_##name##_in_place = IS_IN_PLACE(name)
#define OFFBEAT_SET_COUNT(name) .name = COUNT(name)
#define OFFBEAT_SET_ARRAY(name) .name = (name)
#define OFFBEAT_SET_TYPE(name) .name = TYPE(name)
#define OFFBEAT_SET_OP(name) .name = OP(name)
#define OFFBEAT_SET_ROOT(name) .name = INTEGER(name)
#define OFFBEAT_SET_COMM(name) .arrays = arrays
#define OFFBEAT_SET_ROLES                                                                                    \
    OFFBEAT_SET_BUFFER, OFFBEAT_SET_BUFFER, OFFBEAT_SET_COUNT, OFFBEAT_SET_ARRAY, OFFBEAT_SET_ARRAY,         \
        OFFBEAT_SET_ARRAY, OFFBEAT_SET_TYPE, OFFBEAT_SET_ARRAY, OFFBEAT_SET_OP, OFFBEAT_SET_ROOT,            \
        OFFBEAT_SET_COMM

/* Takes the arguments of a call that has been left into its record. */
#define OFFBEAT_RECORD_ARGUMENTS(signature)                                                                  \
    const offbeat_tracer_arguments arguments = {OFFBEAT_EXPAND(signature, OFFBEAT_SET_ROLES)};               \
    offbeat_tracer_record_arguments(&call, OFFBEAT_SIGNATURE_##signature, &arguments);

/* --- what the wrappers of constructors and destructors do before and after the call, by kind ---
 *
 * The wrappers' file defines CODE, the error code; COMM and REQUEST of an argument, COMM_AT of what an
 * argument points to; LANGUAGE, the flag of its records; NEWCOMM_POINTERS, in C and in Fortran; and
 * ADD_TO_INFO and ADD_TO_INFOS, which replace the info arguments of MPI_Comm_spawn. */

#define OFFBEAT_ENTER(function, flags, comm)                                                                 \
    offbeat_tracer_call call;                                                                                \
    offbeat_tracer_call_enter(&call, function, (flags) | LANGUAGE, comm, OFFBEAT_TRACER_CALLER);
#define OFFBEAT_ENTER_COMM(function) OFFBEAT_ENTER(function, 0, COMM(comm))
#define OFFBEAT_ENTER_SPAWN(function)                                                                        \
    offbeat_tracer_spawn spawn;                                                                              \
    ADD_TO_INFO(info);                                                                                       \
    OFFBEAT_ENTER_COMM(function)
#define OFFBEAT_ENTER_SPAWN_MULTIPLE(function)                                                               \
    offbeat_tracer_spawn spawn;                                                                              \
    ADD_TO_INFOS(count, infos);                                                                              \
    OFFBEAT_ENTER_COMM(function)
#define OFFBEAT_ENTER_NONBLOCKING(function) OFFBEAT_ENTER(function, OFFBEAT_TRACE_ISSUE, COMM(comm))
#define OFFBEAT_ENTER_GROUP(function)                                                                        \
    offbeat_tracer_call call;                                                                                \
    offbeat_tracer_group_constructor_enter(&call, function, LANGUAGE, OFFBEAT_TRACER_CALLER);
#define OFFBEAT_ENTER_DESTRUCTOR(function)                                                                   \
    offbeat_tracer_call call;                                                                                \
    offbeat_tracer_destructor_enter(&call, function, LANGUAGE, COMM_AT(comm), OFFBEAT_TRACER_CALLER);

#define OFFBEAT_NEWCOMM (CODE == MPI_SUCCESS ? COMM_AT(newcomm) : MPI_COMM_NULL)
#define OFFBEAT_LEAVE_COMM offbeat_tracer_constructor_leave(&call, CODE, OFFBEAT_NEWCOMM);
#define OFFBEAT_LEAVE_SPAWN                                                                                  \
    OFFBEAT_LEAVE_COMM                                                                                       \
    offbeat_tracer_spawn_leave(&spawn);
#define OFFBEAT_LEAVE_SPAWN_MULTIPLE OFFBEAT_LEAVE_SPAWN
#define OFFBEAT_LEAVE_GROUP offbeat_tracer_group_constructor_leave(&call, OFFBEAT_NEWCOMM);
#define OFFBEAT_LEAVE_NONBLOCKING                                                                            \
    offbeat_tracer_nonblocking_constructor_leave(&call, CODE, REQUEST_AT(request), NEWCOMM_POINTERS);
#define OFFBEAT_LEAVE_DESTRUCTOR                                                                             \
    if (offbeat_tracer_call_leave(&call, CODE))                                                              \
        offbeat_tracer_call_write(&call);

/* --- what the wrappers of functions on requests do after the call, by `result` in wrapped_functions.h --- */

#define OFFBEAT_LEFT(...)                                                                                    \
    offbeat_tracer_completion_exit(&completion);                                                             \
    __VA_ARGS__
#define COMPLETE_ALL(are_complete, statuses)                                                                 \
    OFFBEAT_LEFT(offbeat_tracer_completion_leave_all(&completion, CODE, are_complete, READABLE(statuses)))
#define COMPLETE_SOME(count, indices, statuses)                                                              \
    OFFBEAT_LEFT(offbeat_tracer_completion_leave_some(&completion, CODE, count, indices, READABLE(statuses), \
                                                      FIRST_INDEX))
#define LEAVE_START OFFBEAT_LEFT(offbeat_tracer_start_leave(&completion, CODE))
#define LEAVE_FREE OFFBEAT_LEFT(offbeat_tracer_free_leave(&completion, CODE))
#define LEAVE_CANCEL OFFBEAT_LEFT(offbeat_tracer_cancel_leave(&completion, CODE))

// NOLINTEND(bugprone-macro-parentheses)

#endif
