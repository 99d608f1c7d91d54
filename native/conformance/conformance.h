/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file conformance.h
 * Cases that check an implementation of partitioned communication against MPI 4.0, chapter 4.
 *
 * Two processes run each case. A case calls MUST and EXPECT; the first that fails answers for its launch,
 * which cannot be used afterwards, because requests are left active. A case that returns in both processes is
 * right.
 */
#ifndef OFFBEAT_CONFORMANCE_H
#define OFFBEAT_CONFORMANCE_H

#include "conformance/calls.h"

/** What a case needs or says beside what the standard requires. */
enum {
    CASE_QUALITY = 1, /**< the standard allows both outcomes */
    CASE_MISUSE = 2,  /**< erroneous calls: nothing can run after them in the same launch */
    CASE_THREADS = 4, /**< needs MPI_THREAD_MULTIPLE */
};

typedef struct conformance_case {
    const char *name;
    const char *section; /**< of MPI 4.0 */
    const char *promise; /**< what is right, in a sentence */
    void (*run)(void);
    int flags;
} conformance_case;

/** @name The cases of each file; an empty name ends them */
///@{
extern const conformance_case counts_cases[], matching_cases[], communicators_cases[], datatypes_cases[];
extern const conformance_case completion_cases[], iterations_cases[], arrival_cases[], progress_cases[];
extern const conformance_case threads_cases[], misuse_cases[];
///@}

/** The two processes. */
extern struct conformance_world {
    int rank, peer;
    MPI_Comm comm;    /**< of the cases: a duplicate of MPI_COMM_WORLD that returns errors */
    MPI_Comm control; /**< of the loop that runs the cases */
} world;

/** Calls a function; a code that is not MPI_SUCCESS is wrong. */
#define MUST(CALL)                                                                                           \
    do {                                                                                                     \
        conformance_enter(#CALL);                                                                            \
        conformance_check_code(CALL, #CALL);                                                                 \
        conformance_enter("");                                                                               \
    } while (0)

/** The code of a call that may fail. */
#define TRY(CALL) (conformance_enter(#CALL), (CALL))

/** A condition, and a sentence (printf style) about what was found instead. */
#define EXPECT(CONDITION, ...)                                                                               \
    do {                                                                                                     \
        if (!(CONDITION))                                                                                    \
            conformance_answer("wrong", __VA_ARGS__);                                                        \
    } while (0)

/** Notes the call that is entered, for the report of a hang or a crash; empty: the case's own code. */
void conformance_enter(const char *call);

void conformance_check_code(int code, const char *call);

/** Answers the current command with a verdict and what was found, and waits until the launch is killed. */
__attribute__((format(printf, 2, 3), noreturn)) void conformance_answer(const char *verdict,
                                                                        const char *format, ...);

/** Catches crashes of this process, and hangs of @p seconds from now; 0: no more. */
void conformance_watch(unsigned seconds);

/** Waits for the other process. */
void meet(void);

#endif
