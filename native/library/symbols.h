/* SPDX-License-Identifier: BSD-3-Clause */
/** @file symbols.h  Functions of the loaded libraries, with the addresses at which they run. */
#ifndef OFFBEAT_SYMBOLS_H
#define OFFBEAT_SYMBOLS_H

#include <stddef.h>
#include <stdint.h>

/** A function in memory. @c name is owned by the list. */
typedef struct offbeat_symbol {
    uintptr_t address;
    char *name;
} offbeat_symbol;

/** Functions sorted by address, each address once. */
typedef struct offbeat_symbol_list {
    offbeat_symbol *items;
    size_t count;
} offbeat_symbol_list;

/**
 * Reads the symbol tables (.symtab, and .dynsym) of every loaded object for which @p holds says yes, and
 * keeps the functions for which @p wanted does. The program itself goes by the path "/proc/self/exe". An
 * object whose file cannot be read is passed over. Local.
 */
offbeat_symbol_list offbeat_symbols_find(int (*holds)(const char *path), int (*wanted)(const char *symbol));

/** Index of the function that begins at @p address, or -1. Safe in a signal handler. */
long offbeat_symbols_at(const offbeat_symbol_list *list, uintptr_t address);

/** Frees the list and its names. */
void offbeat_symbols_free(offbeat_symbol_list *list);

#endif
