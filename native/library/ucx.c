/* SPDX-License-Identifier: BSD-3-Clause */
/** @file ucx.c  UCX's own functions, below those of the same names that messages.c interposes. */
#define _GNU_SOURCE
#include "library/ucx.h"

#include <dlfcn.h>
#include <stddef.h>

/*
 * A library that was opened for itself, such as a provider of libfabric, calls our functions, as all see the
 * program's; but the UCX that came with it is out of the reach of RTLD_NEXT.
 */
void *offbeat_ucx_function(const char *name) {
    void *found = dlsym(RTLD_NEXT, name);
    void *ucx = found ? NULL : dlopen("libucp.so.0", RTLD_LAZY | RTLD_NOLOAD);
    if (!ucx)
        return found;
    found = dlsym(ucx, name);
    dlclose(ucx); /* gives back this look alone: whoever opened it keeps it */
    return found;
}
