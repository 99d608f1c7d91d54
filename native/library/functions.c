/* SPDX-License-Identifier: BSD-3-Clause */
/** @file functions.c  One-shot breakpoints on the library's algorithm functions. */
#define _GNU_SOURCE
#include "library/functions.h"

#include "library/mpi_implementation.h"
#include "library/symbols.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#if defined(__x86_64__)
typedef unsigned char instruction;
static const instruction trap = 0xCC; /* int3: the saved program counter is one byte after it */
#define PROGRAM_COUNTER(context) ((context)->uc_mcontext.gregs[REG_RIP])
#define AFTER_TRAP 1
#define IS_SUPPORTED 1
#elif defined(__aarch64__)
typedef unsigned int instruction;
static const instruction trap = 0xD4200000u; /* brk #0: the saved program counter is at it */
#define PROGRAM_COUNTER(context) ((context)->uc_mcontext.pc)
#define AFTER_TRAP 0
#define IS_SUPPORTED 1
#else
#define IS_SUPPORTED 0
#endif

#if IS_SUPPORTED

enum { MAX_HITS = 64 };

static offbeat_symbol_list functions;
static instruction *saved_instructions; /* the first instruction of each function */
static volatile sig_atomic_t hits[MAX_HITS];
static atomic_int hit_count; /* atomic, as a progress thread of the library may hit a breakpoint, too */
static struct sigaction previous;
static char names[8192];

static int protect(uintptr_t address, int protection) {
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    uintptr_t first = address & ~(page - 1), last = (address + sizeof(instruction) - 1) & ~(page - 1);
    // NOLINTNEXTLINE(clang-analyzer-security.MmapWriteExec): other functions on the page may be running
    return mprotect((void *)first, last - first + page, protection);
}

static void write_instruction(uintptr_t address, instruction value) {
    memcpy((void *)address, &value, sizeof value);
    __builtin___clear_cache((char *)address, (char *)address + sizeof value);
}

static instruction read_instruction(uintptr_t address) {
    instruction value;
    memcpy(&value, (const void *)address, sizeof value);
    return value;
}

/*
 * Pages stay writable while breakpoints are set, so that the handler needs no system call. If another thread
 * removed the breakpoint just after it was hit, there is nothing to restore.
 */
static void on_trap(int signal, siginfo_t *info, void *raw) {
    ucontext_t *context = raw;
    uintptr_t address = (uintptr_t)PROGRAM_COUNTER(context) - AFTER_TRAP;
    long i = info->si_code > 0 ? offbeat_symbols_at(&functions, address) : -1;
    if (i <
        0) { /* not a breakpoint of this file: the previous handler gets the signal when this one returns */
        sigaction(signal, &previous, NULL);
        raise(signal);
        return;
    }
    if (read_instruction(address) == trap) {
        write_instruction(address, saved_instructions[i]);
        int index = atomic_fetch_add(&hit_count, 1);
        if (index < MAX_HITS)
            hits[index] = (sig_atomic_t)i;
    }
    PROGRAM_COUNTER(context) = (__typeof__(PROGRAM_COUNTER(context)))address;
}

/* Finds the functions and installs the signal handler, which stays, as a thread may hit a breakpoint late. */
static void initialize_once(void) {
    static int is_initialized;
    if (is_initialized)
        return;
    is_initialized = 1;
    functions = offbeat_symbols_find(offbeat_mpi_holds_algorithms, offbeat_mpi_is_algorithm);
    if (!functions.count) /* stripped library */
        functions =
            offbeat_symbols_find_by_func_names(offbeat_mpi_holds_algorithms, offbeat_mpi_is_algorithm);
    saved_instructions = calloc(functions.count ? functions.count : 1, sizeof *saved_instructions);
    struct sigaction action = {.sa_sigaction = on_trap, .sa_flags = SA_SIGINFO | SA_RESTART};
    if (!functions.count || !saved_instructions || sigaction(SIGTRAP, &action, &previous) != 0)
        offbeat_symbols_free(&functions);
}

static void remove_breakpoints(size_t count) {
    for (size_t i = 0; i < count; i++) {
        uintptr_t address = functions.items[i].address;
        if (read_instruction(address) == trap)
            write_instruction(address, saved_instructions[i]);
    }
    for (size_t i = 0; i < count; i++)
        protect(functions.items[i].address, PROT_READ | PROT_EXEC);
}

int offbeat_functions_begin(void) {
    initialize_once();
    names[0] = '\0';
    hit_count = 0;
    if (!functions.count)
        return -1;
    for (size_t i = 0; i < functions.count; i++) {
        uintptr_t address = functions.items[i].address;
        if (protect(address, PROT_READ | PROT_WRITE | PROT_EXEC) != 0) {
            remove_breakpoints(i);
            return -1;
        }
        saved_instructions[i] = read_instruction(address);
        write_instruction(address, trap);
    }
    return 0;
}

const char *offbeat_functions_end(void) {
    remove_breakpoints(functions.count);
    size_t names_length = 0;
    for (int i = 0; i < hit_count && i < MAX_HITS; i++) {
        const char *name = functions.items[hits[i]].name;
        size_t length = strlen(name);
        if (names_length + length + 2 > sizeof names)
            break;
        if (names_length)
            names[names_length++] = ' ';
        memcpy(names + names_length, name, length + 1);
        names_length += length;
    }
    return names;
}

#else

int offbeat_functions_begin(void) {
    return -1;
}

const char *offbeat_functions_end(void) {
    return "";
}

#endif
