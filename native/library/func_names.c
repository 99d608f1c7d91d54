/* SPDX-License-Identifier: BSD-3-Clause */
/** @file func_names.c  Functions of stripped libraries, identified by the __func__ strings they refer to. */
#define _GNU_SOURCE
#include "library/symbols.h"

#include <ctype.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>

enum { MIN_NAME_LENGTH = 8, MAX_NAME_LENGTH = 255 };

/* A range of addresses. */
typedef struct range {
    uintptr_t begin, end;
} range;

typedef struct search {
    offbeat_object_filter object_filter;
    offbeat_symbol_filter symbol_filter;
    offbeat_symbol_list functions;
} search;

/* One row of the search table in .eh_frame_hdr: addresses relative to that section. */
typedef struct frame_row {
    int32_t function, description;
} frame_row;

/* The start addresses of the functions of one object, ascending. */
typedef struct frame_table {
    uintptr_t base;
    const frame_row *rows;
    size_t count;
} frame_table;

/* The C identifier, long enough for a function name, that ends with a zero byte before @p end; else NULL. */
static char *identifier_at(uintptr_t address, uintptr_t end) {
    char *text = (char *)address;
    size_t limit = end - address > MAX_NAME_LENGTH ? MAX_NAME_LENGTH : end - address, length = 0;
    while (length < limit && (isalnum((unsigned char)text[length]) || text[length] == '_'))
        length++;
    return length >= MIN_NAME_LENGTH && length < limit && text[length] == '\0' ? text : NULL;
}

/* Collects the selected identifiers that follow a zero byte. Their strings remain in the library. */
static void collect_names(const search *s, range data, offbeat_symbol_list *names) {
    for (uintptr_t address = data.begin; address < data.end;) {
        const char *zero = memchr((const void *)address, '\0', data.end - address);
        if (!zero)
            return;
        address = (uintptr_t)zero + 1;
        char *name = address < data.end ? identifier_at(address, data.end) : NULL;
        if (name && s->symbol_filter(name))
            offbeat_symbols_append(names, address, name);
    }
}

static char *name_at(const offbeat_symbol_list *names, uintptr_t address) {
    long i = offbeat_symbols_at(names, address);
    return i < 0 ? NULL : names->items[i].name;
}

