/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file func_texts.h
 * Names for functions of a library that was stripped of its symbols.
 *
 * A C function that reports errors refers to the text of its own name (__func__). The text stays in the
 * library when the symbols are removed, and so do the addresses at which functions begin (.eh_frame_hdr). A
 * function whose code refers to exactly one wanted name, or to one name and names that continue it, is taken
 * to be the function of that name. Functions that refer to several names (others were inlined into them) get
 * none.
 */
#ifndef OFFBEAT_FUNC_TEXTS_H
#define OFFBEAT_FUNC_TEXTS_H

#include "library/symbols.h"

/**
 * Searches the code of every loaded object for which @p holds says yes, and keeps the functions whose name
 * @p wanted accepts. Empty on other processors than x86-64 and aarch64. Local. Free it with
 * offbeat_symbols_free().
 */
offbeat_symbol_list offbeat_func_texts_find(int (*holds)(const char *path),
                                            int (*wanted)(const char *symbol));

#endif
