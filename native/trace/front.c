/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file front.c
 * What LD_PRELOAD puts in front of a program's MPI library: every name that the tracer has a wrapper for, and
 * behind each no more than a jump.
 *
 * Where all of them lead is decided at the first call, which is MPI_Init (behind.h): into the tracer, or
 * straight on to the library that the program would have had anyway. So nothing of any MPI library comes into
 * a process that didn't load it. Which types a library gives its handles must not matter here: arguments are
 * handed on as words, as many as any of these functions may have. At -O2 they stay where they are, and so
 * does the address to return to.
 */
#include "trace/behind.h"

#include "trace/lacking.h"
#include "trace/lane.h"
#include "trace/programs_code.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

typedef uintptr_t word;

/* Lists of parameters can't stand in parentheses of their own. */
// NOLINTBEGIN(bugprone-macro-parentheses)

#define WORDS word a, word b, word c, word d, word e, word f, word g, word h, word i, word j, word k, word l
#define NAMES a, b, c, d, e, f, g, h, i, j, k, l

typedef word function(WORDS);

/* A name, and where it leads. All stand in a section of their own, which is an array of them. */
typedef struct jump {
    const char *name;
    _Atomic(function *) to;
} jump;

extern jump __start_offbeat_jumps[], __stop_offbeat_jumps[]; // NOLINT: so the linker calls them

/* What a name stands for: of the second names of functions (PMPI_Bcast) the MPI library's own. */
static function *find(const jump *one) {
    const int is_second_name = one->name[0] == 'P' || one->name[0] == 'p';
    return (function *)(is_second_name ? offbeat_behind_tracer(one->name) : offbeat_behind(one->name));
}

/* Leads all names to what they stand for from now on; those that stand for nothing stay. */
static void lead_all(void) {
    int are_all = 1;
    for (jump *one = __start_offbeat_jumps; one != __stop_offbeat_jumps; one++) {
        function *to = find(one);
        if (to != NULL)
            atomic_store_explicit(&one->to, to, memory_order_relaxed);
        are_all &= to != NULL;
    }
    if (!are_all)
        offbeat_lacking_forget();
}

/* Where a name leads that no call has come through yet. */
static function *lead(const jump *called, const void *caller) {
    if (offbeat_behind_begin(caller)) {
        function *to = find(called);
        lead_all();
        if (to != NULL)
            return to;
    }
    fprintf(
        stderr,
        "offbeat: the program called %s, which its MPI library does not have; use a library that has it\n",
        called->name);
    abort();
}

/* Whether the tracer sees a call by a second name; looks whose code calls. */
static int is_seen(const void *caller) {
    offbeat_code_look(offbeat_behind_is_traced(caller));
    return offbeat_code_is_programs(caller) > 0;
}

/* The fence keeps the first call in a frame of its own: a jump may write the arguments anew, where the caller
 * has other things if there were fewer. */
#define FIRST(symbol)                                                                                        \
    static function first_##symbol;                                                                          \
    static jump jump_##symbol __attribute__((section("offbeat_jumps"), aligned(sizeof(void *)), used)) = {   \
        #symbol, first_##symbol};                                                                            \
    static word first_##symbol(WORDS) {                                                                      \
        word result = lead(&jump_##symbol, __builtin_return_address(0))(NAMES);                              \
        atomic_signal_fence(memory_order_seq_cst);                                                           \
        return result;                                                                                       \
    }
#define BEHIND(symbol) atomic_load_explicit(&jump_##symbol.to, memory_order_relaxed)

/* A program with MPI wrappers of its own calls the functions by their second names, for profiling, which the
 * tracer sees as if it had called them by the first. Those that belong to a call that is going on, and those
 * of the MPI library and of tools, are led past the tracer. Where it isn't known yet whose code calls, a
 * frame of its own is needed, as at the first call; readers of the trace leave that frame out of the call
 * path. */
#define JUMP(symbol, second)                                                                                 \
    FIRST(symbol)                                                                                            \
    FIRST(second)                                                                                            \
    static word looked_##second(WORDS) {                                                                     \
        const void *caller = __builtin_return_address(0);                                                    \
        function *to = is_seen(caller) ? BEHIND(symbol) : BEHIND(second);                                    \
        word result = to(NAMES);                                                                             \
        atomic_signal_fence(memory_order_seq_cst);                                                           \
        return result;                                                                                       \
    }                                                                                                        \
    function symbol, second;                                                                                 \
    word symbol(WORDS) {                                                                                     \
        return BEHIND(symbol)(NAMES);                                                                        \
    }                                                                                                        \
    word second(WORDS) {                                                                                     \
        const int is_programs = offbeat_code_is_programs(__builtin_return_address(0));                       \
        if (offbeat_own_lane.depth > 0 || is_programs == 0)                                                  \
            return BEHIND(second)(NAMES);                                                                    \
        return (is_programs > 0 ? BEHIND(symbol) : looked_##second)(NAMES);                                  \
    }

#define JUMPS(name, lower)                                                                                   \
    JUMP(MPI_##name, PMPI_##name)                                                                            \
    JUMP(mpi_##lower##_, pmpi_##lower##_)                                                                    \
    JUMP(mpi_##lower##_f08_, pmpi_##lower##_f08_)

JUMPS(Init, init)
JUMPS(Init_thread, init_thread)
JUMPS(Finalize, finalize)
JUMPS(Abort, abort)
JUMPS(Pcontrol, pcontrol)

JUMPS(Wait, wait)
JUMPS(Waitall, waitall)
JUMPS(Waitany, waitany)
JUMPS(Waitsome, waitsome)
JUMPS(Test, test)
JUMPS(Testall, testall)
JUMPS(Testany, testany)
JUMPS(Testsome, testsome)
JUMPS(Start, start)
JUMPS(Startall, startall)
JUMPS(Request_free, request_free)

/* Of a collective's variant: with counts of both sizes in C, and in all bindings of Fortran. */
#define JUMPS_OF(name, lower)                                                                                \
    JUMPS(name, lower)                                                                                       \
    JUMP(MPI_##name##_c, PMPI_##name##_c)                                                                    \
    JUMP(mpi_##lower##_f08ts_, pmpi_##lower##_f08ts_)                                                        \
    JUMP(mpi_##lower##_f08ts_large_, pmpi_##lower##_f08ts_large_)                                            \
    JUMP(mpi_##lower##_c_f08ts_, pmpi_##lower##_c_f08ts_)
#define OFFBEAT_COLLECTIVE(name, lower, shape)                                                               \
    JUMPS_OF(name, lower)                                                                                    \
    JUMPS_OF(I##lower, i##lower)                                                                             \
    JUMPS_OF(name##_init, lower##_init)
#define OFFBEAT_CONSTRUCTOR(name, lower, parameters, names) JUMPS(name, lower)
#define OFFBEAT_GROUP_CONSTRUCTOR OFFBEAT_CONSTRUCTOR
#define OFFBEAT_IDLE_CONSTRUCTOR OFFBEAT_CONSTRUCTOR
#define OFFBEAT_TEXT_CONSTRUCTOR(name, lower, parameters, names, texts) JUMPS(name, lower)
#define OFFBEAT_TEXT_GROUP_CONSTRUCTOR OFFBEAT_TEXT_CONSTRUCTOR
#define OFFBEAT_DESTRUCTOR JUMPS
#include "trace/table.h"

// NOLINTEND(bugprone-macro-parentheses)
