/* SPDX-License-Identifier: BSD-3-Clause */
/* Which communicators a list selects; runs without MPI. */
#include "preload/comm_filter.h"

#include <stdio.h>

static const struct {
    const char *list, *name;
    int is_like_world, is_selected;
} cases[] = {
    {"world", "MPI_COMM_WORLD", 1, 1},
    {"world", "a duplicate", 1, 1},
    {"world", "world", 0, 0},
    {"all", "", 0, 1},
    {"rows", "rows", 0, 1},
    {"rows", "rows 2", 0, 0},
    {"row*", "rows 2", 0, 1},
    {"columns,row[0-9]", "row7", 0, 1},
    {"columns,row[0-9]", "rowa", 0, 0},
    {"columns,world", "anything", 1, 1},
    {",,", "", 0, 0},
    {"", "anything", 1, 0},
    {"*", "", 0, 1},
};

int main(void) {
    int has_failed = 0;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int is_selected = offbeat_preload_list_selects(cases[i].list, cases[i].name, cases[i].is_like_world);
        if (is_selected == cases[i].is_selected)
            continue;
        fprintf(stderr, "The list '%s' %s the communicator '%s'.\n", cases[i].list,
                is_selected ? "selects" : "does not select", cases[i].name);
        has_failed = 1;
    }
    return has_failed;
}
