/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file shapes.h
 * The arguments of collectives, by the preprocessor: a shape is a list of arguments, each in one of eleven
 * roles. With a way to write each role it becomes parameters in C, parameters in Fortran, or the words of a
 * call.
 *
 * The order of roles is the same everywhere: sent buffer, received buffer, count, counts, places, far places
 * (always MPI_Aint), type, types, operation, root, communicator.
 */
#ifndef OFFBEAT_TRACE_SHAPES_H
#define OFFBEAT_TRACE_SHAPES_H

#include <mpi.h>

/* Lists of parameters can't stand in parentheses of their own. */
// NOLINTBEGIN(bugprone-macro-parentheses)
/* A shape with a list of roles that is a macro itself and must become arguments first. */
#define OFFBEAT_ARGUMENTS(shape, ...) OFFBEAT_SHAPE_##shape(__VA_ARGS__)
#define OFFBEAT_WRITE(shape, ...) OFFBEAT_ARGUMENTS(shape, __VA_ARGS__)

#define OFFBEAT_SHAPE_BARRIER(SENT, GOT, COUNT, COUNTS, PLACES, FAR, TYPE, TYPES, OP, ROOT, COMM) COMM(comm)
#define OFFBEAT_SHAPE_BCAST(SENT, GOT, COUNT, COUNTS, PLACES, FAR, TYPE, TYPES, OP, ROOT, COMM)              \
    GOT(sent), COUNT(sent_count), TYPE(sent_type), ROOT(root), COMM(comm)
#define OFFBEAT_SHAPE_GATHER(SENT, GOT, COUNT, COUNTS, PLACES, FAR, TYPE, TYPES, OP, ROOT, COMM)             \
    SENT(sent), COUNT(sent_count), TYPE(sent_type), GOT(got), COUNT(got_count), TYPE(got_type), ROOT(root),  \
        COMM(comm)
#define OFFBEAT_SHAPE_GATHERV(SENT, GOT, COUNT, COUNTS, PLACES, FAR, TYPE, TYPES, OP, ROOT, COMM)            \
    SENT(sent), COUNT(sent_count), TYPE(sent_type), GOT(got), COUNTS(got_counts), PLACES(got_places),        \
        TYPE(got_type), ROOT(root), COMM(comm)
#define OFFBEAT_SHAPE_SCATTER OFFBEAT_SHAPE_GATHER
#define OFFBEAT_SHAPE_SCATTERV(SENT, GOT, COUNT, COUNTS, PLACES, FAR, TYPE, TYPES, OP, ROOT, COMM)           \
    SENT(sent), COUNTS(sent_counts), PLACES(sent_places), TYPE(sent_type), GOT(got), COUNT(got_count),       \
        TYPE(got_type), ROOT(root), COMM(comm)
#define OFFBEAT_SHAPE_EXCHANGE(SENT, GOT, COUNT, COUNTS, PLACES, FAR, TYPE, TYPES, OP, ROOT, COMM)           \
    SENT(sent), COUNT(sent_count), TYPE(sent_type), GOT(got), COUNT(got_count), TYPE(got_type), COMM(comm)
#define OFFBEAT_SHAPE_ALLGATHERV(SENT, GOT, COUNT, COUNTS, PLACES, FAR, TYPE, TYPES, OP, ROOT, COMM)         \
    SENT(sent), COUNT(sent_count), TYPE(sent_type), GOT(got), COUNTS(got_counts), PLACES(got_places),        \
        TYPE(got_type), COMM(comm)
#define OFFBEAT_SHAPE_ALLTOALLV(SENT, GOT, COUNT, COUNTS, PLACES, FAR, TYPE, TYPES, OP, ROOT, COMM)          \
    SENT(sent), COUNTS(sent_counts), PLACES(sent_places), TYPE(sent_type), GOT(got), COUNTS(got_counts),     \
        PLACES(got_places), TYPE(got_type), COMM(comm)
#define OFFBEAT_SHAPE_NEIGHBOR_ALLTOALLV OFFBEAT_SHAPE_ALLTOALLV
#define OFFBEAT_SHAPE_ALLTOALLW(SENT, GOT, COUNT, COUNTS, PLACES, FAR, TYPE, TYPES, OP, ROOT, COMM)          \
    SENT(sent), COUNTS(sent_counts), PLACES(sent_places), TYPES(sent_types), GOT(got), COUNTS(got_counts),   \
        PLACES(got_places), TYPES(got_types), COMM(comm)
#define OFFBEAT_SHAPE_NEIGHBOR_ALLTOALLW(SENT, GOT, COUNT, COUNTS, PLACES, FAR, TYPE, TYPES, OP, ROOT, COMM) \
    SENT(sent), COUNTS(sent_counts), FAR(sent_places), TYPES(sent_types), GOT(got), COUNTS(got_counts),      \
        FAR(got_places), TYPES(got_types), COMM(comm)
#define OFFBEAT_SHAPE_REDUCE(SENT, GOT, COUNT, COUNTS, PLACES, FAR, TYPE, TYPES, OP, ROOT, COMM)             \
    SENT(sent), GOT(got), COUNT(sent_count), TYPE(sent_type), OP(operation), ROOT(root), COMM(comm)
#define OFFBEAT_SHAPE_ALLREDUCE(SENT, GOT, COUNT, COUNTS, PLACES, FAR, TYPE, TYPES, OP, ROOT, COMM)          \
    SENT(sent), GOT(got), COUNT(sent_count), TYPE(sent_type), OP(operation), COMM(comm)
