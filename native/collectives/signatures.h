/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file signatures.h
 * Preprocessor macros for wrappers of collectives: their parameters, and the arguments of a call.
 *
 * A signature is a list of parameters, each in one of eleven roles. With a macro for each role it expands to
 * the parameters in C or to the arguments of a call; the tracer has further lists of roles.
 *
 * The order of the roles is the same everywhere: send buffer, receive buffer, count, counts, displacements,
 * displacements that are always MPI_Aint, datatype, datatypes, operation, root, communicator.
 */
#ifndef OFFBEAT_COLLECTIVES_SIGNATURES_H
#define OFFBEAT_COLLECTIVES_SIGNATURES_H

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

/* --- arguments of a call --- */

#define OFFBEAT_AS_IS(name) name
#define OFFBEAT_ARGUMENT_ROLES                                                                               \
    OFFBEAT_AS_IS, OFFBEAT_AS_IS, OFFBEAT_AS_IS, OFFBEAT_AS_IS, OFFBEAT_AS_IS, OFFBEAT_AS_IS, OFFBEAT_AS_IS, \
        OFFBEAT_AS_IS, OFFBEAT_AS_IS, OFFBEAT_AS_IS, OFFBEAT_AS_IS

// NOLINTEND(bugprone-macro-parentheses)

#endif
