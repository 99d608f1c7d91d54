/* SPDX-License-Identifier: BSD-3-Clause */
/** @file symbols.h  Functions of the loaded libraries, with their addresses in memory. */
#ifndef OFFBEAT_SYMBOLS_H
#define OFFBEAT_SYMBOLS_H

#include <stddef.h>
#include <stdint.h>

/** A function in memory. */
typedef struct offbeat_symbol {
    uintptr_t address;
    char *name; /**< owned by the list that one of the functions below returned */
} offbeat_symbol;

/** A list of functions. */
typedef struct offbeat_symbol_list {
    offbeat_symbol *items;
    size_t count, capacity;
} offbeat_symbol_list;

/** Selects object files by their paths. The path of the program itself is "/proc/self/exe". */
typedef int (*offbeat_object_filter)(const char *path);

/** Selects functions by their symbol names. */
typedef int (*offbeat_symbol_filter)(const char *symbol);

/**
 * Reads the symbol tables (.symtab and .dynsym) of the loaded objects. Skips object files that cannot be
 * read. Local.
 * @return the selected functions, sorted by address, each address once; free with offbeat_symbols_free()
 */
offbeat_symbol_list offbeat_symbols_find(offbeat_object_filter object_filter,
                                         offbeat_symbol_filter symbol_filter);

/**
 * Finds functions, as offbeat_symbols_find() does, in libraries whose symbols were stripped: on x86-64 and
 * aarch64. On other processors the list is empty.
 *
 * A C function that reports errors refers to the string of its own name (__func__). Stripping keeps that
 * string and the addresses at which functions begin (.eh_frame_hdr). A function whose code refers to exactly
 * one selected name, or to one name and names that begin with it, is taken to be the function of that name.
 * Functions that refer to several names (because others were inlined into them) are omitted.
 */
offbeat_symbol_list offbeat_symbols_find_by_func_names(offbeat_object_filter object_filter,
                                                       offbeat_symbol_filter symbol_filter);

/** Index of the function that begins at @p address in a sorted list, or -1. Async-signal-safe. */
long offbeat_symbols_at(const offbeat_symbol_list *list, uintptr_t address);

/** Appends a function; does not copy its name. @return 0, or -1 without memory */
int offbeat_symbols_append(offbeat_symbol_list *list, uintptr_t address, char *name);

/** Sorts by address, then by name. */
void offbeat_symbols_sort(offbeat_symbol_list *list);

/** Frees a list and its names. */
void offbeat_symbols_free(offbeat_symbol_list *list);

#endif
