/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "library/symbols.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct search {
    offbeat_object_filter object_filter;
    offbeat_symbol_filter symbol_filter;
    offbeat_symbol_list symbols;
} search;

int offbeat_symbols_append(offbeat_symbol_list *list, uintptr_t address, char *name) {
    if (list->count == list->capacity) {
        size_t capacity = list->capacity ? 2 * list->capacity : 256;
        offbeat_symbol *items = realloc(list->items, capacity * sizeof *items);
        if (!items)
            return -1;
        list->items = items;
        list->capacity = capacity;
    }
    list->items[list->count++] = (offbeat_symbol){address, name};
    return 0;
}

static void append_copy(offbeat_symbol_list *list, uintptr_t address, const char *name) {
    char *copy = strdup(name);
    if (copy && offbeat_symbols_append(list, address, copy) != 0)
        free(copy);
}

static int compare_symbols(const void *a, const void *b) {
    const offbeat_symbol *x = a, *y = b;
    if (x->address != y->address)
        return x->address < y->address ? -1 : 1;
    return strcmp(x->name, y->name);
}

void offbeat_symbols_sort(offbeat_symbol_list *list) {
    if (list->count)
        qsort(list->items, list->count, sizeof *list->items, compare_symbols);
}

/* Whether an address lies in the loaded code of an object, whose file may have been replaced since. */
static int is_code(const struct dl_phdr_info *object, uintptr_t address) {
    for (int i = 0; i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &object->dlpi_phdr[i];
        uintptr_t begin = object->dlpi_addr + segment->p_vaddr;
        if (segment->p_type == PT_LOAD && (segment->p_flags & PF_X) && address >= begin &&
            address - begin < segment->p_memsz)
            return 1;
    }
    return 0;
}

static int is_inside(size_t offset, size_t bytes, size_t size) {
    return offset <= size && bytes <= size - offset;
}

/* Reads one symbol table of a mapped file, within the bounds of the file even if its headers are damaged. */
static void read_table(search *s, const char *file, size_t size, const ElfW(Shdr) * table,
                       const ElfW(Shdr) * strings, const struct dl_phdr_info *object) {
    if (!is_inside(table->sh_offset, table->sh_size, size) ||
        !is_inside(strings->sh_offset, strings->sh_size, size))
        return;
    const ElfW(Sym) *symbols = (const ElfW(Sym) *)(file + table->sh_offset);
    const char *names = file + strings->sh_offset;
    if (strings->sh_size == 0 || names[strings->sh_size - 1] != '\0')
        return;
    for (size_t i = 0; i < table->sh_size / sizeof *symbols; i++) {
        const ElfW(Sym) *symbol = &symbols[i];
        if (ELF64_ST_TYPE(symbol->st_info) != STT_FUNC || symbol->st_shndx == SHN_UNDEF ||
            symbol->st_size == 0 || symbol->st_name >= strings->sh_size)
            continue;
        uintptr_t address = object->dlpi_addr + symbol->st_value;
        if (s->symbol_filter(names + symbol->st_name) && is_code(object, address))
            append_copy(&s->symbols, address, names + symbol->st_name);
    }
}

static void read_file(search *s, const char *file, size_t size, const struct dl_phdr_info *object) {
    const ElfW(Ehdr) *header = (const ElfW(Ehdr) *)file;
    if (size < sizeof *header || memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 ||
        !is_inside(header->e_shoff, (size_t)header->e_shnum * sizeof(ElfW(Shdr)), size))
        return;
    const ElfW(Shdr) *sections = (const ElfW(Shdr) *)(file + header->e_shoff);
    for (int i = 0; i < header->e_shnum; i++) {
        const ElfW(Shdr) *section = &sections[i];
        if ((section->sh_type == SHT_SYMTAB || section->sh_type == SHT_DYNSYM) &&
            section->sh_link < header->e_shnum)
            read_table(s, file, size, section, &sections[section->sh_link], object);
    }
}

static int search_object(struct dl_phdr_info *object, size_t size, void *data) {
    (void)size;
    search *s = data;
    const char *path = object->dlpi_name && *object->dlpi_name ? object->dlpi_name : "/proc/self/exe";
    if (!s->object_filter(path))
        return 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return 0;
    struct stat status;
    if (fstat(fd, &status) == 0 && status.st_size > 0) {
        void *file = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (file != MAP_FAILED) {
            read_file(s, file, (size_t)status.st_size, object);
            munmap(file, (size_t)status.st_size);
        }
    }
    close(fd);
    return 0;
}

/* Aliases share an address, and .symtab repeats .dynsym. The first name in sorted order is the same in every
 * run. */
static void remove_duplicates(offbeat_symbol_list *list) {
    size_t unique = 0;
    for (size_t i = 0; i < list->count; i++) {
        if (unique && list->items[unique - 1].address == list->items[i].address)
            free(list->items[i].name);
        else
            list->items[unique++] = list->items[i];
    }
    list->count = unique;
}

offbeat_symbol_list offbeat_symbols_find(offbeat_object_filter object_filter,
                                         offbeat_symbol_filter symbol_filter) {
    search s = {.object_filter = object_filter, .symbol_filter = symbol_filter};
    dl_iterate_phdr(search_object, &s);
    offbeat_symbols_sort(&s.symbols);
    remove_duplicates(&s.symbols);
    return s.symbols;
}

long offbeat_symbols_at(const offbeat_symbol_list *list, uintptr_t address) {
    size_t low = 0, high = list->count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (list->items[middle].address < address)
            low = middle + 1;
        else
            high = middle;
    }
    return low < list->count && list->items[low].address == address ? (long)low : -1;
}

void offbeat_symbols_free(offbeat_symbol_list *list) {
    for (size_t i = 0; i < list->count; i++)
        free(list->items[i].name);
    free(list->items);
    *list = (offbeat_symbol_list){0};
}
