/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE /* MAP_ANONYMOUS */
#include "trace/mapping_guard.h"

#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

static _Atomic(offbeat_tracer_guarded *) guarded_mappings;
static _Atomic int has_replaced;
static struct sigaction program_action; /* what SIGBUS does without the guard */
static uintptr_t page_bytes;

/* Replaces the guarded pages from an address on: what follows a page that the file does not have is not in
 * the file either. @return whether the address was guarded */
static int replace_pages(uintptr_t address) {
    for (offbeat_tracer_guarded *mapping = atomic_load(&guarded_mappings); mapping != NULL;
         mapping = mapping->next) {
        const uintptr_t start = (uintptr_t)atomic_load(&mapping->start);
        if (start == 0 || address < start || address >= start + mapping->bytes)
            continue;
        const uintptr_t first = address / page_bytes * page_bytes;
        void *replacement = mmap((void *)first, start + mapping->bytes - first, PROT_READ | PROT_WRITE,
                                 MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (replacement == MAP_FAILED)
            return 0;
        atomic_store(&has_replaced, 1);
        return 1;
    }
    return 0;
}

/* Does with a signal what the program had set. */
static void pass_on(int number, siginfo_t *information, void *context) {
    const struct sigaction action = program_action;
    const int is_fault = information->si_code > 0; /* else another process or thread sent the signal */
    if (action.sa_flags & (int)SA_RESETHAND) {
        program_action.sa_handler = SIG_DFL;
        program_action.sa_flags &= ~SA_SIGINFO;
    }
    if (action.sa_flags & SA_SIGINFO) {
        action.sa_sigaction(number, information, context);
    } else if (action.sa_handler == SIG_DFL || (action.sa_handler == SIG_IGN && is_fault)) {
        signal(number, SIG_DFL);
        if (!is_fault) /* a fault is raised again by the same instruction */
            raise(number);
    } else if (action.sa_handler != SIG_IGN) {
        action.sa_handler(number);
    }
}

static void handle(int number, siginfo_t *information, void *context) {
    const int error = errno;
    if (information->si_code <= 0 || !replace_pages((uintptr_t)information->si_addr))
        pass_on(number, information, context);
    errno = error;
}

void offbeat_tracer_guard_begin(void) {
    page_bytes = (uintptr_t)sysconf(_SC_PAGESIZE);
    if (sigaction(SIGBUS, NULL, &program_action) != 0)
        return;
    struct sigaction action = program_action; /* its mask and its stack hold for the program's handler, too */
    if (!(action.sa_flags & SA_SIGINFO) && (action.sa_handler == SIG_DFL || action.sa_handler == SIG_IGN)) {
        sigemptyset(&action.sa_mask);
        action.sa_flags = SA_ONSTACK | SA_RESTART;
    }
    action.sa_sigaction = handle;
    action.sa_flags = (action.sa_flags | SA_SIGINFO) & ~(int)SA_RESETHAND;
    sigaction(SIGBUS, &action, NULL);
}

void offbeat_tracer_guard_end(void) {
    struct sigaction present;
    if (sigaction(SIGBUS, NULL, &present) == 0 && present.sa_flags & SA_SIGINFO &&
        present.sa_sigaction == handle)
        sigaction(SIGBUS, &program_action, NULL);
}

void offbeat_tracer_guard_add(offbeat_tracer_guarded *mapping) {
    for (const offbeat_tracer_guarded *entry = atomic_load(&guarded_mappings); entry != NULL;
         entry = entry->next)
        if (entry == mapping)
            return;
    mapping->next = atomic_load(&guarded_mappings);
    atomic_store(&guarded_mappings, mapping);
}

int offbeat_tracer_guard_has_replaced(void) {
    return atomic_load_explicit(&has_replaced, memory_order_relaxed);
}
