/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file signatures.h
 * Preprocessor macros for the wrappers in both languages: the arguments of collectives, and what is done
 * before and after a call.
 *
 * A signature is a list of parameters, each in one of eleven roles. With a macro for each role it expands to
 * the parameters in C, the parameters in Fortran, the arguments of a call, or an initializer.
 *
 * The order of the roles is the same everywhere: send buffer, receive buffer, count, counts, displacements,
 * displacements that are always MPI_Aint, datatype, datatypes, operation, root, communicator.
 */
#ifndef OFFBEAT_TRACE_SIGNATURES_H
#define OFFBEAT_TRACE_SIGNATURES_H

/* Parameter lists cannot be put in parentheses of their own. */
// NOLINTBEGIN(bugprone-macro-parentheses)

/* Expands a signature with a list of roles that is a macro itself. */
#define OFFBEAT_EXPAND_PARAMETERS(signature, ...) OFFBEAT_PARAMETERS_##signature(__VA_ARGS__)
#define OFFBEAT_EXPAND(signature, ...) OFFBEAT_EXPAND_PARAMETERS(signature, __VA_ARGS__)

#define OFFBEAT_PARAMETERS_BARRIER(SEND, RECV, COUNT, COUNTS, DISPLS, AINTS, TYPE, TYPES, OP, ROOT, COMM)    \
    COMM(comm)
#define OFFBEAT_PARAMETERS_BCAST(SEND, RECV, COUNT, COUNTS, DISPLS, AINTS, TYPE, TYPES, OP, ROOT, COMM)      \
    RECV(sendbuf), COUNT(sendcount), TYPE(sendtype), ROOT(root), COMM(comm)
#define OFFBEAT_PARAMETERS_GATHER(SEND, RECV, COUNT, COUNTS, DISPLS, AINTS, TYPE, TYPES, OP, ROOT, COMM)     \
    SEND(sendbuf), COUNT(sendcount), TYPE(sendtype), RECV(recvbuf), COUNT(recvcount), TYPE(recvtype),        \
        ROOT(root), COMM(comm)
#define OFFBEAT_PARAMETERS_GATHERV(SEND, RECV, COUNT, COUNTS, DISPLS, AINTS, TYPE, TYPES, OP, ROOT, COMM)    \
    SEND(sendbuf), COUNT(sendcount), TYPE(sendtype), RECV(recvbuf), COUNTS(recvcounts), DISPLS(rdispls),     \
        TYPE(recvtype), ROOT(root), COMM(comm)
#define OFFBEAT_PARAMETERS_SCATTER OFFBEAT_PARAMETERS_GATHER
#define OFFBEAT_PARAMETERS_SCATTERV(SEND, RECV, COUNT, COUNTS, DISPLS, AINTS, TYPE, TYPES, OP, ROOT, COMM)   \
    SEND(sendbuf), COUNTS(sendcounts), DISPLS(sdispls), TYPE(sendtype), RECV(recvbuf), COUNT(recvcount),     \
        TYPE(recvtype), ROOT(root), COMM(comm)
#define OFFBEAT_PARAMETERS_EXCHANGE(SEND, RECV, COUNT, COUNTS, DISPLS, AINTS, TYPE, TYPES, OP, ROOT, COMM)   \
    SEND(sendbuf), COUNT(sendcount), TYPE(sendtype), RECV(recvbuf), COUNT(recvcount), TYPE(recvtype),        \
        COMM(comm)
#define OFFBEAT_PARAMETERS_ALLGATHERV(SEND, RECV, COUNT, COUNTS, DISPLS, AINTS, TYPE, TYPES, OP, ROOT, COMM) \
    SEND(sendbuf), COUNT(sendcount), TYPE(sendtype), RECV(recvbuf), COUNTS(recvcounts), DISPLS(rdispls),     \
        TYPE(recvtype), COMM(comm)
#define OFFBEAT_PARAMETERS_ALLTOALLV(SEND, RECV, COUNT, COUNTS, DISPLS, AINTS, TYPE, TYPES, OP, ROOT, COMM)  \
    SEND(sendbuf), COUNTS(sendcounts), DISPLS(sdispls), TYPE(sendtype), RECV(recvbuf), COUNTS(recvcounts),   \
        DISPLS(rdispls), TYPE(recvtype), COMM(comm)
