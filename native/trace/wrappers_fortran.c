/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The wrappers for Fortran. Compilers generate the names mpi_bcast_ from `mpif.h` and `use mpi`; `use
 * mpi_f08` refers to specific procedures: mpi_bcast_f08_ where buffers are addresses, mpi_bcast_f08ts_ where
 * they are C descriptors, and with large counts mpi_bcast_f08ts_large_ (MPICH) and mpi_bcast_c_f08ts_ (Intel
 * MPI). All arguments are addresses, which are passed on unchanged.
 *
 * In some libraries the Fortran functions call the C functions, whose wrappers then do nothing.
 */
#include "trace/lifecycle.h"
#include "trace/record_arguments.h"
#include "trace/requests.h"
#include "trace/signatures.h"

#include <pthread.h>
#include <stddef.h>

#define EXPORTED __attribute__((visibility("default")))
#define INTEGER_AT(name) (*(const MPI_Fint *)(name))
#define COUNT_AT(name) (*(const MPI_Count *)(name))
#define COMM_AT(name) PMPI_Comm_f2c(INTEGER_AT(name))
#define REQUEST_AT(name) PMPI_Request_f2c(INTEGER_AT(name))
#define TYPE_AT(name) PMPI_Type_f2c(INTEGER_AT(name))
#define OP_AT(name) PMPI_Op_f2c(INTEGER_AT(name))

/* Parameter lists cannot be put in parentheses of their own. */
// NOLINTBEGIN(bugprone-macro-parentheses)

/* Declares what NEXT needs. mpi_f08 may pass NULL for the error code, which is optional there. */
#define PREPARE                                                                                              \
    static offbeat_tracer_next_function next;                                                                \
    MPI_Fint unused_code = MPI_SUCCESS;                                                                      \
    if (code == NULL)                                                                                        \
        code = &unused_code;

/* Calls the MPI library's subroutine, or that of the next tool; it sets *code. */
#define NEXT(symbol, parameters, names) ((void(*) parameters)offbeat_tracer_next(&next, #symbol)) names;

/* --- collectives: blocking, nonblocking and persistent, in five bindings --- */

