/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file signatures.h
 * Preprocessor macros for the arguments of collectives.
 *
 * A signature is a list of parameters, each in one of eleven roles. With a macro for each role it expands to
 * the parameters in C, the parameters in Fortran, or the arguments of a call.
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

/* --- initializers of an offbeat_tracer_arguments (record_arguments.h) ---
 *
 * COUNT, ROOT, TYPE and OP convert an argument; IN_PLACE tells whether a buffer is MPI_IN_PLACE. */

#define OFFBEAT_INITIALIZE_BARRIER(COUNT, ROOT, TYPE, OP, IN_PLACE)
#define OFFBEAT_INITIALIZE_BCAST(COUNT, ROOT, TYPE, OP, IN_PLACE)                                            \
    .send_count = COUNT(sendcount), .send_type = TYPE(sendtype), .root = ROOT(root)
#define OFFBEAT_INITIALIZE_GATHER(COUNT, ROOT, TYPE, OP, IN_PLACE)                                           \
    OFFBEAT_INITIALIZE_EXCHANGE(COUNT, ROOT, TYPE, OP, IN_PLACE), .root = ROOT(root)
#define OFFBEAT_INITIALIZE_GATHERV(COUNT, ROOT, TYPE, OP, IN_PLACE)                                          \
    OFFBEAT_INITIALIZE_ALLGATHERV(COUNT, ROOT, TYPE, OP, IN_PLACE), .root = ROOT(root)
#define OFFBEAT_INITIALIZE_SCATTER OFFBEAT_INITIALIZE_GATHER
#define OFFBEAT_INITIALIZE_SCATTERV(COUNT, ROOT, TYPE, OP, IN_PLACE)                                         \
    .is_send_in_place = IN_PLACE(sendbuf), .is_recv_in_place = IN_PLACE(recvbuf), .send_counts = sendcounts, \
    .send_type = TYPE(sendtype), .recv_count = COUNT(recvcount), .recv_type = TYPE(recvtype),                \
    .root = ROOT(root)
#define OFFBEAT_INITIALIZE_EXCHANGE(COUNT, ROOT, TYPE, OP, IN_PLACE)                                         \
    .is_send_in_place = IN_PLACE(sendbuf), .is_recv_in_place = IN_PLACE(recvbuf),                            \
    .send_count = COUNT(sendcount), .send_type = TYPE(sendtype), .recv_count = COUNT(recvcount),             \
    .recv_type = TYPE(recvtype)
#define OFFBEAT_INITIALIZE_ALLGATHERV(COUNT, ROOT, TYPE, OP, IN_PLACE)                                       \
    .is_send_in_place = IN_PLACE(sendbuf), .is_recv_in_place = IN_PLACE(recvbuf),                            \
    .send_count = COUNT(sendcount), .send_type = TYPE(sendtype), .recv_counts = recvcounts,                  \
    .recv_type = TYPE(recvtype)
#define OFFBEAT_INITIALIZE_ALLTOALLV(COUNT, ROOT, TYPE, OP, IN_PLACE)                                        \
    .is_send_in_place = IN_PLACE(sendbuf), .is_recv_in_place = IN_PLACE(recvbuf), .send_counts = sendcounts, \
    .send_type = TYPE(sendtype), .recv_counts = recvcounts, .recv_type = TYPE(recvtype)
#define OFFBEAT_INITIALIZE_NEIGHBOR_ALLTOALLV OFFBEAT_INITIALIZE_ALLTOALLV
#define OFFBEAT_INITIALIZE_ALLTOALLW(COUNT, ROOT, TYPE, OP, IN_PLACE)                                        \
    .is_send_in_place = IN_PLACE(sendbuf), .is_recv_in_place = IN_PLACE(recvbuf), .send_counts = sendcounts, \
    .send_types = sendtypes, .recv_counts = recvcounts, .recv_types = recvtypes
#define OFFBEAT_INITIALIZE_NEIGHBOR_ALLTOALLW OFFBEAT_INITIALIZE_ALLTOALLW
#define OFFBEAT_INITIALIZE_REDUCE(COUNT, ROOT, TYPE, OP, IN_PLACE)                                           \
    OFFBEAT_INITIALIZE_ALLREDUCE(COUNT, ROOT, TYPE, OP, IN_PLACE), .root = ROOT(root)
#define OFFBEAT_INITIALIZE_ALLREDUCE(COUNT, ROOT, TYPE, OP, IN_PLACE)                                        \
    .is_send_in_place = IN_PLACE(sendbuf), .is_recv_in_place = IN_PLACE(recvbuf),                            \
    .send_count = COUNT(sendcount), .send_type = TYPE(sendtype), .op = OP(op)
#define OFFBEAT_INITIALIZE_REDUCE_SCATTER(COUNT, ROOT, TYPE, OP, IN_PLACE)                                   \
    .is_send_in_place = IN_PLACE(sendbuf), .is_recv_in_place = IN_PLACE(recvbuf), .send_counts = sendcounts, \
    .send_type = TYPE(sendtype), .op = OP(op)

// NOLINTEND(bugprone-macro-parentheses)

#endif