#define OFFBEAT_PARAMETERS_NEIGHBOR_ALLTOALLV OFFBEAT_PARAMETERS_ALLTOALLV
#define OFFBEAT_PARAMETERS_ALLTOALLW(SEND, RECV, COUNT, COUNTS, DISPLS, AINTS, TYPE, TYPES, OP, ROOT, COMM)  \
    SEND(sendbuf), COUNTS(sendcounts), DISPLS(sdispls), TYPES(sendtypes), RECV(recvbuf), COUNTS(recvcounts), \
        DISPLS(rdispls), TYPES(recvtypes), COMM(comm)
#define OFFBEAT_PARAMETERS_NEIGHBOR_ALLTOALLW(SEND, RECV, COUNT, COUNTS, DISPLS, AINTS, TYPE, TYPES, OP,     \
                                              ROOT, COMM)                                                    \
    SEND(sendbuf), COUNTS(sendcounts), AINTS(sdispls), TYPES(sendtypes), RECV(recvbuf), COUNTS(recvcounts),  \
        AINTS(rdispls), TYPES(recvtypes), COMM(comm)
#define OFFBEAT_PARAMETERS_REDUCE(SEND, RECV, COUNT, COUNTS, DISPLS, AINTS, TYPE, TYPES, OP, ROOT, COMM)     \
    SEND(sendbuf), RECV(recvbuf), COUNT(sendcount), TYPE(sendtype), OP(op), ROOT(root), COMM(comm)
#define OFFBEAT_PARAMETERS_ALLREDUCE(SEND, RECV, COUNT, COUNTS, DISPLS, AINTS, TYPE, TYPES, OP, ROOT, COMM)  \
    SEND(sendbuf), RECV(recvbuf), COUNT(sendcount), TYPE(sendtype), OP(op), COMM(comm)
#define OFFBEAT_PARAMETERS_REDUCE_SCATTER(SEND, RECV, COUNT, COUNTS, DISPLS, AINTS, TYPE, TYPES, OP, ROOT,   \
                                          COMM)                                                              \
    SEND(sendbuf), RECV(recvbuf), COUNTS(sendcounts), TYPE(sendtype), OP(op), COMM(comm)

/* --- parameters in C --- */

#define OFFBEAT_C_SEND(name) const void *name
#define OFFBEAT_C_RECV(name) void *name
#define OFFBEAT_C_COUNT(name) int name
#define OFFBEAT_C_COUNTS(name) const int name[]
#define OFFBEAT_C_LARGE_COUNT(name) MPI_Count name
#define OFFBEAT_C_LARGE_COUNTS(name) const MPI_Count name[]
#define OFFBEAT_C_AINTS(name) const MPI_Aint name[]
#define OFFBEAT_C_TYPE(name) MPI_Datatype name
#define OFFBEAT_C_TYPES(name) const MPI_Datatype name[]
#define OFFBEAT_C_OP(name) MPI_Op name
#define OFFBEAT_C_ROOT(name) int name
#define OFFBEAT_C_COMM(name) MPI_Comm name

#define OFFBEAT_C_ROLES                                                                                      \
    OFFBEAT_C_SEND, OFFBEAT_C_RECV, OFFBEAT_C_COUNT, OFFBEAT_C_COUNTS, OFFBEAT_C_COUNTS, OFFBEAT_C_AINTS,    \
        OFFBEAT_C_TYPE, OFFBEAT_C_TYPES, OFFBEAT_C_OP, OFFBEAT_C_ROOT, OFFBEAT_C_COMM
#define OFFBEAT_C_LARGE_ROLES                                                                                \
    OFFBEAT_C_SEND, OFFBEAT_C_RECV, OFFBEAT_C_LARGE_COUNT, OFFBEAT_C_LARGE_COUNTS, OFFBEAT_C_AINTS,          \
        OFFBEAT_C_AINTS, OFFBEAT_C_TYPE, OFFBEAT_C_TYPES, OFFBEAT_C_OP, OFFBEAT_C_ROOT, OFFBEAT_C_COMM

/* --- parameters in Fortran, all of them addresses --- */