/* The start address of the function that contains an address; 0 if unknown. */
static uintptr_t function_start(const frame_table *frames, uintptr_t address) {
    size_t low = 0, high = frames->count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (frames->base + (uintptr_t)(intptr_t)frames->rows[middle].function <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low ? frames->base + (uintptr_t)(intptr_t)frames->rows[low - 1].function : 0;
}

#if defined(__x86_64__)

/* lea register, [rip + distance]: REX.W with or without R, 8D, and a ModRM byte of mode 0 and base 5. */
static uintptr_t address_loaded_at(uintptr_t address, uintptr_t end) {
    const unsigned char *code = (const unsigned char *)address;
    int32_t distance;
    if (end - address < 7 || (code[0] & 0xFBu) != 0x48 || code[1] != 0x8D || (code[2] & 0xC7u) != 0x05)
        return 0;
    memcpy(&distance, code + 3, sizeof distance);
    return address + 7 + (uintptr_t)(intptr_t)distance;
}

enum { CODE_STEP = 1 };

#elif defined(__aarch64__)

/* adrp register, page; add register, register, offset: with at most a few instructions in between. */
static uintptr_t address_loaded_at(uintptr_t address, uintptr_t end) {
    enum { MAX_DISTANCE = 4 };
    uint32_t first, second;
    memcpy(&first, (const void *)address, sizeof first);
    if ((first & 0x9F000000u) != 0x90000000u)
        return 0;
    int64_t pages = (int64_t)((((first >> 5) & 0x7FFFFu) << 2) | ((first >> 29) & 3u));
    if (pages & 0x100000)
        pages -= 0x200000;
    uintptr_t page = (address & ~(uintptr_t)4095) + (uintptr_t)(pages * 4096);
    for (int i = 1; i <= MAX_DISTANCE && address + 4 * (uintptr_t)(i + 1) <= end; i++) {
        memcpy(&second, (const void *)(address + 4 * (uintptr_t)i), sizeof second);
        if ((second & 0xFFC00000u) == 0x91000000u && ((second >> 5) & 31u) == (first & 31u))
            return page + ((second >> 10) & 0xFFFu);
    }
    return 0;
}

enum { CODE_STEP = 4 };

#else

static uintptr_t address_loaded_at(uintptr_t address, uintptr_t end) {
    (void)address;
    (void)end;
    return 0;
}

enum { CODE_STEP = 4 };

#endif

/* Collects (function, name) for each instruction that loads the address of a name. */
static void collect_references(range code, const offbeat_symbol_list *names, const frame_table *frames,
                               offbeat_symbol_list *references) {
    for (uintptr_t instruction = code.begin; instruction + 8 <= code.end; instruction += CODE_STEP) {
        uintptr_t address = address_loaded_at(instruction, code.end);
        char *name = address ? name_at(names, address) : NULL;
        uintptr_t function = name ? function_start(frames, instruction) : 0;
        if (function)
            offbeat_symbols_append(references, function, name);
    }
}

/* The first of several sorted names, if all others begin with it; else NULL. */
static const char *common_name(const offbeat_symbol *first, size_t count) {
    size_t length = strlen(first->name);
    for (size_t i = 1; i < count; i++)
        if (strncmp(first[i].name, first->name, length) != 0)
            return NULL;
    return first->name;
}

static void name_functions(offbeat_symbol_list *references, offbeat_symbol_list *functions) {
    offbeat_symbols_sort(references);
    for (size_t i = 0, next; i < references->count; i = next) {
        const offbeat_symbol *first = &references->items[i];
        for (next = i + 1; next < references->count && references->items[next].address == first->address;)
            next++;
        const char *name = common_name(first, next - i);
        char *copy = name ? strdup(name) : NULL;
        if (copy && offbeat_symbols_append(functions, first->address, copy) != 0)
            free(copy);
    }
}

/* The search table of .eh_frame_hdr, in the only format that linkers write: 4-byte count and addresses,
 * relative to the section. */
static frame_table frames_of(const struct dl_phdr_info *object) {
    enum { VERSION = 1, COUNT_IN_4_BYTES = 0x03, ROWS_RELATIVE_IN_4_BYTES = 0x3B, HEADER_BYTES = 12 };
    for (int i = 0; i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &object->dlpi_phdr[i];
        const unsigned char *header = (const unsigned char *)(object->dlpi_addr + segment->p_vaddr);
        uint32_t count;
        if (segment->p_type != PT_GNU_EH_FRAME || segment->p_memsz < HEADER_BYTES || header[0] != VERSION ||
            header[2] != COUNT_IN_4_BYTES || header[3] != ROWS_RELATIVE_IN_4_BYTES)
            continue;
        memcpy(&count, header + 8, sizeof count);
        if (count <= (segment->p_memsz - HEADER_BYTES) / sizeof(frame_row))
            return (frame_table){(uintptr_t)header, (const frame_row *)(header + HEADER_BYTES), count};
    }
    return (frame_table){0};
}

/* The i-th segment of an object, if it is loaded and its flags in @p mask are @p flags; else an empty range.
 */
static range loaded_segment(const struct dl_phdr_info *object, int i, unsigned mask, unsigned flags) {
    const ElfW(Phdr) *segment = &object->dlpi_phdr[i];
    uintptr_t begin = object->dlpi_addr + segment->p_vaddr;
    if (segment->p_type != PT_LOAD || (segment->p_flags & mask) != flags)
        return (range){0, 0};
    return (range){begin, begin + segment->p_filesz};
}

static int search_object(struct dl_phdr_info *object, size_t size, void *data) {
    (void)size;
    search *s = data;
    const char *path = object->dlpi_name && *object->dlpi_name ? object->dlpi_name : "/proc/self/exe";
    frame_table frames = s->object_filter(path) ? frames_of(object) : (frame_table){0};
    if (!frames.count)
        return 0;
    offbeat_symbol_list names = {0}, references = {0};
    for (int i = 0; i < object->dlpi_phnum; i++)
        collect_names(s, loaded_segment(object, i, PF_R | PF_W, PF_R), &names);
    offbeat_symbols_sort(&names);
    for (int i = 0; i < object->dlpi_phnum && names.count; i++)
        collect_references(loaded_segment(object, i, PF_R | PF_X, PF_R | PF_X), &names, &frames, &references);
    name_functions(&references, &s->functions);
    free(references.items);
    free(names.items);
    return 0;
}

offbeat_symbol_list offbeat_symbols_find_by_func_names(offbeat_object_filter object_filter,
                                                       offbeat_symbol_filter symbol_filter) {
    search s = {.object_filter = object_filter, .symbol_filter = symbol_filter};
    dl_iterate_phdr(search_object, &s);
    offbeat_symbols_sort(&s.functions);
    return s.functions;
}
