/* SPDX-License-Identifier: BSD-3-Clause */
#include "clock/method.h"

#include <stddef.h>
#include <string.h>

const offbeat_method offbeat_methods[] = {
    {.name = "constraints", .belief = OFFBEAT_CONFINED, .remembers = 1, .exchanges = 200},
    {.name = "hierarchical", .belief = OFFBEAT_CONFINED, .by_node = 1, .remembers = 1, .exchanges = 200},
    {.name = "offset", .belief = OFFBEAT_MIDDLE, .exchanges = 200},
    {.name = "hca3", .belief = OFFBEAT_FITTED, .exchanges = 200, .fit_points = 20},
    {.name = "jk", .belief = OFFBEAT_FITTED, .is_star = 1, .exchanges = 200, .fit_points = 20},
    {.name = "skampi", .belief = OFFBEAT_MIDDLE, .is_star = 1, .exchanges = 200},
    {.name = NULL},
};

const offbeat_method *offbeat_method_named(const char *name) {
    for (const offbeat_method *method = offbeat_methods; method->name != NULL; method++)
        if (strcmp(method->name, name) == 0)
            return method;
    return NULL;
}
