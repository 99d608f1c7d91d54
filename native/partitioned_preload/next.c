/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE /* RTLD_NEXT */
#include "partitioned_preload/next.h"

#include <dlfcn.h>
#include <stddef.h>

void *offbeat_preload_next(_Atomic(void *) *next_function, const char *name, void *profiling) {
    void *function = atomic_load_explicit(next_function, memory_order_relaxed);
    if (function != NULL)
        return function;
    function = dlsym(RTLD_NEXT, name);
    if (function == NULL)
        function = profiling;
    atomic_store_explicit(next_function, function, memory_order_relaxed);
    return function;
}