#define OFFBEAT_SHAPE_REDUCE_SCATTER(SENT, GOT, COUNT, COUNTS, PLACES, FAR, TYPE, TYPES, OP, ROOT, COMM)     \
    SENT(sent), GOT(got), COUNTS(sent_counts), TYPE(sent_type), OP(operation), COMM(comm)

/* --- parameters in C ---------------------------------------------------------------------------------------
 */
#define OFFBEAT_C_SENT(name) const void *name
#define OFFBEAT_C_GOT(name) void *name
#define OFFBEAT_C_COUNT(name) int name
#define OFFBEAT_C_COUNTS(name) const int name[]
#define OFFBEAT_C_LARGE_COUNT(name) MPI_Count name
#define OFFBEAT_C_LARGE_COUNTS(name) const MPI_Count name[]
#define OFFBEAT_C_FAR(name) const MPI_Aint name[]
#define OFFBEAT_C_TYPE(name) MPI_Datatype name
#define OFFBEAT_C_TYPES(name) const MPI_Datatype name[]
#define OFFBEAT_C_OP(name) MPI_Op name
#define OFFBEAT_C_ROOT(name) int name
#define OFFBEAT_C_COMM(name) MPI_Comm name

#define OFFBEAT_C_ROLES                                                                                      \
    OFFBEAT_C_SENT, OFFBEAT_C_GOT, OFFBEAT_C_COUNT, OFFBEAT_C_COUNTS, OFFBEAT_C_COUNTS, OFFBEAT_C_FAR,       \
        OFFBEAT_C_TYPE, OFFBEAT_C_TYPES, OFFBEAT_C_OP, OFFBEAT_C_ROOT, OFFBEAT_C_COMM
#define OFFBEAT_C_LARGE_ROLES                                                                                \
    OFFBEAT_C_SENT, OFFBEAT_C_GOT, OFFBEAT_C_LARGE_COUNT, OFFBEAT_C_LARGE_COUNTS, OFFBEAT_C_FAR,             \
        OFFBEAT_C_FAR, OFFBEAT_C_TYPE, OFFBEAT_C_TYPES, OFFBEAT_C_OP, OFFBEAT_C_ROOT, OFFBEAT_C_COMM

/* --- parameters in Fortran: all of them are addresses ------------------------------------------------------
 */
#define OFFBEAT_F_WORD(name) void *name
#define OFFBEAT_F_ROLES                                                                                      \
    OFFBEAT_F_WORD, OFFBEAT_F_WORD, OFFBEAT_F_WORD, OFFBEAT_F_WORD, OFFBEAT_F_WORD, OFFBEAT_F_WORD,          \
        OFFBEAT_F_WORD, OFFBEAT_F_WORD, OFFBEAT_F_WORD, OFFBEAT_F_WORD, OFFBEAT_F_WORD

/* --- the words of a call -----------------------------------------------------------------------------------
 */
#define OFFBEAT_SAME(name) name
#define OFFBEAT_NAME_ROLES                                                                                   \
    OFFBEAT_SAME, OFFBEAT_SAME, OFFBEAT_SAME, OFFBEAT_SAME, OFFBEAT_SAME, OFFBEAT_SAME, OFFBEAT_SAME,        \
        OFFBEAT_SAME, OFFBEAT_SAME, OFFBEAT_SAME, OFFBEAT_SAME

/* --- the parameters of a list of names in Fortran, for constructors of communicators
 * ------------------------ */
#define OFFBEAT_WORDS_1(a) void *a
#define OFFBEAT_WORDS_2(a, ...) void *a, OFFBEAT_WORDS_1(__VA_ARGS__)
#define OFFBEAT_WORDS_3(a, ...) void *a, OFFBEAT_WORDS_2(__VA_ARGS__)
#define OFFBEAT_WORDS_4(a, ...) void *a, OFFBEAT_WORDS_3(__VA_ARGS__)
#define OFFBEAT_WORDS_5(a, ...) void *a, OFFBEAT_WORDS_4(__VA_ARGS__)
#define OFFBEAT_WORDS_6(a, ...) void *a, OFFBEAT_WORDS_5(__VA_ARGS__)
#define OFFBEAT_WORDS_7(a, ...) void *a, OFFBEAT_WORDS_6(__VA_ARGS__)
#define OFFBEAT_WORDS_8(a, ...) void *a, OFFBEAT_WORDS_7(__VA_ARGS__)
#define OFFBEAT_WORDS_9(a, ...) void *a, OFFBEAT_WORDS_8(__VA_ARGS__)
#define OFFBEAT_WORDS_10(a, ...) void *a, OFFBEAT_WORDS_9(__VA_ARGS__)
#define OFFBEAT_CHOOSE(a, b, c, d, e, f, g, h, i, j, chosen, ...) chosen
#define OFFBEAT_WORDS(...)                                                                                   \
    OFFBEAT_CHOOSE(__VA_ARGS__, OFFBEAT_WORDS_10, OFFBEAT_WORDS_9, OFFBEAT_WORDS_8, OFFBEAT_WORDS_7,         \
                   OFFBEAT_WORDS_6, OFFBEAT_WORDS_5, OFFBEAT_WORDS_4, OFFBEAT_WORDS_3, OFFBEAT_WORDS_2,      \
                   OFFBEAT_WORDS_1, none)                                                                    \
    (__VA_ARGS__)

// NOLINTEND(bugprone-macro-parentheses)

#endif