#define OFFBEAT_ADDRESS(name) void *name
#define OFFBEAT_FORTRAN_ROLES                                                                                \
    OFFBEAT_ADDRESS, OFFBEAT_ADDRESS, OFFBEAT_ADDRESS, OFFBEAT_ADDRESS, OFFBEAT_ADDRESS, OFFBEAT_ADDRESS,    \
        OFFBEAT_ADDRESS, OFFBEAT_ADDRESS, OFFBEAT_ADDRESS, OFFBEAT_ADDRESS, OFFBEAT_ADDRESS

/* --- arguments of a call --- */

#define OFFBEAT_AS_IS(name) name
#define OFFBEAT_ARGUMENT_ROLES                                                                               \
    OFFBEAT_AS_IS, OFFBEAT_AS_IS, OFFBEAT_AS_IS, OFFBEAT_AS_IS, OFFBEAT_AS_IS, OFFBEAT_AS_IS, OFFBEAT_AS_IS, \
        OFFBEAT_AS_IS, OFFBEAT_AS_IS, OFFBEAT_AS_IS, OFFBEAT_AS_IS

/* --- parameters in Fortran of a list of names, for constructors of communicators --- */

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
#define OFFBEAT_ELEVENTH(a, b, c, d, e, f, g, h, i, j, eleventh, ...) eleventh
#define OFFBEAT_ADDRESSES(...)                                                                               \
    OFFBEAT_ELEVENTH(__VA_ARGS__, OFFBEAT_ADDRESSES_10, OFFBEAT_ADDRESSES_9, OFFBEAT_ADDRESSES_8,            \
                     OFFBEAT_ADDRESSES_7, OFFBEAT_ADDRESSES_6, OFFBEAT_ADDRESSES_5, OFFBEAT_ADDRESSES_4,     \
                     OFFBEAT_ADDRESSES_3, OFFBEAT_ADDRESSES_2, OFFBEAT_ADDRESSES_1, none)                    \
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
 * argument points to; LANGUAGE, the flag of its records; and NEWCOMM_POINTERS, in C and in Fortran. */

#define OFFBEAT_ENTER(function, flags, comm)                                                                 \
    offbeat_tracer_call call;                                                                                \
    offbeat_tracer_call_enter(&call, function, (flags) | LANGUAGE, comm, OFFBEAT_TRACER_CALLER);
#define OFFBEAT_ENTER_COMM(function) OFFBEAT_ENTER(function, 0, COMM(comm))
#define OFFBEAT_ENTER_NONBLOCKING(function) OFFBEAT_ENTER(function, OFFBEAT_TRACE_ISSUE, COMM(comm))
#define OFFBEAT_ENTER_GROUP(function)                                                                        \
    offbeat_tracer_call call;                                                                                \
    offbeat_tracer_group_constructor_enter(&call, function, LANGUAGE, OFFBEAT_TRACER_CALLER);
#define OFFBEAT_ENTER_DESTRUCTOR(function)                                                                   \
    offbeat_tracer_call call;                                                                                \
    offbeat_tracer_destructor_enter(&call, function, LANGUAGE, COMM_AT(comm), OFFBEAT_TRACER_CALLER);

#define OFFBEAT_NEWCOMM (CODE == MPI_SUCCESS ? COMM_AT(newcomm) : MPI_COMM_NULL)
#define OFFBEAT_LEAVE_COMM offbeat_tracer_constructor_leave(&call, CODE, OFFBEAT_NEWCOMM);
#define OFFBEAT_LEAVE_GROUP offbeat_tracer_group_constructor_leave(&call, OFFBEAT_NEWCOMM);
#define OFFBEAT_LEAVE_NONBLOCKING                                                                            \
    offbeat_tracer_nonblocking_constructor_leave(&call, CODE, REQUEST_AT(request), NEWCOMM_POINTERS);
#define OFFBEAT_LEAVE_DESTRUCTOR                                                                             \
    if (offbeat_tracer_call_leave(&call, CODE))                                                              \
        offbeat_tracer_call_write(&call);

/* --- what the wrappers of functions on requests do after the call, by `result` in wrapped_functions.h --- */

#define ALL(are_complete) offbeat_tracer_completion_leave_all(&completion, CODE, are_complete)
#define SOME(count, indices)                                                                                 \
    offbeat_tracer_completion_leave_some(&completion, CODE, count, indices, FIRST_INDEX)
#define STARTED offbeat_tracer_start_leave(&completion, CODE)
#define FREED offbeat_tracer_free_leave(&completion, CODE)

// NOLINTEND(bugprone-macro-parentheses)

#endif
