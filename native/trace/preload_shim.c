/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file preload_shim.c
 * What LD_PRELOAD puts before a program's MPI library: a trampoline for every function that the tracer wraps.
 *
 * The first call, which is MPI_Init, determines where all trampolines jump to (loaded_objects.h): to the
 * tracer's wrappers, or directly to the program's MPI library. So no MPI library is loaded into a process
 * that did not load it itself. Trampolines must not depend on the handle types of an MPI library: they pass
 * on machine words, as many as the longest of these functions has arguments. With optimised tail calls they
 * are jumps. Those of MPI names leave registers, stack and return address as they are; those of PMPI names
 * may load the words of the arguments and store them where they were.
 */
#include "trace/loaded_objects.h"
#include "trace/thread_state.h"
#include "trace/trampolines.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define EXPORT __attribute__((visibility("default")))

/* The compiler does not take the model of the declaration. With another model each access is a call, around
 * which the trampolines would save their arguments. */
_Thread_local offbeat_tracer_thread offbeat_tracer_this_thread __attribute__((tls_model("initial-exec")));
EXPORT _Thread_local int offbeat_tracer_has_pmpi_name __attribute__((tls_model("initial-exec")));

typedef uintptr_t word;
typedef offbeat_tracer_function function;
typedef offbeat_tracer_trampoline trampoline;

/* Parameter lists cannot be put in parentheses of their own. */
// NOLINTBEGIN(bugprone-macro-parentheses)

#define PARAMETERS                                                                                           \
    word a, word b, word c, word d, word e, word f, word g, word h, word i, word j, word k, word l, word m
#define ARGUMENTS a, b, c, d, e, f, g, h, i, j, k, l, m

/* The target of PMPI names is always the MPI library. */
static function *resolve(const trampoline *called) {
    const char *name = called->name;
    const int is_pmpi = name[0] == 'P' || name[0] == 'p';
    return (function *)(is_pmpi ? offbeat_tracer_next_symbol(name) : offbeat_tracer_resolve(name));
}

static void resolve_all(void) {
    int has_all = 1;
    for (trampoline *next = __start_offbeat_trampolines; next != __stop_offbeat_trampolines; next++) {
        function *target = resolve(next);
        if (target != NULL)
            atomic_store_explicit(&next->target, target, memory_order_relaxed);
        has_all &= target != NULL;
    }
    if (!has_all)
        offbeat_tracer_clear_missing_symbols();
}

/* The target of a trampoline that has not been resolved. */
static function *resolve_first_call(const trampoline *called, const void *caller) {
    if (offbeat_tracer_resolver_init(caller)) {
        function *target = resolve(called);
        resolve_all();
        if (target != NULL)
            return target;
    }
    fprintf(
        stderr,
        "offbeat: the program called %s, which its MPI library does not have; use a library that has it\n",
        called->name);
    abort();
}

/* Whether a call by a PMPI name is recorded; scans the code that was loaded since. */
static int is_program_call(const void *caller) {
    offbeat_tracer_scan_code(offbeat_tracer_is_loaded(caller));
    return offbeat_tracer_is_program_code(caller) > 0;
}

static inline __attribute__((always_inline)) function *get_target(const trampoline *trampoline) {
    return atomic_load_explicit(&trampoline->target, memory_order_relaxed);
}

/* The fence prevents a tail call, which would write all thirteen arguments to where the caller's are: the
 * caller may have passed fewer, and have other data there. */
#define CALL_IN_FRAME(function)                                                                              \
    const word result = (function)(ARGUMENTS);                                                               \
    atomic_signal_fence(memory_order_seq_cst);                                                               \
    return result;

/* The trampoline that jumped to one of the following functions, which have no parameter for it. */
static _Thread_local const trampoline *called __attribute__((tls_model("initial-exec")));

static __attribute__((noinline)) word first_call(PARAMETERS) {
    CALL_IN_FRAME(resolve_first_call(called, __builtin_return_address(0)))
}

/* A call by a PMPI name from code that was not scanned yet. */
static __attribute__((noinline)) word scan_caller(PARAMETERS) {
    const trampoline *pmpi_name = called;
    offbeat_tracer_has_pmpi_name = is_program_call(__builtin_return_address(0));
    CALL_IN_FRAME(get_target(offbeat_tracer_has_pmpi_name ? pmpi_name->mpi_name : pmpi_name))
}

