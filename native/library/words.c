/* SPDX-License-Identifier: BSD-3-Clause */
/** @file words.c  Questions about symbol names. */
#include "library/words.h"

#include "collectives/collectives.h"

#include <string.h>

int offbeat_contains_any(const char *text, const char *const *words) {
    for (; *words; words++)
        if (strstr(text, *words))
            return 1;
    return 0;
}

const char *offbeat_after_any_prefix(const char *text, const char *const *prefixes) {
    for (; *prefixes; prefixes++) {
        size_t length = strlen(*prefixes);
        if (strncmp(text, *prefixes, length) == 0)
            return text + length;
    }
    return NULL;
}

int offbeat_starts_with_collective(const char *text) {
    for (int i = 0; i < offbeat_collective_count(); i++) {
        const char *name = offbeat_collective_name(i);
        size_t length = strlen(name);
        if (strncmp(text, name, length) == 0 && text[length] == '_')
            return 1;
    }
    return 0;
}
