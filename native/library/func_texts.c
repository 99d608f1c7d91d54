/* SPDX-License-Identifier: BSD-3-Clause */
/** @file func_texts.c  Functions of stripped libraries, named by the __func__ text that each refers to. */
#define _GNU_SOURCE
#include "library/func_texts.h"

#include <ctype.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>

enum { SHORTEST_NAME = 8, LONGEST_NAME = 255 };

/* A piece of memory. */
typedef struct span {
    uintptr_t begin, end;
} span;

/* A growing list of (address, name); names are owned by the library or by the list. */
typedef struct pairs {
    offbeat_symbol *items;
    size_t count, room;
} pairs;

typedef struct search {
    int (*holds)(const char *path);
    int (*wanted)(const char *symbol);
    pairs found;
} search;

/* One row of the search table of .eh_frame_hdr: both relative to the table's own section. */
typedef struct frame_row {
    int32_t function, description;
} frame_row;

/* Where the functions of one object begin, ascending. */
typedef struct frame_table {
    uintptr_t base;
    const frame_row *rows;
    size_t count;
} frame_table;

/* @return 0, or -1 where there is no memory: then the name stays the caller's */
static int add(pairs *list, uintptr_t address, char *name) {
    if (list->count == list->room) {
        size_t room = list->room ? 2 * list->room : 256;
        offbeat_symbol *items = realloc(list->items, room * sizeof *items);
        if (!items)
            return -1;
        list->items = items;
        list->room = room;
    }
    list->items[list->count++] = (offbeat_symbol){address, name};
    return 0;
}

static int by_address(const void *a, const void *b) {
    const offbeat_symbol *x = a, *y = b;
    if (x->address != y->address)
        return x->address < y->address ? -1 : 1;
    return strcmp(x->name, y->name);
}

/* A text that begins behind a zero byte and holds nothing but what a C name may; NULL otherwise. */
static char *name_at(uintptr_t address, uintptr_t end) {
    char *text = (char *)address;
    size_t most = end - address > LONGEST_NAME ? LONGEST_NAME : end - address, length = 0;
    while (length < most && (isalnum((unsigned char)text[length]) || text[length] == '_'))
        length++;
    return length >= SHORTEST_NAME && length < most && text[length] == '\0' ? text : NULL;
}

static void collect_names(const search *s, span where, pairs *names) {
    for (uintptr_t at = where.begin; at < where.end;) {
        const char *zero = memchr((const void *)at, '\0', where.end - at);
        if (!zero)
            return;
        at = (uintptr_t)zero + 1;
        char *name = at < where.end ? name_at(at, where.end) : NULL;
        if (name && s->wanted(name))
            add(names, at, name);
    }
}

static const char *name_of(const pairs *names, uintptr_t address) {
    offbeat_symbol_list list = {names->items, names->count};
    long i = offbeat_symbols_at(&list, address);
    return i < 0 ? NULL : names->items[i].name;
}

