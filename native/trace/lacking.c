/* SPDX-License-Identifier: BSD-3-Clause */
/* Each object's relocations are gone through as the dynamic linker does. */
#define _GNU_SOURCE
#include "trace/lacking.h"

#include "trace/behind.h"

#include <dlfcn.h>
#include <link.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#if __ELF_NATIVE_CLASS == 64
#define SYMBOL_OF ELF64_R_SYM
#else
#define SYMBOL_OF ELF32_R_SYM
#endif
#define BINDING_OF(symbol) ((symbol)->st_info >> 4)

/* What is needed of an object that is loaded. */
typedef struct object {
    uintptr_t base;
    uintptr_t sealed_from, sealed_to; /* written to by the dynamic linker alone, and then sealed */
    const ElfW(Sym) * symbols;
    const char *names;
} object;

/* A list of relocations; the beginning of an entry is the same in both kinds. */
typedef struct relocations {
    uintptr_t first;
    size_t bytes, entry_bytes;
} relocations;

/* Addresses in a dynamic section are made absolute by some dynamic linkers, and by others not. */
static uintptr_t absolute(const object *of, uintptr_t address) {
    return address < of->base ? of->base + address : address;
}

static int is_the_fronts(uintptr_t address) {
    Dl_info there, here;
    return dladdr((void *)address, &there) != 0 &&
           dladdr((void *)(uintptr_t)offbeat_lacking_forget, &here) != 0 && there.dli_fbase == here.dli_fbase;
}

/* Where the page of an address begins. */
static uintptr_t page_of(uintptr_t address) {
    const uintptr_t page_bytes = (uintptr_t)sysconf(_SC_PAGESIZE);
    return address / page_bytes * page_bytes;
}

static void clear(const object *of, uintptr_t *slot) {
    const size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE);
    void *page = (void *)page_of((uintptr_t)slot);
    const int is_sealed = (uintptr_t)slot >= of->sealed_from && (uintptr_t)slot < of->sealed_to;
    if (is_sealed && mprotect(page, page_bytes, PROT_READ | PROT_WRITE) != 0)
        return;
    *slot = 0;
    if (is_sealed)
        mprotect(page, page_bytes, PROT_READ);
}

static void go_through(const object *of, const relocations *list) {
    for (size_t at = 0; list->entry_bytes > 0 && at < list->bytes; at += list->entry_bytes) {
        const ElfW(Rel) *one = (const ElfW(Rel) *)(list->first + at);
        const ElfW(Sym) *symbol = &of->symbols[SYMBOL_OF(one->r_info)];
        const char *name = of->names + symbol->st_name;
        uintptr_t *slot = (uintptr_t *)(of->base + one->r_offset);
        if (symbol->st_shndx == SHN_UNDEF && BINDING_OF(symbol) == STB_WEAK &&
            strncmp(name, "MPI_", 4) == 0 && is_the_fronts(*slot) && offbeat_behind(name) == NULL)
            clear(of, slot);
    }
}

static void go_through_both(object *of, const ElfW(Dyn) * dynamic) {
    relocations data = {0}, calls = {0};
    for (; dynamic->d_tag != DT_NULL; dynamic++) {
        const uintptr_t value = dynamic->d_un.d_val;
        switch (dynamic->d_tag) {
        case DT_SYMTAB:
            of->symbols = (const ElfW(Sym) *)absolute(of, value);
            break;
        case DT_STRTAB:
            of->names = (const char *)absolute(of, value);
            break;
        case DT_RELA:
        case DT_REL:
            data.first = absolute(of, value);
            break;
        case DT_RELASZ:
        case DT_RELSZ:
            data.bytes = value;
            break;
        case DT_RELAENT:
        case DT_RELENT:
            data.entry_bytes = value;
            break;
        case DT_JMPREL:
            calls.first = absolute(of, value);
            break;
        case DT_PLTRELSZ:
            calls.bytes = value;
            break;
        case DT_PLTREL:
            calls.entry_bytes = value == DT_RELA ? sizeof(ElfW(Rela)) : sizeof(ElfW(Rel));
            break;
        default:
            break;
        }
    }
    if (of->symbols == NULL || of->names == NULL)
        return;
    go_through(of, &data);
    go_through(of, &calls);
}

static int visit(struct dl_phdr_info *info, size_t bytes, void *unused) {
    object of = {.base = info->dlpi_addr};
    const ElfW(Dyn) *dynamic = NULL;
    (void)bytes, (void)unused;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        if (segment->p_type == PT_DYNAMIC)
            dynamic = (const ElfW(Dyn) *)(of.base + segment->p_vaddr);
        if (segment->p_type == PT_GNU_RELRO) {
            of.sealed_from = of.base + segment->p_vaddr;
            of.sealed_to = page_of(of.sealed_from + segment->p_memsz); /* what begins a page stays open */
        }
    }
    if (dynamic != NULL)
        go_through_both(&of, dynamic);
    return 0;
}

void offbeat_lacking_forget(void) {
    dl_iterate_phdr(visit, NULL);
}
