/* SPDX-License-Identifier: BSD-3-Clause */
/** @file functions.c  One-shot breakpoints on the library's algorithm functions. */
#define _GNU_SOURCE
#include "library/functions.h"

#include "library/family.h"
#include "library/symbols.h"

#include <signal.h>
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
static volatile sig_atomic_t hit_count;
static struct sigaction previous;
static char names[8192];

static void look_once(void) {
    static int looked;
    if (looked)
        return;
    looked = 1;
    functions = offbeat_symbols_find(offbeat_family_holds_algorithms, offbeat_family_is_algorithm);
    saved = calloc(functions.count ? functions.count : 1, sizeof *saved);
    if (!saved)
        functions.count = 0;
}

static int protect(uintptr_t address, int protection) {
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    uintptr_t first = address & ~(page - 1), last = (address + sizeof(instruction) - 1) & ~(page - 1);
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

/* Pages stay writable while breakpoints are planted, so that the handler needs no system call. */
static void on_trap(int signal, siginfo_t *info, void *raw) {
    (void)info;
    ucontext_t *context = raw;
    uintptr_t address = (uintptr_t)PROGRAM_COUNTER(context) - AFTER_TRAP;
    long i = offbeat_symbols_at(&functions, address);
    if (i < 0) { /* not ours: die as the program would have died */
        sigaction(signal, &previous, NULL);
        return;
    }
    write_instruction(address, saved[i]);
    if (hit_count < MOST_HITS) {
        hits[hit_count] = (sig_atomic_t)i;
        hit_count++;
    }
    PROGRAM_COUNTER(context) = (__typeof__(PROGRAM_COUNTER(context)))address;
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
    look_once();
    return (int)functions.count;
}

int offbeat_functions_begin(void) {
    look_once();
    names[0] = '\0';
    hit_count = 0;
    struct sigaction action = {.sa_sigaction = on_trap, .sa_flags = SA_SIGINFO | SA_RESTART};
    if (!functions.count || sigaction(SIGTRAP, &action, &previous) != 0)
        return -1;
    for (size_t i = 0; i < functions.count; i++) {
        uintptr_t address = functions.items[i].address;
        if (protect(address, PROT_READ | PROT_WRITE | PROT_EXEC) != 0) {
            unplant(i);
            sigaction(SIGTRAP, &previous, NULL);
            return -1;
        }
        saved[i] = read_instruction(address);
        write_instruction(address, trap);
    }
    return 0;
}

const char *offbeat_functions_end(void) {
    unplant(functions.count);
    sigaction(SIGTRAP, &previous, NULL);
    size_t used = 0;
    for (int i = 0; i < hit_count; i++) {
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