/* The beginning of the function that holds an address; 0 where none is known. */
static uintptr_t function_of(const frame_table *frames, uintptr_t address) {
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
static uintptr_t text_loaded_at(uintptr_t at, uintptr_t end) {
    const unsigned char *code = (const unsigned char *)at;
    int32_t distance;
    if (end - at < 7 || (code[0] & 0xFBu) != 0x48 || code[1] != 0x8D || (code[2] & 0xC7u) != 0x05)
        return 0;
    memcpy(&distance, code + 3, sizeof distance);
    return at + 7 + (uintptr_t)(intptr_t)distance;
}

enum { CODE_STEP = 1 };

#elif defined(__aarch64__)

/* adrp register, page; add register, register, offset: the compiler keeps the two together or nearly so. */
static uintptr_t text_loaded_at(uintptr_t at, uintptr_t end) {
    enum { NEAR = 4 };
    uint32_t first, then;
    memcpy(&first, (const void *)at, sizeof first);
    if ((first & 0x9F000000u) != 0x90000000u)
        return 0;
    int64_t pages = (int64_t)((((first >> 5) & 0x7FFFFu) << 2) | ((first >> 29) & 3u));
    if (pages & 0x100000)
        pages -= 0x200000;
    uintptr_t page = (at & ~(uintptr_t)4095) + (uintptr_t)(pages * 4096);
    for (int i = 1; i <= NEAR && at + 4 * (uintptr_t)(i + 1) <= end; i++) {
        memcpy(&then, (const void *)(at + 4 * (uintptr_t)i), sizeof then);
        if ((then & 0xFFC00000u) == 0x91000000u && ((then >> 5) & 31u) == (first & 31u))
            return page + ((then >> 10) & 0xFFFu);
    }
    return 0;
}

enum { CODE_STEP = 4 };

#else

static uintptr_t text_loaded_at(uintptr_t at, uintptr_t end) {
    (void)at;
    (void)end;
    return 0;
}

enum { CODE_STEP = 4 };

#endif

static void collect_references(span code, const pairs *names, const frame_table *frames, pairs *references) {
    for (uintptr_t at = code.begin; at + 8 <= code.end; at += CODE_STEP) {
        uintptr_t text = text_loaded_at(at, code.end);
        const char *name = text ? name_of(names, text) : NULL;
        uintptr_t function = name ? function_of(frames, at) : 0;
        if (function)
            add(references, function, (char *)name);
    }
}

/* The name that all names of a function begin with; NULL where there is none. Names are in order. */
static const char *common_name(const offbeat_symbol *first, size_t count) {
    size_t length = strlen(first->name);
    for (size_t i = 1; i < count; i++)
        if (strncmp(first[i].name, first->name, length) != 0)
            return NULL;
    return first->name;
}

static void name_functions(pairs *references, pairs *found) {
    if (references->count)
        qsort(references->items, references->count, sizeof *references->items, by_address);
    for (size_t i = 0, next; i < references->count; i = next) {
        const offbeat_symbol *first = &references->items[i];
        for (next = i + 1; next < references->count && references->items[next].address == first->address;)
            next++;
        const char *name = common_name(first, next - i);
        char *copy = name ? strdup(name) : NULL;
        if (copy && add(found, first->address, copy) != 0)
            free(copy);
    }
}

/* The table of .eh_frame_hdr, in the only form that linkers write: 4-byte counts, rows relative to it. */
static frame_table frames_of(const struct dl_phdr_info *object) {
    enum { VERSION = 1, COUNT_IN_4_BYTES = 0x03, ROWS_RELATIVE_IN_4_BYTES = 0x3B, HEAD = 12 };
    for (int i = 0; i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &object->dlpi_phdr[i];
        const unsigned char *head = (const unsigned char *)(object->dlpi_addr + segment->p_vaddr);
        uint32_t count;
        if (segment->p_type != PT_GNU_EH_FRAME || segment->p_memsz < HEAD || head[0] != VERSION ||
            head[2] != COUNT_IN_4_BYTES || head[3] != ROWS_RELATIVE_IN_4_BYTES)
            continue;
        memcpy(&count, head + 8, sizeof count);
        if (count <= (segment->p_memsz - HEAD) / sizeof(frame_row))
            return (frame_table){(uintptr_t)head, (const frame_row *)(head + HEAD), count};
    }
    return (frame_table){0};
}

/* Calls for each loaded segment that has @p flags of those in @p mask. */
static span segment_with(const struct dl_phdr_info *object, int i, unsigned mask, unsigned flags) {
    const ElfW(Phdr) *segment = &object->dlpi_phdr[i];
    uintptr_t begin = object->dlpi_addr + segment->p_vaddr;
    if (segment->p_type != PT_LOAD || (segment->p_flags & mask) != flags)
        return (span){0, 0};
    return (span){begin, begin + segment->p_filesz};
}

static int visit(struct dl_phdr_info *object, size_t size, void *data) {
    (void)size;
    search *s = data;
    const char *path = object->dlpi_name && *object->dlpi_name ? object->dlpi_name : "/proc/self/exe";
    frame_table frames = s->holds(path) ? frames_of(object) : (frame_table){0};
    if (!frames.count)
        return 0;
    pairs names = {0}, references = {0};
    for (int i = 0; i < object->dlpi_phnum; i++)
        collect_names(s, segment_with(object, i, PF_R | PF_W, PF_R), &names);
    if (names.count)
        qsort(names.items, names.count, sizeof *names.items, by_address);
    for (int i = 0; i < object->dlpi_phnum && names.count; i++)
        collect_references(segment_with(object, i, PF_R | PF_X, PF_R | PF_X), &names, &frames, &references);
    name_functions(&references, &s->found);
    free(references.items);
    free(names.items);
    return 0;
}

offbeat_symbol_list offbeat_func_texts_find(int (*holds)(const char *path),
                                            int (*wanted)(const char *symbol)) {
    search s = {.holds = holds, .wanted = wanted};
    dl_iterate_phdr(visit, &s);
    if (s.found.count)
        qsort(s.found.items, s.found.count, sizeof *s.found.items, by_address);
    return (offbeat_symbol_list){s.found.items, s.found.count};
}
