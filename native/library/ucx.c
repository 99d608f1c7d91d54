/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "library/ucx.h"

#include <dlfcn.h>
#include <stddef.h>

/*
 * A library that was opened with RTLD_LOCAL, such as a provider of libfabric, calls the driver's functions,
 * but RTLD_NEXT does not find the UCX that it loaded.
 */
void *offbeat_ucx_function(const char *name) {
    void *function = dlsym(RTLD_NEXT, name);
    void *ucx = function ? NULL : dlopen("libucp.so.0", RTLD_LAZY | RTLD_NOLOAD);
    if (!ucx)
        return function;
    function = dlsym(ucx, name);
    dlclose(ucx); /* releases this reference only: the library stays open */
    return function;
}