/* A program or a tool with MPI wrappers of its own calls the functions by their PMPI names. The tracer
 * records these calls, and its wrappers then call the MPI library's functions, not those of the next tool
 * (offbeat_tracer_has_pmpi_name). Calls from inside a traced call and from the MPI library bypass the tracer.
 * Code that was not scanned yet needs a frame of its own, as the first call
 * does; readers of the trace remove that frame from the call path. */
static __attribute__((noinline)) word call_by_pmpi_name(PARAMETERS) {
    const int is_program = offbeat_tracer_is_program_code(__builtin_return_address(0));
    if (offbeat_tracer_this_thread.depth > 0 || is_program == 0)
        return get_target(called)(ARGUMENTS);
    offbeat_tracer_has_pmpi_name = is_program > 0;
    return (is_program > 0 ? get_target(called->mpi_name) : scan_caller)(ARGUMENTS);
}

#define TRAMPOLINE(symbol, name_without_p)                                                                   \
    static function first_##symbol;                                                                          \
    static trampoline trampoline_##symbol                                                                    \
        __attribute__((section("offbeat_trampolines"), aligned(sizeof(void *)), used)) = {                   \
            #symbol, first_##symbol, symbol, &trampoline_##name_without_p};                                  \
    static word first_##symbol(PARAMETERS) {                                                                 \
        called = &trampoline_##symbol;                                                                       \
        return first_call(ARGUMENTS);                                                                        \
    }
#define TRAMPOLINES_OF(symbol, pmpi)                                                                         \
    EXPORT function symbol, pmpi;                                                                            \
    TRAMPOLINE(symbol, symbol)                                                                               \
    TRAMPOLINE(pmpi, symbol)                                                                                 \
    word symbol(PARAMETERS) {                                                                                \
        return get_target(&trampoline_##symbol)(ARGUMENTS);                                                  \
    }                                                                                                        \
    word pmpi(PARAMETERS) {                                                                                  \
        called = &trampoline_##pmpi;                                                                         \
        return call_by_pmpi_name(ARGUMENTS);                                                                 \
    }

#define TRAMPOLINES(name, lower)                                                                             \
    TRAMPOLINES_OF(MPI_##name, PMPI_##name)                                                                  \
    TRAMPOLINES_OF(mpi_##lower##_, pmpi_##lower##_)                                                          \
    TRAMPOLINES_OF(mpi_##lower##_f08_, pmpi_##lower##_f08_)

TRAMPOLINES(Init, init)
TRAMPOLINES(Init_thread, init_thread)
TRAMPOLINES(Finalize, finalize)
TRAMPOLINES(Abort, abort)
TRAMPOLINES(Pcontrol, pcontrol)
TRAMPOLINES(Session_init, session_init)
TRAMPOLINES(Session_finalize, session_finalize)

/* One variant of a function with a buffer, with all its bindings. */
#define TRAMPOLINES_OF_VARIANT(name, lower)                                                                  \
    TRAMPOLINES(name, lower)                                                                                 \
    TRAMPOLINES_OF(MPI_##name##_c, PMPI_##name##_c)                                                          \
    TRAMPOLINES_OF(mpi_##lower##_f08ts_, pmpi_##lower##_f08ts_)                                              \
    TRAMPOLINES_OF(mpi_##lower##_f08ts_large_, pmpi_##lower##_f08ts_large_)                                  \
    TRAMPOLINES_OF(mpi_##lower##_c_f08ts_, pmpi_##lower##_c_f08ts_)
#define OFFBEAT_COLLECTIVE(name, lower, signature, ...)                                                      \
    TRAMPOLINES_OF_VARIANT(name, lower)                                                                      \
    TRAMPOLINES_OF_VARIANT(I##lower, i##lower)                                                               \
    TRAMPOLINES_OF_VARIANT(name##_init, lower##_init)
#define OFFBEAT_CONSTRUCTOR(name, lower, ...) TRAMPOLINES(name, lower)
#define OFFBEAT_MESSAGE_FUNCTION(name, lower, ...) TRAMPOLINES_OF_VARIANT(name, lower)
#define OFFBEAT_PROBE_FUNCTION(name, lower, ...) TRAMPOLINES(name, lower)
#define OFFBEAT_REQUEST_FUNCTION(name, lower, ...) TRAMPOLINES(name, lower)
#include "trace/wrapped_functions.h"

// NOLINTEND(bugprone-macro-parentheses)
