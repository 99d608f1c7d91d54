/* SPDX-License-Identifier: BSD-3-Clause */
/** @file functions.c  One-shot breakpoints on the library's algorithm functions. */
#define _GNU_SOURCE
#include "library/functions.h"

#include "library/family.h"
#include "library/func_texts.h"
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
static const instruction trap = 0xCC; /* int3: the saved program counter is one byte behind it */
#define PROGRAM_COUNTER(context) ((context)->uc_mcontext.gregs[REG_RIP])
#define AFTER_TRAP 1
#define SUPPORTED 1
#elif defined(__aarch64__)
typedef unsigned int instruction;
static const instruction trap = 0xD4200000u; /* brk #0: the saved program counter is at it */
#define PROGRAM_COUNTER(context) ((context)->uc_mcontext.pc)
#define AFTER_TRAP 0
#define SUPPORTED 1
#else
#define SUPPORTED 0
#endif

#if SUPPORTED

enum { MOST_HITS = 64 };

static offbeat_symbol_list functions;
static instruction *saved;
static volatile sig_atomic_t hits[MOST_HITS];
static atomic_int hit_count; /* a progress thread of the library may hit, too */
static struct sigaction previous;
static char names[8192];

static int protect(uintptr_t address, int protection) {
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    uintptr_t first = address & ~(page - 1), last = (address + sizeof(instruction) - 1) & ~(page - 1);
    // NOLINTNEXTLINE(clang-analyzer-security.MmapWriteExec): other functions on the page run meanwhile
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
 * Pages stay writable while breakpoints are planted, so that the handler needs no system call. A thread may
 * have hit one just before it was taken away: then there is nothing to restore.
 */
static void on_trap(int signal, siginfo_t *info, void *raw) {
    ucontext_t *context = raw;
    uintptr_t address = (uintptr_t)PROGRAM_COUNTER(context) - AFTER_TRAP;
    long i = info->si_code > 0 ? offbeat_symbols_at(&functions, address) : -1;
    if (i < 0) { /* not ours: what would have happened happens, once this handler has returned */
        sigaction(signal, &previous, NULL);
        raise(signal);
        return;
    }
    if (read_instruction(address) == trap) {
        write_instruction(address, saved[i]);
        int place = atomic_fetch_add(&hit_count, 1);
        if (place < MOST_HITS)
            hits[place] = (sig_atomic_t)i;
    }
    PROGRAM_COUNTER(context) = (__typeof__(PROGRAM_COUNTER(context)))address;
}

/* Finds the functions and takes the signal, for good: a late hit must never meet another handler. */
static void prepare_once(void) {
    static int is_prepared;
    if (is_prepared)
        return;
    is_prepared = 1;
    functions = offbeat_symbols_find(offbeat_family_holds_algorithms, offbeat_family_is_algorithm);
    if (!functions.count) /* a library without its symbols */
        functions = offbeat_func_texts_find(offbeat_family_holds_algorithms, offbeat_family_is_algorithm);
    saved = calloc(functions.count ? functions.count : 1, sizeof *saved);
    struct sigaction action = {.sa_sigaction = on_trap, .sa_flags = SA_SIGINFO | SA_RESTART};
    if (!functions.count || !saved || sigaction(SIGTRAP, &action, &previous) != 0)
        offbeat_symbols_free(&functions);
}

static void unplant(size_t count) {
    for (size_t i = 0; i < count; i++) {
        uintptr_t address = functions.items[i].address;
        if (read_instruction(address) == trap)
            write_instruction(address, saved[i]);
    }
    for (size_t i = 0; i < count; i++)
        protect(functions.items[i].address, PROT_READ | PROT_EXEC);
}

int offbeat_functions_count(void) {
    prepare_once();
    return (int)functions.count;
}

int offbeat_functions_begin(void) {
    prepare_once();
    names[0] = '\0';
    hit_count = 0;
    if (!functions.count)
        return -1;
    for (size_t i = 0; i < functions.count; i++) {
        uintptr_t address = functions.items[i].address;
        if (protect(address, PROT_READ | PROT_WRITE | PROT_EXEC) != 0) {
            unplant(i);
            return -1;
        }
        saved[i] = read_instruction(address);
        write_instruction(address, trap);
    }
    return 0;
}

const char *offbeat_functions_end(void) {
    unplant(functions.count);
    size_t used = 0;
    for (int i = 0; i < hit_count && i < MOST_HITS; i++) {
        const char *name = functions.items[hits[i]].name;
        size_t length = strlen(name);
        if (used + length + 2 > sizeof names)
            break;
        if (used)
            names[used++] = ' ';
        memcpy(names + used, name, length + 1);
        used += length;
    }
    return names;
}

#else

int offbeat_functions_count(void) {
    return 0;
}

int offbeat_functions_begin(void) {
    return -1;
}

const char *offbeat_functions_end(void) {
    return "";
}

#endif
