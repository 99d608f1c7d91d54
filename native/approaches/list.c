/* SPDX-License-Identifier: BSD-3-Clause */
/** @file list.c  The list of approaches. */
#include "approaches/transfer.h"

#include <string.h>

const offbeat_approach *const offbeat_approaches[] = {
    &offbeat_approach_offbeat,        &offbeat_approach_learned,        &offbeat_approach_polled,
    &offbeat_approach_single,         &offbeat_approach_many,
#if OFFBEAT_HAS_PARTITIONED
    &offbeat_approach_library,        &offbeat_approach_library_polled,
#endif
    &offbeat_approach_passive_single, &offbeat_approach_passive_many,   &offbeat_approach_active_single,
    &offbeat_approach_active_many,    &offbeat_approach_fence,          NULL,
};

const offbeat_approach *offbeat_approach_find(const char *name) {
    for (size_t i = 0; offbeat_approaches[i]; i++)
        if (strcmp(offbeat_approaches[i]->name, name) == 0)
            return offbeat_approaches[i];
    return NULL;
}