/* @param finish  writes the record, if the call is recorded */
#define WRAPPER(symbol, function, flags, signature, value, is_in_place, count_type, parameters, names,       \
                finish)                                                                                      \
    EXPORTED void symbol parameters;                                                                         \
    void symbol parameters {                                                                                 \
        PREPARE                                                                                              \
        offbeat_tracer_call call;                                                                            \
        offbeat_tracer_call_enter(&call, function, (flags) | OFFBEAT_TRACE_FORTRAN, COMM_AT(comm),           \
                                  OFFBEAT_TRACER_CALLER);                                                    \
        NEXT(symbol, parameters, names)                                                                      \
        if (offbeat_tracer_call_leave(&call, INTEGER_AT(code))) {                                            \
            const offbeat_tracer_arguments arguments = {                                                     \
                .arrays = {.count_bytes = (int)sizeof(count_type), .is_fortran = 1},                         \
                OFFBEAT_INITIALIZE_##signature(value, INTEGER_AT, TYPE_AT, OP_AT, is_in_place)};             \
            offbeat_tracer_record_arguments(&call, OFFBEAT_SIGNATURE_##signature, &arguments);               \
            finish;                                                                                          \
        }                                                                                                    \
    }

#define VARIANTS(name, lower, signature, suffix, flags, value, is_in_place, count_type)                      \
    WRAPPER(mpi_##lower##suffix, OFFBEAT_##name, flags, signature, value, is_in_place, count_type,           \
            (OFFBEAT_EXPAND(signature, OFFBEAT_FORTRAN_ROLES), void *code),                                  \
            (OFFBEAT_EXPAND(signature, OFFBEAT_ARGUMENT_ROLES), code), offbeat_tracer_call_write(&call))     \
    WRAPPER(mpi_i##lower##suffix, OFFBEAT_I##lower, (flags) | OFFBEAT_TRACE_ISSUE, signature, value,         \
            is_in_place, count_type,                                                                         \
            (OFFBEAT_EXPAND(signature, OFFBEAT_FORTRAN_ROLES), void *request, void *code),                   \
            (OFFBEAT_EXPAND(signature, OFFBEAT_ARGUMENT_ROLES), request, code),                              \
            offbeat_tracer_call_issued(&call, REQUEST_AT(request), 0))                                       \
    WRAPPER(mpi_##lower##_init##suffix, OFFBEAT_##name##_init, flags, signature, value, is_in_place,         \
            count_type,                                                                                      \
            (OFFBEAT_EXPAND(signature, OFFBEAT_FORTRAN_ROLES), void *info, void *request, void *code),       \
            (OFFBEAT_EXPAND(signature, OFFBEAT_ARGUMENT_ROLES), info, request, code),                        \
            offbeat_tracer_call_issued(&call, REQUEST_AT(request), 1))

#define SMALL(name, lower, signature, suffix, is_in_place)                                                   \
    VARIANTS(name, lower, signature, suffix, 0, INTEGER_AT, is_in_place, MPI_Fint)
#define LARGE(name, lower, signature, suffix)                                                                \
    VARIANTS(name, lower, signature, suffix, OFFBEAT_TRACE_LARGE, COUNT_AT,                                  \
             offbeat_tracer_is_descriptor_in_place, MPI_Count)

#define OFFBEAT_COLLECTIVE(name, lower, signature, ...)                                                      \
    SMALL(name, lower, signature, _, offbeat_tracer_is_in_place)                                             \
    SMALL(name, lower, signature, _f08_, offbeat_tracer_is_in_place)                                         \
    SMALL(name, lower, signature, _f08ts_, offbeat_tracer_is_descriptor_in_place)                            \
    LARGE(name, lower, signature, _f08ts_large_)                                                             \
    LARGE(name, lower, signature, _c_f08ts_)

/* --- constructors and destructors of communicators: mpi_comm_dup_ and mpi_comm_dup_f08_ --- */

/* Compilers append the lengths of strings, which names do not include. */
#define PARAMETERS_0(...) (OFFBEAT_ADDRESSES(__VA_ARGS__), void *code)
#define PARAMETERS_1(...) (OFFBEAT_ADDRESSES(__VA_ARGS__), void *code, size_t bytes)
#define PARAMETERS_2(...) (OFFBEAT_ADDRESSES(__VA_ARGS__), void *code, size_t bytes, size_t bytes_2)
#define NAMES_0(...) (__VA_ARGS__, code)
#define NAMES_1(...) (__VA_ARGS__, code, bytes)
#define NAMES_2(...) (__VA_ARGS__, code, bytes, bytes_2)

#define CONSTRUCTOR(symbol, name, names, strings)                                                            \
    EXPORTED void symbol PARAMETERS_##strings names;                                                         \
    void symbol PARAMETERS_##strings names {                                                                 \
        PREPARE                                                                                              \
        offbeat_tracer_call call;                                                                            \
        offbeat_tracer_call_enter(&call, OFFBEAT_##name, OFFBEAT_TRACE_FORTRAN, COMM_AT(comm),               \
                                  OFFBEAT_TRACER_CALLER);                                                    \
        NEXT(symbol, PARAMETERS_##strings names, NAMES_##strings names)                                      \
        const MPI_Comm handle = COMM_AT(newcomm);                                                            \
        offbeat_tracer_constructor_leave(&call, INTEGER_AT(code), &handle);                                  \
    }
#define OFFBEAT_STRING_CONSTRUCTOR(name, lower, parameters, names, strings)                                  \
    CONSTRUCTOR(mpi_##lower##_, name, names, strings)                                                        \
    CONSTRUCTOR(mpi_##lower##_f08_, name, names, strings)
#define OFFBEAT_CONSTRUCTOR(name, lower, parameters, names)                                                  \
    OFFBEAT_STRING_CONSTRUCTOR(name, lower, parameters, names, 0)

#define GROUP_CONSTRUCTOR(symbol, name, names, strings)                                                      \
    EXPORTED void symbol PARAMETERS_##strings names;                                                         \
    void symbol PARAMETERS_##strings names {                                                                 \
        PREPARE                                                                                              \
        offbeat_tracer_call call;                                                                            \
        offbeat_tracer_group_constructor_enter(&call, OFFBEAT_##name, OFFBEAT_TRACE_FORTRAN,                 \
                                               OFFBEAT_TRACER_CALLER);                                       \
        NEXT(symbol, PARAMETERS_##strings names, NAMES_##strings names)                                      \
        const MPI_Comm handle = COMM_AT(newcomm);                                                            \
        offbeat_tracer_group_constructor_leave(&call, INTEGER_AT(code), &handle);                            \
    }
#define OFFBEAT_STRING_GROUP_CONSTRUCTOR(name, lower, parameters, names, strings)                            \
    GROUP_CONSTRUCTOR(mpi_##lower##_, name, names, strings)                                                  \
    GROUP_CONSTRUCTOR(mpi_##lower##_f08_, name, names, strings)
#define OFFBEAT_GROUP_CONSTRUCTOR(name, lower, parameters, names)                                            \
    OFFBEAT_STRING_GROUP_CONSTRUCTOR(name, lower, parameters, names, 0)

#define NONBLOCKING_CONSTRUCTOR(symbol, name, names)                                                         \
    EXPORTED void symbol PARAMETERS_0 names;                                                                 \
    void symbol PARAMETERS_0 names {                                                                         \
        PREPARE                                                                                              \
        offbeat_tracer_call call;                                                                            \
        offbeat_tracer_call_enter(&call, OFFBEAT_##name, OFFBEAT_TRACE_ISSUE | OFFBEAT_TRACE_FORTRAN,        \
                                  COMM_AT(comm), OFFBEAT_TRACER_CALLER);                                     \
        NEXT(symbol, PARAMETERS_0 names, NAMES_0 names)                                                      \
        offbeat_tracer_nonblocking_constructor_leave(&call, INTEGER_AT(code), REQUEST_AT(request), NULL,     \
                                                     newcomm);                                               \
    }
#define OFFBEAT_NONBLOCKING_CONSTRUCTOR(name, lower, parameters, names)                                      \
    NONBLOCKING_CONSTRUCTOR(mpi_##lower##_, name, names)                                                     \
    NONBLOCKING_CONSTRUCTOR(mpi_##lower##_f08_, name, names)

#define DESTRUCTOR(symbol, name)                                                                             \
    EXPORTED void symbol(void *comm, void *code);                                                            \
    void symbol(void *comm, void *code) {                                                                    \
        PREPARE                                                                                              \
        offbeat_tracer_call call;                                                                            \
        offbeat_tracer_destructor_enter(&call, OFFBEAT_##name, OFFBEAT_TRACE_FORTRAN, COMM_AT(comm),         \
                                        OFFBEAT_TRACER_CALLER);                                              \
        NEXT(symbol, (void *, void *), (comm, code))                                                         \
        if (offbeat_tracer_call_leave(&call, INTEGER_AT(code)))                                              \
            offbeat_tracer_call_write(&call);                                                                \
    }
#define OFFBEAT_DESTRUCTOR(name, lower)                                                                      \
    DESTRUCTOR(mpi_##lower##_, name)                                                                         \
    DESTRUCTOR(mpi_##lower##_f08_, name)

#include "trace/wrapped_functions.h"

/* --- requests: mpi_wait_ and mpi_wait_f08_ --- */

static offbeat_tracer_request_list list(int count, const MPI_Fint *handles) {
    return (offbeat_tracer_request_list){.count = count, .fortran_handles = handles};
}

/* Indices start at 1, except in mpi_f08 of MPICH 4.0, where they start at 0. */
enum { FIRST = 1 };

static int first_in_f08 = FIRST;

/* Determines the index of a single request that is complete. MPI_UNDEFINED is the same as in C. */
static void detect_first_in_f08(void) {
    static offbeat_tracer_next_function next;
    MPI_Request request;
    MPI_Fint index = FIRST, code = MPI_SUCCESS;
    const MPI_Fint count = 1;
    int status[64]; /* a type(MPI_Status) has 5 to 8 */
    if (PMPI_Irecv(NULL, 0, MPI_BYTE, MPI_PROC_NULL, 0, MPI_COMM_SELF, &request) != MPI_SUCCESS)
        return;
    MPI_Fint handle = PMPI_Request_c2f(request);
    NEXT(mpi_waitany_f08_, (const MPI_Fint *, MPI_Fint *, MPI_Fint *, void *, MPI_Fint *),
         (&count, &handle, &index, status, &code))
    first_in_f08 = index;
}

static int get_first_in_f08(const offbeat_tracer_completion *completion) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    if (completion->count > 0)
        pthread_once(&once, detect_first_in_f08);
    return first_in_f08;
}

/* @param finish  takes the completed or started requests */
#define REQUEST_WRAPPER(symbol, completed_by, parameters, names, requests, finish)                           \
    EXPORTED void symbol parameters;                                                                         \
    void symbol parameters {                                                                                 \
        PREPARE                                                                                              \
        offbeat_tracer_completion completion;                                                                \
        offbeat_tracer_completion_enter(&completion, completed_by, requests, OFFBEAT_TRACER_CALLER);         \
        completion.flags |= OFFBEAT_TRACE_FORTRAN;                                                           \
        NEXT(symbol, parameters, names)                                                                      \
        finish;                                                                                              \
    }
#define BOTH(name, completed_by, parameters, names, requests, finish)                                        \
    REQUEST_WRAPPER(mpi_##name##_, completed_by, parameters, names, requests, finish)                        \
    REQUEST_WRAPPER(mpi_##name##_f08_, completed_by, parameters, names, requests, finish)
/* For functions that return indices. */
#define BOTH_WITH_INDICES(name, completed_by, parameters, names, requests, count, indices)                   \
    REQUEST_WRAPPER(mpi_##name##_, completed_by, parameters, names, requests,                                \
                    offbeat_tracer_completion_leave_some(&completion, *code, count, indices, FIRST))         \
    REQUEST_WRAPPER(mpi_##name##_f08_, completed_by, parameters, names, requests,                            \
                    offbeat_tracer_completion_leave_some(&completion, *code, count, indices,                 \
                                                         get_first_in_f08(&completion)))

BOTH(wait, OFFBEAT_TRACE_BY_WAIT, (MPI_Fint * request, void *status, MPI_Fint *code), (request, status, code),
     list(1, request), offbeat_tracer_completion_leave_all(&completion, *code, 1))

BOTH(waitall, OFFBEAT_TRACE_BY_WAITALL,
     (const MPI_Fint *count, MPI_Fint *requests, void *statuses, MPI_Fint *code),
     (count, requests, statuses, code), list(*count, requests),
     offbeat_tracer_completion_leave_all(&completion, *code, 1))

BOTH_WITH_INDICES(waitany, OFFBEAT_TRACE_BY_WAITANY,
                  (const MPI_Fint *count, MPI_Fint *requests, MPI_Fint *index, void *status, MPI_Fint *code),
                  (count, requests, index, status, code), list(*count, requests), 1, index)

BOTH_WITH_INDICES(waitsome, OFFBEAT_TRACE_BY_WAITSOME,
                  (const MPI_Fint *count, MPI_Fint *requests, MPI_Fint *outcount, MPI_Fint *indices,
                   void *statuses, MPI_Fint *code),
                  (count, requests, outcount, indices, statuses, code), list(*count, requests), *outcount,
                  indices)

BOTH(test, OFFBEAT_TRACE_BY_TEST, (MPI_Fint * request, MPI_Fint *flag, void *status, MPI_Fint *code),
     (request, flag, status, code), list(1, request),
     offbeat_tracer_completion_leave_all(&completion, *code, *flag != 0))

BOTH(testall, OFFBEAT_TRACE_BY_TESTALL,
     (const MPI_Fint *count, MPI_Fint *requests, MPI_Fint *flag, void *statuses, MPI_Fint *code),
     (count, requests, flag, statuses, code), list(*count, requests),
     offbeat_tracer_completion_leave_all(&completion, *code, *flag != 0))

BOTH_WITH_INDICES(testany, OFFBEAT_TRACE_BY_TESTANY,
                  (const MPI_Fint *count, MPI_Fint *requests, MPI_Fint *index, MPI_Fint *flag, void *status,
                   MPI_Fint *code),
                  (count, requests, index, flag, status, code), list(*count, requests), *flag != 0, index)

BOTH_WITH_INDICES(testsome, OFFBEAT_TRACE_BY_TESTSOME,
                  (const MPI_Fint *count, MPI_Fint *requests, MPI_Fint *outcount, MPI_Fint *indices,
                   void *statuses, MPI_Fint *code),
                  (count, requests, outcount, indices, statuses, code), list(*count, requests), *outcount,
                  indices)

BOTH(start, OFFBEAT_TRACE_BY_NONE, (MPI_Fint * request, MPI_Fint *code), (request, code), list(1, request),
     offbeat_tracer_start_leave(&completion, *code))

BOTH(startall, OFFBEAT_TRACE_BY_NONE, (const MPI_Fint *count, MPI_Fint *requests, MPI_Fint *code),
     (count, requests, code), list(*count, requests), offbeat_tracer_start_leave(&completion, *code))

BOTH(request_free, OFFBEAT_TRACE_BY_FREE, (MPI_Fint * request, MPI_Fint *code), (request, code),
     list(1, request), offbeat_tracer_free_leave(&completion, *code))

/* --- begin and end --- */

#define INIT(symbol)                                                                                         \
    EXPORTED void symbol(MPI_Fint *code);                                                                    \
    void symbol(MPI_Fint *code) {                                                                            \
        PREPARE                                                                                              \
        NEXT(symbol, (MPI_Fint *), (code))                                                                   \
        if (*code == MPI_SUCCESS)                                                                            \
            offbeat_tracer_begin();                                                                          \
    }
#define INIT_THREAD(symbol)                                                                                  \
    EXPORTED void symbol(const MPI_Fint *required, MPI_Fint *provided, MPI_Fint *code);                      \
    void symbol(const MPI_Fint *required, MPI_Fint *provided, MPI_Fint *code) {                              \
        PREPARE                                                                                              \
        NEXT(symbol, (const MPI_Fint *, MPI_Fint *, MPI_Fint *), (required, provided, code))                 \
        if (*code == MPI_SUCCESS)                                                                            \
            offbeat_tracer_begin();                                                                          \
    }
#define FINALIZE(symbol)                                                                                     \
    EXPORTED void symbol(MPI_Fint *code);                                                                    \
    void symbol(MPI_Fint *code) {                                                                            \
        PREPARE                                                                                              \
        offbeat_tracer_finalize();                                                                           \
        NEXT(symbol, (MPI_Fint *), (code))                                                                   \
    }
#define ABORT(symbol)                                                                                        \
    EXPORTED void symbol(const MPI_Fint *comm, const MPI_Fint *status, MPI_Fint *code);                      \
    void symbol(const MPI_Fint *comm, const MPI_Fint *status, MPI_Fint *code) {                              \
        PREPARE                                                                                              \
        offbeat_tracer_abort();                                                                              \
        NEXT(symbol, (const MPI_Fint *, const MPI_Fint *, MPI_Fint *), (comm, status, code))                 \
    }
/* MPI_Pcontrol has no error code. */
#define PCONTROL(symbol)                                                                                     \
    EXPORTED void symbol(const MPI_Fint *level);                                                             \
    void symbol(const MPI_Fint *level) {                                                                     \
        static offbeat_tracer_next_function next;                                                            \
        offbeat_tracer_pcontrol(*level);                                                                     \
        NEXT(symbol, (const MPI_Fint *), (level))                                                            \
    }

INIT(mpi_init_)
INIT(mpi_init_f08_)
INIT_THREAD(mpi_init_thread_)
INIT_THREAD(mpi_init_thread_f08_)
FINALIZE(mpi_finalize_)
FINALIZE(mpi_finalize_f08_)
ABORT(mpi_abort_)
ABORT(mpi_abort_f08_)
PCONTROL(mpi_pcontrol_)
PCONTROL(mpi_pcontrol_f08_)

// NOLINTEND(bugprone-macro-parentheses)
