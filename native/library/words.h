/* SPDX-License-Identifier: BSD-3-Clause */
/** @file words.h  Questions about symbol names, for the families. Lists end with NULL. */
#ifndef OFFBEAT_WORDS_H
#define OFFBEAT_WORDS_H

/** Whether @p text contains one of @p words. */
int offbeat_contains_any(const char *text, const char *const *words);

/** What follows the first of @p prefixes that @p text begins with; NULL if it begins with none. */
const char *offbeat_after_any_prefix(const char *text, const char *const *prefixes);

/** Whether @p text begins with the name of a collective of the table, followed by '_'. */
int offbeat_starts_with_collective(const char *text);

#endif
