/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Where a program enters and leaves MPI, in C and in Fortran. A Fortran wrapper may come through that of C,
 * too: whichever comes first begins and ends the trace.
 */
#include "trace/next.h"
#include "trace/process.h"

#include <stdarg.h>

/* Lists of parameters can't stand in parentheses of their own. */
// NOLINTBEGIN(bugprone-macro-parentheses)

#define REAL(symbol, parameters) ((int(*) parameters)offbeat_next(&next, #symbol))

int MPI_Init(int *count, char ***words) {
    static offbeat_next_function next;
    int code = REAL(MPI_Init, (int *, char ***))(count, words);
    if (code == MPI_SUCCESS)
        offbeat_trace_begin();
    return code;
}

int MPI_Init_thread(int *count, char ***words, int required, int *provided) {
    static offbeat_next_function next;
    int code = REAL(MPI_Init_thread, (int *, char ***, int, int *))(count, words, required, provided);
    if (code == MPI_SUCCESS)
        offbeat_trace_begin();
    return code;
}

int MPI_Finalize(void) {
    static offbeat_next_function next;
    offbeat_trace_finalize();
    return REAL(MPI_Finalize, (void))();
}

int MPI_Abort(MPI_Comm comm, int code) {
    static offbeat_next_function next;
    offbeat_trace_abort();
    return REAL(MPI_Abort, (MPI_Comm, int))(comm, code);
}

/* What follows the level is for tools that know of it: there it ends. */
int MPI_Pcontrol(const int level, ...) {
    static offbeat_next_function next;
    offbeat_trace_pcontrol(level);
    return ((int (*)(int, ...))offbeat_next(&next, "MPI_Pcontrol"))(level);
}

/* --- Fortran
 * ------------------------------------------------------------------------------------------------- */

/* The real call of a subroutine whose last argument is the error code; that is there afterwards. */
#define FORWARD(symbol, parameters, names)                                                                   \
    static offbeat_next_function next;                                                                       \
    MPI_Fint failed = MPI_SUCCESS;                                                                           \
    if (code == NULL)                                                                                        \
        code = &failed;                                                                                      \
    ((void(*) parameters)offbeat_next(&next, #symbol)) names;

#define INIT(symbol)                                                                                         \
    void symbol(MPI_Fint *code);                                                                             \
    void symbol(MPI_Fint *code) {                                                                            \
        FORWARD(symbol, (MPI_Fint *), (code))                                                                \
        if (*code == MPI_SUCCESS)                                                                            \
            offbeat_trace_begin();                                                                           \
    }
#define INIT_THREAD(symbol)                                                                                  \
    void symbol(const MPI_Fint *required, MPI_Fint *provided, MPI_Fint *code);                               \
    void symbol(const MPI_Fint *required, MPI_Fint *provided, MPI_Fint *code) {                              \
        FORWARD(symbol, (const MPI_Fint *, MPI_Fint *, MPI_Fint *), (required, provided, code))              \
        if (*code == MPI_SUCCESS)                                                                            \
            offbeat_trace_begin();                                                                           \
    }
#define FINALIZE(symbol)                                                                                     \
    void symbol(MPI_Fint *code);                                                                             \
    void symbol(MPI_Fint *code) {                                                                            \
        offbeat_trace_finalize();                                                                            \
        FORWARD(symbol, (MPI_Fint *), (code))                                                                \
    }
#define ABORT(symbol)                                                                                        \
    void symbol(const MPI_Fint *comm, const MPI_Fint *status, MPI_Fint *code);                               \
    void symbol(const MPI_Fint *comm, const MPI_Fint *status, MPI_Fint *code) {                              \
        offbeat_trace_abort();                                                                               \
        FORWARD(symbol, (const MPI_Fint *, const MPI_Fint *, MPI_Fint *), (comm, status, code))              \
    }
/* Without an error code. */
#define PCONTROL(symbol)                                                                                     \
    void symbol(const MPI_Fint *level);                                                                      \
    void symbol(const MPI_Fint *level) {                                                                     \
        static offbeat_next_function next;                                                                   \
        offbeat_trace_pcontrol(*level);                                                                      \
        ((void (*)(const MPI_Fint *))offbeat_next(&next, #symbol))(level);                                   \
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
